// SPDX-License-Identifier: Apache-2.0
// What the controllers that care for nodes say about them: who runs there, how they are, which
// taints they have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/slice.h"
#include "kube/object.h"
#include "kube/taint.h"
#include "runtime/plan.h"

namespace berth::controllers {

// The index "node" of pods: the node they are bound to.
inline constexpr std::string_view kByNode = "node";
std::vector<std::string> node_of_pod(const kube::Object& pod);

inline constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
inline constexpr std::string_view kOutOfService = "node.kubernetes.io/out-of-service";

enum class Readiness : unsigned char { kAbsent, kTrue, kFalse, kUnknown };
Readiness readiness(const kube::Object& node);
// "region:\0:zone", or "" where a node states neither.
std::string zone_of(const kube::Object& node);

bool has_taint(const kube::Object& node, std::string_view key, std::string_view effect);
std::vector<kube::Taint> no_execute_taints(const kube::Object& node);

// A node's taints being rewritten; key and effect make a taint. A value.
class TaintDraft {
 public:
  explicit TaintDraft(const kube::Object& node) : taints_(node.member("spec")["taints"]) {}
  void add(std::string_view key, std::string_view effect, WallTime now);  // where it is not there
  void remove(std::string_view key, std::string_view effect);
  bool changed() const { return !added_.empty() || !removed_.empty(); }
  std::string json() const;  // "null" where none is left

 private:
  using Id = std::pair<std::string, std::string>;
  bool has(std::string_view key, std::string_view effect) const;

  json::Slice taints_;
  std::vector<std::pair<Id, std::string>> added_;
  std::vector<Id> removed_;
};

// A condition of a pod set to this, everything else of it and of the others left as it is. Nothing
// where it says that already.
struct PodConditionChange {
  std::string type, status;
  std::optional<std::string> reason = {}, message = {};  // none: as it is
};
// With the phase, where one is given. False: there was nothing to change.
bool patch_pod_condition(runtime::Plan&, const kube::Object& pod,
                         const std::optional<PodConditionChange>&, WallTime now,
                         std::string_view phase = "");

}  // namespace berth::controllers
