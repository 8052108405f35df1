// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/sim_journal.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apiserver/store/crc32c.h"

namespace berth::apiserver {
namespace {

constexpr std::uint32_t kGone = 0xFFFFFFFF;

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Reads what put() wrote; everything is zero past the end.
struct Taker {
  std::string_view rest;
  bool good = true;
  template <class T>
  T take() {
    T value{};
    const std::string_view bytes = take_bytes(sizeof value);
    if (good) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view take_bytes(std::size_t size) {
    if (size > rest.size()) good = false;
    if (!good) return {};
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
};

// size, checksum, payload
std::string record_of(const JournalBatch& batch) {
  std::string payload;
  put(payload, batch.revision);
  put(payload, batch.reserved);
  put(payload, static_cast<std::uint32_t>(batch.rows.size()));
  for (const JournalRow& row : batch.rows) {
    put(payload, row.id);
    if (!row.object.valid()) {
      put(payload, kGone);
      continue;
    }
    const std::string json = row.object.json();
    put(payload, static_cast<std::uint32_t>(json.size()));
    payload += json;
  }
  std::string record;
  put(record, static_cast<std::uint32_t>(payload.size()));
  put(record, crc32c(payload));
  return record + payload;
}

std::optional<JournalBatch> batch_in(std::string_view payload) {
  Taker from{payload};
  JournalBatch batch;
  batch.revision = from.take<kube::Revision>();
  batch.reserved = from.take<kube::Revision>();
  const auto rows = from.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < rows && from.good; ++i) {
    JournalRow row{.id = from.take<std::int64_t>()};
    const auto size = from.take<std::uint32_t>();
    if (size != kGone) {
      Result<kube::Object> object = kube::Object::parse(from.take_bytes(size));
      if (!object) return std::nullopt;
      row.object = std::move(*object);
    }
    batch.rows.push_back(std::move(row));
  }
  if (!from.good) return std::nullopt;
  return batch;
}

Error no_space() {
  return {.reason = Reason::kInternalError, .message = "database or disk is full"};
}

}  // namespace

void SimDisk::cut_power(Random& random) {
  unsynced.resize(random.below(unsynced.size() + 1));
  mark = synced_mark;
}

void SimDisk::flip_bit(std::uint64_t bit) {
  std::string& bytes = bit / 8 < synced.size() ? synced : unsynced;
  const std::uint64_t at = bit / 8 < synced.size() ? bit / 8 : bit / 8 - synced.size();
  bytes.at(at) = static_cast<char>(bytes[at] ^ (1 << (bit % 8)));
}

SimJournal::SimJournal(Executor& disk_loop, SimDisk& disk, Faults& faults, Options options)
    : loop_(disk_loop), disk_(disk), faults_(faults), options_(std::move(options)) {}

Result<Recovered> SimJournal::recover(Recovery how) {
  const std::string bytes = disk_.synced + disk_.unsynced;
  Recovered recovered;
  std::map<std::int64_t, kube::Object> rows;
  Taker from{bytes};
  std::size_t good = 0;
  while (!from.rest.empty()) {
    const auto size = from.take<std::uint32_t>();
    const auto crc = from.take<std::uint32_t>();
    const std::string_view payload = from.take_bytes(size);
    if (!from.good || crc32c(payload) != crc) break;
    std::optional<JournalBatch> batch = batch_in(payload);
    if (!batch) break;
    recovered.revision = batch->revision;
    recovered.reserved = batch->reserved;
    for (JournalRow& row : batch->rows) {
      if (row.object.valid())
        rows[row.id] = std::move(row.object);
      else
        rows.erase(row.id);
    }
    good = bytes.size() - from.rest.size();
  }
  // A batch that was being written when the process died was promised to nobody.
  if (recovered.revision < disk_.mark) {
    const Damage lost{"log", "",
                      fmt::format("writes up to revision {} were kept, but only those up to {} can "
                                  "be read; the damage is at byte {}",
                                  disk_.mark, recovered.revision, good)};
    if (how == Recovery::kWhole) return tl::unexpected(damaged("the simulated disk", {lost}));
    recovered.lost.push_back(lost);
    recovered.reserved = std::max(recovered.reserved, disk_.mark) + 1'000'000;
    recovered.revision = std::max<kube::Revision>(recovered.revision, 1);
  }
  disk_.synced = bytes.substr(0, good);
  disk_.unsynced.clear();
  disk_.mark = disk_.synced_mark = recovered.revision;
  for (auto& [id, object] : rows) recovered.rows.push_back({id, std::move(object)});
  return recovered;
}

void SimJournal::commit(JournalBatch batch, Done<Ok> done) {
  loop_.post([this, batch = std::move(batch), done = std::move(done)]() mutable {
    if (options_.work) options_.work();
    done(keep(batch));
  });
}

Result<Ok> SimJournal::keep(const JournalBatch& batch) {
  if (std::optional<Error> failed = faults_.failure("journal.commit"))
    return tl::unexpected(std::move(*failed));
  if (disk_.full) return tl::unexpected(no_space());
  const std::string record = record_of(batch);
  disk_.unsynced.append(record, 0, record.size() / 2);
  faults_.point("journal.half");
  disk_.unsynced.append(record, record.size() / 2);
  disk_.mark = batch.revision;
  if (options_.sync && !disk_.loses_syncs) {
    disk_.synced += std::exchange(disk_.unsynced, {});
    disk_.synced_mark = disk_.mark;
  } else if (options_.sync) {
    disk_.synced_mark = disk_.mark;  // so it says
  }
  faults_.point("journal.kept");
  return Ok{};
}

void SimJournal::probe(Done<Ok> done) {
  loop_.post([this, done = std::move(done)]() mutable {
    if (disk_.full) return done(tl::unexpected(no_space()));
    done(Ok{});
  });
}

}  // namespace berth::apiserver
