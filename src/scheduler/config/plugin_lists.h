// SPDX-License-Identifier: Apache-2.0
// How a profile's lists of plugins become an order per extension point.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/config/config.h"

namespace berth::scheduler {

using PluginLists = std::array<PluginList, kPluginLists>;

// The default profile: everything in multiPoint.
PluginLists default_plugin_lists(std::span<const PluginInfo> registry);
// What was configured on top of the defaults, list by list.
PluginLists merged(const PluginLists& defaults, const PluginLists& custom);

struct Expanded {
  std::array<std::vector<ProfileSpec::Entry>, kPoints> points;
  std::vector<std::string> twice;  // plugins that multiPoint names twice
};
// Every enabled name is in the registry, and in a point's own list takes part there, once.
Expanded expanded(const PluginLists& lists, std::span<const PluginInfo> registry);

// Row of the registry; nullptr where there is none.
const PluginInfo* find_plugin(std::span<const PluginInfo> registry, std::string_view name);

}  // namespace berth::scheduler
