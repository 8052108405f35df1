// SPDX-License-Identifier: Apache-2.0
// All plugins that are compiled in.
#pragma once

#include <string_view>

#include "scheduler/framework/profile.h"
#include "scheduler/framework/registry.h"

namespace berth::scheduler {

// In the order of plugins.def; lives as long as the process.
Registry all_plugins();
PluginId plugin_named(std::string_view name);  // kNone where there is none

// kube-scheduler's default profile: what runs without a configuration.
ProfileSpec default_profile();
// Puts the plugin Slots where it belongs: before preemption and the binder, after everything else.
void enable_slots(ProfileSpec&);

}  // namespace berth::scheduler
