// SPDX-License-Identifier: Apache-2.0
#include "cli/named_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "cli/command.h"

namespace berth::cli {

Result<std::string> read_named_file(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  std::ifstream in(path, std::ios::binary);
  if (!in || folder)
    return tl::unexpected(
        usage_error(fmt::format("{}: cannot be read: {}; give the path of a file", path,
                                folder ? "it is a folder" : std::strerror(errno))));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace berth::cli
