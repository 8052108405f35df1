// SPDX-License-Identifier: Apache-2.0
#include "cli/scheduler_config.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cli/command.h"
#include "scheduler/plugins/registry.h"

namespace berth::cli {

Result<scheduler::SchedulerConfig> load_scheduler_config(const std::string& path) {
  std::vector<scheduler::PluginInfo> infos;
  for (const scheduler::Registration& row : scheduler::all_plugins()) infos.push_back(row.info);
  if (path.empty()) return scheduler::default_config(infos);
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return tl::unexpected(usage_error(fmt::format("{}: cannot be read", path)));
  Result<scheduler::SchedulerConfig> read = scheduler::read_config(text.str(), infos, path);
  if (read) return read;
  std::string lines;
  for (const Cause& cause : read.error().causes)
    lines += (lines.empty() ? "" : "\n") + cause.message;
  return tl::unexpected(usage_error(lines.empty() ? read.error().message : lines));
}

}  // namespace berth::cli
