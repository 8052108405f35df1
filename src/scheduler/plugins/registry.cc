// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/registry.h"

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

}  // namespace berth::scheduler
