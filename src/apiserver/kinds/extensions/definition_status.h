// SPDX-License-Identifier: Apache-2.0
// The conditions in a CustomResourceDefinition's status.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/edit/edit.h"
#include "base/time.h"

namespace berth::apiserver {

// On a definition from the first wish to delete it until its objects are gone.
inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

struct DefinitionCondition {
  std::string_view type;
  bool holds = false;
  std::string_view reason, message;
};

// Absent where there is none.
Peek definition_condition(Peek status, std::string_view type);
bool definition_has_condition(Peek status, std::string_view type);  // and its status is True

// Its time changes only with its status.
void set_condition(json::Value& status, const DefinitionCondition&, WallTime now);

// Groups that are Kubernetes' own, whose kinds the community has to approve.
inline constexpr std::string_view kApprovalAnnotation = "api-approved.kubernetes.io";
bool guarded_group(std::string_view group);
enum class Approval : unsigned char { kMissing, kInvalid, kBypassed, kApproved };
struct ApprovalState {
  Approval approval = Approval::kMissing;
  std::string message;
};
ApprovalState approval_of(Peek metadata);
// The condition that tells it; nothing for other groups.
void settle_approval(std::string_view group, Edit& definition, WallTime now);

// What the first wish to delete a definition does to it.
void begin_deletion(Edit& definition, WallTime now);

}  // namespace berth::apiserver
