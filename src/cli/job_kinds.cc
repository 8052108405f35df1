// SPDX-License-Identifier: Apache-2.0
#include "cli/job_kinds.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/named_file.h"

namespace berth::cli {

namespace fs = std::filesystem;

Result<std::vector<controllers::JobKind>> read_job_kinds(const std::string& folder) {
  std::vector<controllers::JobKind> kinds;
  if (folder.empty()) return kinds;
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.is_regular_file() && entry.path().extension() == ".yaml")
      files.push_back(entry.path().string());
  if (failed)
    return tl::unexpected(usage_error(fmt::format("--job-kinds {}: {}", folder, failed.message())));
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const Result<std::string> text = read_named_file(file);
    if (!text) return tl::unexpected(text.error());
    Result<controllers::JobKind> kind = controllers::read_job_kind(*text, file);
    if (!kind) return tl::unexpected(usage_error(kind.error().message));
    kinds.push_back(*std::move(kind));
  }
  return kinds;
}

}  // namespace berth::cli
