// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/mark_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apiserver/store/crc32c.h"

namespace berth::apiserver {
namespace {

struct Slot {
  std::uint64_t revision = 0;
  std::uint32_t crc = 0;
  std::uint32_t zeros = 0;
};
static_assert(sizeof(Slot) == 16);

std::uint32_t sum_of(const Slot& slot, int number) {
  std::string bytes(sizeof slot.revision, '\0');
  std::memcpy(bytes.data(), &slot.revision, sizeof slot.revision);
  return crc32c(bytes + static_cast<char>('0' + number));
}

Slot slot_of(kube::Revision revision, int number) {
  Slot slot{.revision = revision};
  slot.crc = sum_of(slot, number);
  return slot;
}

tl::unexpected<Error> failure(const std::filesystem::path& path, std::string_view what) {
  return fail(Reason::kInternalError,
              fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

}  // namespace

MarkFile::MarkFile(MarkFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      revision_(other.revision_),
      next_slot_(other.next_slot_) {}
MarkFile& MarkFile::operator=(MarkFile&& other) noexcept {
  std::swap(file_, other.file_);
  revision_ = other.revision_;
  next_slot_ = other.next_slot_;
  return *this;
}
MarkFile::~MarkFile() {
  if (file_ >= 0) ::close(file_);
}

Result<MarkFile> MarkFile::create(const std::filesystem::path& path, kube::Revision revision,
                                  bool sync) {
  const std::filesystem::path fresh = path.string() + ".new";
  const int file = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failure(fresh, "cannot be created");
  const Slot slots[] = {slot_of(revision, 0), slot_of(revision, 1)};
  const bool written = ::write(file, slots, sizeof slots) == static_cast<ssize_t>(sizeof slots) &&
                       (!sync || ::fsync(file) == 0);
  ::close(file);
  if (!written || ::rename(fresh.c_str(), path.c_str()) != 0)
    return failure(path, "cannot be written");
  if (sync) {
    const int folder = ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      ::fsync(folder);
      ::close(folder);
    }
  }
  return open(path);
}

Result<MarkFile> MarkFile::open(const std::filesystem::path& path) {
  MarkFile mark;
  mark.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (mark.file_ < 0) return failure(path, "cannot be opened");
  Slot slots[3];
  const ssize_t size = ::pread(mark.file_, slots, sizeof slots, 0);
  if (size != 2 * static_cast<ssize_t>(sizeof(Slot)))
    return fail(Reason::kInternalError, fmt::format("is {} bytes long instead of 32", size));
  for (int i = 0; i < 2; ++i)
    if (slots[i].crc != sum_of(slots[i], i) || slots[i].zeros != 0)
      return fail(Reason::kInternalError, fmt::format("slot {} has a wrong checksum", i + 1));
  mark.next_slot_ = slots[0].revision <= slots[1].revision ? 0 : 1;
  mark.revision_ = slots[1 - mark.next_slot_].revision;
  return mark;
}

bool MarkFile::set(kube::Revision revision) {
  const Slot slot = slot_of(revision, next_slot_);
  if (::pwrite(file_, &slot, sizeof slot, next_slot_ * static_cast<off_t>(sizeof slot)) !=
      static_cast<ssize_t>(sizeof slot))
    return false;
  next_slot_ = 1 - next_slot_;
  revision_ = revision;
  return true;
}

}  // namespace berth::apiserver
