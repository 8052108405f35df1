// SPDX-License-Identifier: Apache-2.0
// For who wants to know how long plugins take, one by one.
#pragma once

#include "base/time.h"
#include "scheduler/framework/extension_point.h"
#include "scheduler/framework/plugin_set.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

// Loop-confined.
class PluginProbe {
 public:
  virtual ~PluginProbe() = default;
  virtual Instant now() const = 0;
  virtual void ran(PluginId, Point, Code, Instant since) = 0;
};

}  // namespace berth::scheduler
