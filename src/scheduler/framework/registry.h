// SPDX-License-Identifier: Apache-2.0
// How plugins are made. The list of all plugins is plugins/plugins.def.
#pragma once

#include <memory>
#include <span>

#include "scheduler/framework/extension_point.h"
#include "scheduler/framework/plugin.h"

namespace berth::scheduler {

// nullptr is never returned; arguments were validated by config/.
using PluginFactory = std::unique_ptr<Plugin> (*)(const PluginContext&);

struct Registration {
  PluginInfo info;
  PluginFactory make = nullptr;
};
// A registry's row number is the PluginId.
using Registry = std::span<const Registration>;

}  // namespace berth::scheduler
