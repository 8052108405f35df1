// SPDX-License-Identifier: Apache-2.0
// All controllers that are compiled in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "controllers/batchjob/job_kind.h"
#include "runtime/controller.h"

namespace berth::controllers {

class Heartbeats;

// What some controllers have to be told by whoever runs them.
struct ControllerOptions {
  std::string root_ca = {};          // PEM, published to every namespace; "": nothing is published
  Heartbeats* heartbeats = nullptr;  // null: Leases and node statuses are read
  Duration node_grace = 50s;         // of a node that falls silent
  std::size_t terminated_pods_kept = 12'500;  // of pods that have ended; 0: all
  std::vector<JobKind> job_kinds = {};        // besides those that are built in
  ExecutorOptions executors = {};             // of BatchJobs
  // "https://host:port", where pods of scavengers report checkpoints, or ""; asked at each start,
  // on the controllers' loop. Null: nowhere.
  std::function<std::string()> gateway = nullptr;
};

struct Registration {
  // kube-controller-manager's, under its names; what Berth adds to any cluster; the lab's alone.
  enum class Whose : std::uint8_t { kKubernetes, kBerth, kLab };
  std::string_view name;
  std::unique_ptr<runtime::Controller> (*make)(const ControllerOptions&);
  Whose whose;
};
std::span<const Registration> all_controllers();  // in the order of controllers.def
std::vector<std::string> names_of(Registration::Whose);
// Of Berth's those that can work in some namespaces alone. Who gives out what a whole cluster has
// to spare is one for all of it.
std::vector<std::string> names_for_some_namespaces();

// Those of a --controllers list: names, "*" for all, "-name" to leave one out. An error names what
// is not known and what may have been meant.
Result<std::vector<std::unique_ptr<runtime::Controller>>> make_controllers(
    const std::vector<std::string>& wanted, const ControllerOptions& options = {});

}  // namespace berth::controllers
