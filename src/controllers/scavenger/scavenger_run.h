// SPDX-License-Identifier: Apache-2.0
// One look at one ScavengerJob: in which state it is, what is seen, and what follows from that.
#pragma once

#include <functional>

#include "kube/ours/ours.h"
#include "runtime/controller.h"

namespace berth::controllers {

// Pods by their ScavengerJob's uid, as their label says it.
inline constexpr std::string_view kByScavenger = "scavenger";

// Switched on by tests alone: each of them is to be found.
enum class ScavengerFault : std::uint8_t {
  kNone,
  kVerdictAfterEvidence,  // finalizers and Job go before the verdict is written
  kCountPerPod,           // every pod that was ended counts
};

struct ScavengerOptions {
  std::string name = "scavenger-controller";
  const kube::ScavengerKinds* kinds = &kube::scavenger_kinds();
  std::function<std::string()> gateway = nullptr;  // as of ControllerOptions
  ScavengerFault fault = ScavengerFault::kNone;
};
std::unique_ptr<runtime::Controller> make_scavenger_controller(ScavengerOptions);

runtime::Plan plan_scavenger(const runtime::View&, const ScavengerOptions&, const kube::Object& job,
                             WallTime now);
// The finalizer of a pod goes: a strategic patch.
std::string release_patch();

}  // namespace berth::controllers
