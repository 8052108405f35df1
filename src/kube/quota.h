// SPDX-License-Identifier: Apache-2.0
// What objects count as against a ResourceQuota: which resource names of a quota an object's kind
// is counted under, which scopes it is in, and how much it takes. Admission and the controller that
// recounts both ask here, so that they never disagree.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/api.h"
#include "kube/object.h"
#include "kube/resource_list.h"

namespace berth::kube {

// What has to be known beyond the object itself. The last two matter to ResourceClaims alone.
struct QuotaSurroundings {
  WallTime now{};
  // DeviceClasses that stand for an extended resource: class name to resource name.
  std::map<std::string, std::string, std::less<>> device_classes = {};
  // What the pod that a claim was made for is charged already (claim_pod_usage); null: nothing.
  std::function<ResourceList(const Object& claim)> charged_to_pod = nullptr;
};

// "count/pods", "count/deployments.apps": any kind may be counted by that name.
std::string quota_count_name(KindId);

// Does a quota's resource of this name count objects of this kind?
bool quota_tracks(KindId, std::string_view resource, const QuotaSurroundings& = {});
// Those of the names that do, in their order.
std::vector<std::string> quota_tracked(KindId, const std::vector<std::string>& resources,
                                       const QuotaSurroundings& = {});

// A row of spec.scopeSelector.matchExpressions; a name in spec.scopes is {name, "Exists"}.
struct QuotaScope {
  std::string name, op;
  std::vector<std::string> values = {};
  friend bool operator==(const QuotaScope&, const QuotaScope&) = default;
};
std::vector<QuotaScope> quota_scopes(const Object& quota);  // both, in this order
// Is the object in that scope? Only pods and PersistentVolumeClaims are in any.
Result<bool> quota_scope_holds(const QuotaScope&, const Object&);

// Does the quota watch over this object: by a name in status.hard, and by all of its scopes?
Result<bool> quota_matches(const Object& quota, const Object& object,
                           const QuotaSurroundings& = {});

// What the object takes, by every name it could be counted under.
Result<ResourceList> quota_usage(const Object&, const QuotaSurroundings&);

// k8s 1.36: a quota of cpu or memory obliges each container to state it. "must specify
// limits.cpu for: main,side; …"
Result<Ok> quota_constraints(const std::vector<std::string>& required, const Object&);

// Is a request of interest to quotas at all? `verb` is kCreate or kUpdate (patches are updates);
// `old` may be invalid for a create.
bool quota_handles(Verb, std::string_view subresource, const Object& object, const Object& old);

// May an update have freed something, or changed what the object counts as?
bool quota_replenished(const Object& before, const Object& after, WallTime now);

// Still counted: neither ended nor past the end of its grace.
bool quota_counts_pod(const Object& pod, WallTime now);

// For QuotaSurroundings::charged_to_pod. `pod` is the object under the controller's name, invalid
// where there is none; `owned` are the claims that the same pod controls.
ResourceList claim_pod_usage(const Object& claim, const Object& pod,
                             const std::vector<const Object*>& owned, WallTime now);

}  // namespace berth::kube
