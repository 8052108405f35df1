// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/plugin_lists.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace berth::scheduler {
namespace {

using Entry = PluginList::Entry;

bool names(const std::vector<Entry>& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return entry.name == name; });
}

PluginList merged(const PluginList& defaults, const PluginList& custom) {
  PluginList out;
  for (const std::vector<Entry>* from : {&custom.disabled, &defaults.disabled})
    for (const Entry& entry : *from) out.disabled.push_back({entry.name, 0});
  // Of entries that come twice the last one takes the default's place.
  std::map<std::string_view, std::size_t> at;
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) at[custom.enabled[i].name] = i;
  std::set<std::size_t> placed;
  if (!names(out.disabled, "*")) {
    for (const Entry& entry : defaults.enabled) {
      if (names(out.disabled, entry.name)) continue;
      const auto again = at.find(entry.name);
      out.enabled.push_back(again == at.end() ? entry : custom.enabled[again->second]);
      if (again != at.end()) placed.insert(again->second);
    }
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i)
    if (!placed.contains(i)) out.enabled.push_back(custom.enabled[i]);
  return out;
}

// The entry of Score's own list wins over multiPoint's.
std::int32_t weight_of(std::string_view name, const PluginLists& lists) {
  for (const int list : {static_cast<int>(Point::kScore), kMultiPoint})
    for (const Entry& entry : lists[static_cast<std::size_t>(list)].enabled)
      if (entry.name == name) return entry.weight == 0 ? 1 : entry.weight;
  return 1;
}

}  // namespace

const PluginInfo* find_plugin(std::span<const PluginInfo> registry, std::string_view name) {
  for (const PluginInfo& row : registry)
    if (row.name == name) return &row;
  return nullptr;
}

PluginLists default_plugin_lists(std::span<const PluginInfo> registry) {
  PluginLists out;
  for (const PluginInfo& row : registry)
    if (row.by_default)
      out[kMultiPoint].enabled.push_back({std::string(row.name), row.default_weight});
  return out;
}

PluginLists merged(const PluginLists& defaults, const PluginLists& custom) {
  PluginLists out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = merged(defaults[i], custom[i]);
  return out;
}

Expanded expanded(const PluginLists& lists, std::span<const PluginInfo> registry) {
  Expanded out;
  for (int i = 0; i < kPoints; ++i) {
    const auto point = static_cast<Point>(i);
    const PluginList& own = lists[static_cast<std::size_t>(i)];
    std::vector<std::string_view> overridden, from_multi_point;
    if (!names(own.disabled, "*")) {
      for (const Entry& entry : lists[kMultiPoint].enabled) {
        const PluginInfo* const row = find_plugin(registry, entry.name);
        if (row == nullptr || !has(row->points, point) || names(own.disabled, entry.name)) continue;
        std::vector<std::string_view>& group =
            names(own.enabled, entry.name) ? overridden : from_multi_point;
        const bool again = std::find(group.begin(), group.end(), entry.name) != group.end();
        // k8s 1.36: naming it twice is forgiven where the point's own list names it too.
        if (again && &group == &from_multi_point) out.twice.push_back(entry.name);
        if (!again) group.push_back(entry.name);
      }
    }
    const auto is_overridden = [&](std::string_view name) {
      return std::find(overridden.begin(), overridden.end(), name) != overridden.end();
    };
    std::vector<std::string_view> order;
    for (const Entry& entry : own.enabled)
      if (is_overridden(entry.name)) order.push_back(entry.name);
    order.insert(order.end(), from_multi_point.begin(), from_multi_point.end());
    for (const Entry& entry : own.enabled)
      if (!is_overridden(entry.name)) order.push_back(entry.name);

    for (const std::string_view name : order) {
      const PluginInfo* const row = find_plugin(registry, name);
      BERTH_CHECK(row != nullptr, "an unknown plugin came through");
      out.points[static_cast<std::size_t>(i)].push_back(
          {static_cast<PluginId>(row - registry.data()),
           point == Point::kScore ? weight_of(name, lists) : 1});
    }
  }
  return out;
}

}  // namespace berth::scheduler
