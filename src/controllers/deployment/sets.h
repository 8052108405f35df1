// SPDX-License-Identifier: Apache-2.0
// A Deployment and its ReplicaSets as numbers, and the arithmetic of rollouts over them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/object.h"

namespace berth::controllers {

using kube::Object;

namespace annotation {
inline constexpr const char* kRevision = "deployment.kubernetes.io/revision";
inline constexpr const char* kHistory = "deployment.kubernetes.io/revision-history";
inline constexpr const char* kDesired = "deployment.kubernetes.io/desired-replicas";
inline constexpr const char* kMost = "deployment.kubernetes.io/max-replicas";
inline constexpr const char* kRollback = "deprecated.deployment.rollback.to";
// Those that are not copied between a Deployment and its ReplicaSets.
bool stays(std::string_view name);
}  // namespace annotation

// One ReplicaSet.
struct Set {
  const Object* object = nullptr;
  std::int64_t size = 0;    // spec.replicas
  std::int64_t wanted = 0;  // what it is to become; `size` unless it is scaled
  bool forced = false;      // its annotations are renewed even if its size stays
  std::int64_t replicas = 0, ready = 0, available = 0;
  std::optional<std::int64_t> terminating = {};
  bool synced = false;  // its controller has seen it
  std::int64_t revision = 0;
  bool good_revision = true;  // its annotation is a number, or absent

  std::string_view name() const { return object->name(); }
};
Set read_set(const Object&);
bool older(const Set& a, const Set& b);        // by creation, then name
bool by_revision(const Set& a, const Set& b);  // the lower first

// What a Deployment asks for.
struct Rollout {
  explicit Rollout(const Object& deployment);
  std::int64_t replicas = 1;
  bool rolling = true;
  std::int64_t surge = 0, unavailable = 0;  // resolved
  std::int64_t most() const { return replicas + surge; }
};

// How many replicas a new set of this size may have among sets that have `all` together.
std::int64_t new_set_size(const Rollout&, std::int64_t all, std::int64_t size);
// A scaled Deployment in the middle of a rollout: the change is shared among its active sets, by
// their sizes. `now`: status.replicas of the Deployment.
void scale_proportionally(const Rollout&, std::vector<Set*> active, std::int64_t now);
// Scales old sets down, first what is not available in them. Returns whether any is.
bool shrink_old(const Rollout&, std::vector<Set*> old, const Set& fresh, std::int64_t all);

std::optional<std::int64_t> count_annotation(const Object&, const char* name);

}  // namespace berth::controllers
