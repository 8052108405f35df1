// SPDX-License-Identifier: Apache-2.0
// Which kinds of objects there are: how they are named in JSON and in URLs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::kube {

// Two bytes that stand for a kind. Ids carry no order and no meaning; never print or store them.
enum class KindId : std::uint16_t {};

struct Kind {
  std::string group;    // "" for core
  std::string version;  // "v1"
  std::string kind;     // "Pod"
  std::string plural;   // "pods"
  bool namespaced = true;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

// Thread-safe. Kinds are never removed; learning the same (group, version, plural) again gives the
// same id.
KindId learn_kind(Kind);
const Kind& kind_of(KindId);
// The kind of an object whose resource was never discovered: known, or learnt with a guessed plural
// until learn_kind() tells better.
KindId guess_kind(std::string_view api_version, std::string_view kind);
std::string_view json_head(KindId);  // {"kind":"Pod","apiVersion":"v1"
std::optional<KindId> find_kind(std::string_view api_version,
                                std::string_view kind);  // by what stands in an object
std::optional<KindId> find_resource(std::string_view group, std::string_view version,
                                    std::string_view plural);

// The built-in kinds; constants, so they may be used before main.
extern const KindId kPod, kNode, kNamespace, kService, kReplicationController, kPersistentVolume,
    kPersistentVolumeClaim, kConfigMap, kSecret, kServiceAccount, kEndpoints, kCoreEvent,
    kLimitRange, kResourceQuota, kPodTemplate, kComponentStatus, kDeployment, kReplicaSet,
    kStatefulSet, kDaemonSet, kControllerRevision, kJob, kCronJob, kHorizontalPodAutoscaler,
    kPodDisruptionBudget, kPriorityClass, kStorageClass, kCsiNode, kCsiDriver, kCsiStorageCapacity,
    kVolumeAttachment, kVolumeAttributesClass, kLease, kEvent, kResourceClaim,
    kResourceClaimTemplate, kResourceSlice, kDeviceClass, kCustomResourceDefinition, kApiService,
    kRole, kRoleBinding, kClusterRole, kClusterRoleBinding, kMutatingWebhookConfiguration,
    kValidatingWebhookConfiguration, kValidatingAdmissionPolicy, kValidatingAdmissionPolicyBinding,
    kEndpointSlice, kIngress, kIngressClass, kNetworkPolicy, kRuntimeClass,
    kCertificateSigningRequest, kTokenReview, kSelfSubjectReview, kSubjectAccessReview,
    kSelfSubjectAccessReview, kLocalSubjectAccessReview, kSelfSubjectRulesReview;

}  // namespace berth::kube
