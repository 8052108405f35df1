// SPDX-License-Identifier: Apache-2.0
#include "cli/scheduler_config.h"

#include "cli/command.h"
#include "cli/named_file.h"
#include "scheduler/plugins/registry.h"

namespace berth::cli {

Result<scheduler::SchedulerConfig> load_scheduler_config(const std::string& path) {
  std::vector<scheduler::PluginInfo> infos;
  for (const scheduler::Registration& row : scheduler::all_plugins()) infos.push_back(row.info);
  if (path.empty()) return scheduler::default_config(infos);
  const Result<std::string> text = read_named_file(path);
  if (!text) return tl::unexpected(text.error());
  Result<scheduler::SchedulerConfig> read = scheduler::read_config(*text, infos, path);
  if (read) return read;
  std::string lines;
  for (const Cause& cause : read.error().causes)
    lines += (lines.empty() ? "" : "\n") + cause.message;
  return tl::unexpected(usage_error(lines.empty() ? read.error().message : lines));
}

}  // namespace berth::cli
