// SPDX-License-Identifier: Apache-2.0
// A few tables by hand, enough to merge pods in tests and fuzz targets of this folder without the
// generated ones.
#pragma once

#include "json/schema.h"

namespace berth::json::test {

constexpr Field text(std::string_view name) { return {.name = name, .type = FieldType::kString}; }
constexpr Field number(std::string_view name) {
  return {.name = name, .type = FieldType::kInteger};
}
constexpr Field map(std::string_view name) {
  return {.name = name, .type = FieldType::kString, .shape = Shape::kMap};
}
constexpr Field one(std::string_view name, const Message& message) {
  return {.name = name, .type = FieldType::kMessage, .message = &message};
}
constexpr Field list(std::string_view name, const Message& message, std::string_view merge_key = {},
                     bool retain_keys = false) {
  return {.name = name,
          .type = FieldType::kMessage,
          .shape = Shape::kList,
          .patch_merge = !merge_key.empty(),
          .patch_retain_keys = retain_keys,
          .merge_key = merge_key,
          .message = &message};
}
constexpr Field texts(std::string_view name, bool merge = false) {
  return {.name = name, .type = FieldType::kString, .shape = Shape::kList, .patch_merge = merge};
}

inline constexpr Field kOwnerFields[] = {text("apiVersion"), text("kind"), text("name"),
                                         text("uid")};
inline constexpr Message kOwner{"OwnerReference", kOwnerFields};
inline constexpr Field kMetaFields[] = {map("annotations"), texts("finalizers", true),
                                        map("labels"), text("name"),
                                        list("ownerReferences", kOwner, "uid")};
inline constexpr Message kMeta{"ObjectMeta", kMetaFields};

inline constexpr Field kEnvFields[] = {text("name"), text("value")};
inline constexpr Message kEnv{"EnvVar", kEnvFields};
inline constexpr Field kPortFields[] = {number("containerPort"), text("name"), text("protocol")};
inline constexpr Message kPort{"ContainerPort", kPortFields};
inline constexpr Field kMountFields[] = {text("mountPath"), text("name")};
inline constexpr Message kMount{"VolumeMount", kMountFields};
inline constexpr Field kResourceFields[] = {map("limits"), map("requests")};
inline constexpr Message kResources{"ResourceRequirements", kResourceFields};
inline constexpr Field kContainerFields[] = {texts("args"),
                                             list("env", kEnv, "name"),
                                             text("image"),
                                             text("name"),
                                             list("ports", kPort, "containerPort"),
                                             one("resources", kResources),
                                             list("volumeMounts", kMount, "mountPath")};
inline constexpr Message kContainer{"Container", kContainerFields};

inline constexpr Field kNameFields[] = {text("name")};
inline constexpr Message kName{"LocalObjectReference", kNameFields};
inline constexpr Field kEmptyDirFields[] = {text("medium")};
inline constexpr Message kEmptyDir{"EmptyDirVolumeSource", kEmptyDirFields};
inline constexpr Field kHostPathFields[] = {text("path"), text("type")};
inline constexpr Message kHostPath{"HostPathVolumeSource", kHostPathFields};
inline constexpr Field kVolumeFields[] = {one("configMap", kName), one("emptyDir", kEmptyDir),
                                          one("hostPath", kHostPath), text("name")};
inline constexpr Message kVolume{"Volume", kVolumeFields};
inline constexpr Field kAliasFields[] = {texts("hostnames"), text("ip")};
inline constexpr Message kAlias{"HostAlias", kAliasFields};
inline constexpr Field kTolerationFields[] = {text("key"), text("operator")};
inline constexpr Message kToleration{"Toleration", kTolerationFields};
inline constexpr Field kSpreadFields[] = {number("maxSkew"), text("topologyKey"),
                                          text("whenUnsatisfiable")};
inline constexpr Message kSpread{"TopologySpreadConstraint", kSpreadFields};

inline constexpr Field kPodSpecFields[] = {
    list("containers", kContainer, "name"),
    list("hostAliases", kAlias, "ip"),
    list("imagePullSecrets", kName, "name"),
    map("nodeSelector"),
    text("restartPolicy"),
    list("tolerations", kToleration),
    list("topologySpreadConstraints", kSpread, "topologyKey"),
    list("volumes", kVolume, "name", true),
};
inline constexpr Message kPodSpec{"PodSpec", kPodSpecFields};
inline constexpr Field kPodFields[] = {text("apiVersion"), text("kind"), one("metadata", kMeta),
                                       one("spec", kPodSpec)};
inline constexpr Message kPod{"Pod", kPodFields};

inline constexpr Field kTemplateFields[] = {one("metadata", kMeta), one("spec", kPodSpec)};
inline constexpr Message kTemplate{"PodTemplateSpec", kTemplateFields};
inline constexpr Field kRollingFields[] = {text("maxSurge"), text("maxUnavailable")};
inline constexpr Message kRolling{"RollingUpdateDeployment", kRollingFields};
inline constexpr Field kStrategyFields[] = {one("rollingUpdate", kRolling), text("type")};
inline constexpr Message kStrategy{"DeploymentStrategy", kStrategyFields};
inline constexpr Field kDeploymentSpecFields[] = {number("replicas"),
                                                  {.name = "strategy",
                                                   .type = FieldType::kMessage,
                                                   .patch_retain_keys = true,
                                                   .message = &kStrategy},
                                                  one("template", kTemplate)};
inline constexpr Message kDeploymentSpec{"DeploymentSpec", kDeploymentSpecFields};
inline constexpr Field kDeploymentFields[] = {one("metadata", kMeta), one("spec", kDeploymentSpec)};
inline constexpr Message kDeployment{"Deployment", kDeploymentFields};

inline constexpr Field kTaintFields[] = {text("effect"), text("key"), text("value")};
inline constexpr Message kTaint{"Taint", kTaintFields};
inline constexpr Field kNodeSpecFields[] = {texts("podCIDRs", true), list("taints", kTaint)};
inline constexpr Message kNodeSpec{"NodeSpec", kNodeSpecFields};
inline constexpr Field kAddressFields[] = {text("address"), text("type")};
inline constexpr Message kAddress{"NodeAddress", kAddressFields};
inline constexpr Field kConditionFields[] = {text("status"), text("type")};
inline constexpr Message kCondition{"NodeCondition", kConditionFields};
inline constexpr Field kNodeStatusFields[] = {list("addresses", kAddress, "type"),
                                              list("conditions", kCondition, "type")};
inline constexpr Message kNodeStatus{"NodeStatus", kNodeStatusFields};
inline constexpr Field kNodeFields[] = {one("metadata", kMeta), one("spec", kNodeSpec),
                                        one("status", kNodeStatus)};
inline constexpr Message kNode{"Node", kNodeFields};

}  // namespace berth::json::test
