// SPDX-License-Identifier: Apache-2.0
// All controllers that are compiled in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "runtime/controller.h"

namespace berth::controllers {

class Heartbeats;

// What some controllers have to be told by whoever runs them.
struct ControllerOptions {
  std::string root_ca = {};          // PEM, published to every namespace; "": nothing is published
  Heartbeats* heartbeats = nullptr;  // null: Leases and node statuses are read
  Duration node_grace = 50s;         // of a node that falls silent
  std::size_t terminated_pods_kept = 12'500;  // of pods that have ended; 0: all
};

struct Registration {
  std::string_view name;  // as kube-controller-manager has it
  std::unique_ptr<runtime::Controller> (*make)(const ControllerOptions&);
};
std::span<const Registration> all_controllers();  // in the order of controllers.def

// Those of a --controllers list: names, "*" for all, "-name" to leave one out. An error names what
// is not known and what may have been meant.
Result<std::vector<std::unique_ptr<runtime::Controller>>> make_controllers(
    const std::vector<std::string>& wanted, const ControllerOptions& options = {});

}  // namespace berth::controllers
