// SPDX-License-Identifier: Apache-2.0
#include "cli/case_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"

namespace berth::cli {

Result<Ok> CaseFolder::usable() const {
  std::error_code error;
  if (std::filesystem::is_directory(path_, error) && access(path_.c_str(), W_OK) == 0) return Ok{};
  return tl::unexpected(
      usage_error(fmt::format("{}: not a folder that can be written to; make it first", path_)));
}

Result<std::string> CaseFolder::write(std::string_view pod, std::string_view text) {
  if (written_ == kMost)
    return tl::unexpected(Error{
        .reason = Reason::kInternalError,
        .message = fmt::format("{} were written to {} already; that is enough", kMost, path_)});
  std::string name(pod);
  std::replace(name.begin(), name.end(), '/', '_');
  // The process's number keeps those apart that other runs left.
  const std::string path = fmt::format("{}/{}-{}-{}.json", path_, name, getpid(), ++written_);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out)
    return tl::unexpected(
        Error{.reason = Reason::kInternalError, .message = path + ": cannot be written"});
  return path;
}

}  // namespace berth::cli
