// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/registry.h"

#include <algorithm>

namespace berth::scheduler {

#define BERTH_PLUGIN(name, factory, points, by_default, weight) \
  std::unique_ptr<Plugin> factory(const PluginContext&);
#include "scheduler/plugins/plugins.def"
#undef BERTH_PLUGIN

namespace {

constexpr Registration kAll[] = {
#define BERTH_PLUGIN(name, factory, points, by_default, weight) \
  {{#name, points, by_default, weight}, factory},
#include "scheduler/plugins/plugins.def"
#undef BERTH_PLUGIN
};

}  // namespace

Registry all_plugins() { return kAll; }

PluginId plugin_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kAll); ++i)
    if (kAll[i].info.name == name) return static_cast<PluginId>(i);
  return PluginId::kNone;
}

ProfileSpec default_profile() {
  ProfileSpec spec;
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    const PluginInfo& info = kAll[i].info;
    if (!info.by_default) continue;
    for (std::size_t point = 0; point < spec.points.size(); ++point) {
      if (!has(info.points, static_cast<Point>(point))) continue;
      ProfileSpec::Entry& entry = spec.points[point].emplace_back();
      entry.plugin = static_cast<PluginId>(i);
      if (static_cast<Point>(point) == Point::kScore && info.default_weight != 0)
        entry.weight = info.default_weight;
    }
  }
  return spec;
}

void enable_slots(ProfileSpec& spec) {
  const PluginId id = plugin_named("Slots");
  const PointSet points = kAll[static_cast<std::size_t>(id)].info.points;
  for (std::size_t i = 0; i < spec.points.size(); ++i) {
    const Point point = static_cast<Point>(i);
    std::vector<ProfileSpec::Entry>& list = spec.points[i];
    const bool there = std::any_of(list.begin(), list.end(), [id](const ProfileSpec::Entry& entry) {
      return entry.plugin == id;
    });
    if (!has(points, point) || there) continue;
    const bool first = point == Point::kPostFilter || point == Point::kBind;
    list.insert(first ? list.begin() : list.end(), {.plugin = id});
  }
}

}  // namespace berth::scheduler
