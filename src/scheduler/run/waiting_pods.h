// SPDX-License-Identifier: Apache-2.0
// Pods that Permit plugins asked to wait, until all of them allow, one refuses, or time is up.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "scheduler/cache/string_map.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

// Loop-confined. A pod's outcome is told once, never inline.
class WaitingPods {
 public:
  using PluginName = std::function<std::string_view(PluginId)>;
  WaitingPods(Scope& scope, PluginName plugin_name);
  ~WaitingPods();

  // `waits`: the plugins and how long each lets it wait; a plugin's time is cut at 15 minutes.
  void add(PodPtr pod, const std::vector<std::pair<PluginId, Duration>>& waits,
           Fn<void(Status)> decided);
  WaitingPod* find(std::string_view uid);
  void for_each(Fn<void(WaitingPod&)>);
  void reject_all(const std::string& message);
  std::size_t size() const { return pods_.size(); }

 private:
  class Entry;
  void settle(Entry&, Status);

  Scope& scope_;
  PluginName plugin_name_;
  StringMap<std::unique_ptr<Entry>> pods_;  // by uid
};

}  // namespace berth::scheduler
