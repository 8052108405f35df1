// SPDX-License-Identifier: Apache-2.0
// One plan being performed: in order, until an action fails. Neighbours that create, or erase,
// objects of one kind are not waited for one by one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/scope.h"
#include "client/api.h"
#include "client/event_recorder.h"
#include "runtime/caches.h"
#include "runtime/plan.h"
#include "runtime/view.h"

namespace berth::runtime {

// Whoever answers questions that are no API reads.
using Asker =
    std::function<void(const std::string& name, const std::string& question, Done<std::string>)>;

// What became of a plan.
struct Performed {
  std::optional<FailedAction> failed;
  // The view was old: someone else was faster, or a write of ours whose answer was lost.
  bool outdated = false;
  std::vector<Wait> waits;  // what the caches must show before the key is looked at again
  std::vector<std::pair<std::string, Answer>> answers;
};

// What a plan is performed with; all of it outlives the plan.
struct Means {
  Scope& scope;
  client::Api& api;
  client::EventRecorder& events;
  Caches& caches;
  const Asker& ask;
};

// `end` is called once, never inline.
void perform(const Means&, Plan, Fn<void(Performed)> end);

// The patch with its precondition in it.
std::string pinned_patch(const PatchAction&);

}  // namespace berth::runtime
