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
std::optional<KindId> find_kind(std::string_view api_version,
                                std::string_view kind);  // by what stands in an object
std::optional<KindId> find_resource(std::string_view group, std::string_view version,
                                    std::string_view plural);

// The kinds that Berth itself speaks of; more in kind.cc.
extern const KindId kPod, kNode, kNamespace, kService, kReplicationController, kPersistentVolume,
    kPersistentVolumeClaim, kConfigMap, kSecret, kServiceAccount, kEndpoints, kCoreEvent,
    kLimitRange, kResourceQuota, kPodTemplate, kDeployment, kReplicaSet, kStatefulSet, kDaemonSet,
    kJob, kCronJob, kPodDisruptionBudget, kPriorityClass, kStorageClass, kCsiNode, kCsiDriver,
    kCsiStorageCapacity, kVolumeAttachment, kLease, kEvent, kResourceClaim, kResourceSlice,
    kDeviceClass, kCustomResourceDefinition, kRole, kRoleBinding, kClusterRole, kClusterRoleBinding,
    kMutatingWebhookConfiguration, kValidatingWebhookConfiguration;

}  // namespace berth::kube
