// SPDX-License-Identifier: Apache-2.0
#include "controllers/pod_failures.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::controllers {

using runtime::FailedAction;

const FailedAction* pod_failure(const runtime::View& view) {
  const FailedAction* failed = view.failed();
  if (failed == nullptr || std::holds_alternative<runtime::PatchAction>(failed->action))
    return nullptr;
  const runtime::Target* target = target_of(failed->action);
  if (target == nullptr || target->kind != kube::kPod) return nullptr;
  // Old news of our own doing, settled by looking again.
  if (failed->error.reason == Reason::kAlreadyExists || failed->error.reason == Reason::kConflict)
    return nullptr;
  return namespace_ends(view) ? nullptr : failed;
}

bool creates_pod(const FailedAction& failed) {
  return std::holds_alternative<runtime::CreateAction>(failed.action);
}

void tell_pod_failure(runtime::Plan& plan, const kube::Object& owner, const FailedAction& failed) {
  const bool creates = creates_pod(failed);
  plan.event(owner, {.type = client::EventType::kWarning,
                     .reason = creates ? "FailedCreate" : "FailedDelete",
                     .action = creates ? "Create" : "Delete",
                     .note = fmt::format("Error {}: {}", creates ? "creating" : "deleting",
                                         failed.error.message)});
}

bool namespace_ends(const runtime::View& view) {
  const FailedAction* failed = view.failed();
  return failed != nullptr &&
         std::any_of(failed->error.causes.begin(), failed->error.causes.end(),
                     [](const Cause& cause) { return cause.reason == "NamespaceTerminating"; });
}

}  // namespace berth::controllers
