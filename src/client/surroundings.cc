// SPDX-License-Identifier: Apache-2.0
#include "client/surroundings.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::client {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

Result<std::string> whole_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return errno == ENOENT || errno == ENOTDIR ? fail(Reason::kNotFound, "no such file")
                                               : invalid(std::strerror(errno));
  std::string bytes;
  char buffer[16 << 10];
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof buffer)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (bytes.size() > kMostBytes) break;
  }
  const int error = errno;
  ::close(fd);
  if (got < 0) return invalid(std::strerror(error));
  if (bytes.size() > kMostBytes) return invalid("more than 16 MiB");
  return bytes;
}

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> locate(const std::string& command) {
  if (command.find('/') != std::string::npos)
    return is_program(command) ? std::optional(command) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string candidate(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (candidate.empty()) continue;  // the current directory: not searched, as in Go
    candidate += "/" + command;
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace

Surroundings Surroundings::real() {
  std::error_code ignored;
  return {.read_file = whole_file,
          .env =
              [](const char* name) {
                const char* value = std::getenv(name);
                return std::string(value == nullptr ? "" : value);
              },
          .find_program = locate,
          .directory = std::filesystem::current_path(ignored).string()};
}

}  // namespace berth::client
