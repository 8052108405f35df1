// SPDX-License-Identifier: Apache-2.0
// Volumes, claims and their like for tests, made as briefly as they are spoken of. Only tests
// include this.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "scheduler/cache/test_builders.h"

namespace berth::scheduler::test {

// Any storage object; spec(), status(), annotation() and merge() say the rest.
class StorageBuilder : public ManifestBuilder<StorageBuilder> {
 public:
  StorageBuilder(kube::KindId kind, std::string_view name, std::string_view ns = "")
      : ManifestBuilder(fmt::format(R"({{"metadata":{{"name":{0},"uid":{0}{1}}}}})", quoted(name),
                                    ns.empty() ? "" : ",\"namespace\":" + quoted(ns))),
        kind_(kind) {}

  // Of claims and volumes.
  StorageBuilder& of_class(std::string_view name) {
    return spec(fmt::format("{{\"storageClassName\":{}}}", quoted(name)));
  }
  StorageBuilder& modes(std::string_view list) {
    return spec(fmt::format("{{\"accessModes\":{}}}", list));
  }
  // Of claims.
  StorageBuilder& asks(std::string_view size) {
    return spec(fmt::format(R"({{"resources":{{"requests":{{"storage":{}}}}}}})", quoted(size)));
  }
  StorageBuilder& bound_to(std::string_view volume) {
    return annotation("pv.kubernetes.io/bind-completed", "yes")
        .spec(fmt::format("{{\"volumeName\":{}}}", quoted(volume)))
        .status("phase: Bound");
  }
  StorageBuilder& on_node(std::string_view node) {
    return annotation("volume.kubernetes.io/selected-node", node);
  }
  StorageBuilder& made_for(std::string_view pod_uid) {
    return metadata(fmt::format(
        R"({{"ownerReferences":[{{"kind":"Pod","apiVersion":"v1","name":{0},"uid":{0},"controller":true}}]}})",
        quoted(pod_uid)));
  }
  // Of volumes.
  StorageBuilder& holds(std::string_view size) {
    return spec(fmt::format(R"({{"capacity":{{"storage":{}}}}})", quoted(size)));
  }
  StorageBuilder& for_claim(std::string_view ns, std::string_view name, std::string_view uid = "") {
    return spec(fmt::format(R"({{"claimRef":{{"namespace":{},"name":{},"uid":{}}}}})", quoted(ns),
                            quoted(name), quoted(uid)));
  }
  StorageBuilder& only_where(std::string_view key, std::string_view value) {
    return spec(fmt::format(
        R"({{"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":{},"operator":"In","values":[{}]}}]}}]}}}}}})",
        quoted(key), quoted(value)));
  }
  StorageBuilder& csi(std::string_view driver, std::string_view handle) {
    return spec(fmt::format(R"({{"csi":{{"driver":{},"volumeHandle":{}}}}})", quoted(driver),
                            quoted(handle)));
  }

  const std::string& json() const { return manifest(); }
  kube::Object object() const { return parse(kind_, manifest()); }
  operator kube::Object() const { return object(); }  // NOLINT(google-explicit-constructor)

 private:
  kube::KindId kind_;
};

// Available, ReadWriteOnce, 10Gi.
inline StorageBuilder volume(std::string_view name) {
  return StorageBuilder(kube::kPersistentVolume, name)
      .holds("10Gi")
      .modes("[ReadWriteOnce]")
      .status("phase: Available");
}
// In "default"; ReadWriteOnce, 1Gi, its uid like its name.
inline StorageBuilder claim(std::string_view name, std::string_view ns = "default") {
  return StorageBuilder(kube::kPersistentVolumeClaim, name, ns)
      .asks("1Gi")
      .modes("[ReadWriteOnce]")
      .status("phase: Pending");
}
inline StorageBuilder storage_class(std::string_view name, std::string_view provisioner,
                                    bool waits = true) {
  return StorageBuilder(kube::kStorageClass, name)
      .merge(fmt::format("{{provisioner: '{}', volumeBindingMode: {}}}", provisioner,
                         waits ? "WaitForFirstConsumer" : "Immediate"));
}
// A CSINode whose drivers attach so many volumes.
inline StorageBuilder csi_node(std::string_view node,
                               std::initializer_list<std::pair<std::string_view, int>> limits) {
  std::string drivers;
  for (const auto& [driver, limit] : limits)
    drivers += fmt::format("{}{{name: '{}', allocatable: {{count: {}}}}}",
                           drivers.empty() ? "" : ",", driver, limit);
  return StorageBuilder(kube::kCsiNode, node).spec(fmt::format("drivers: [{}]", drivers));
}
inline StorageBuilder csi_driver(std::string_view name, bool tracks_capacity) {
  return StorageBuilder(kube::kCsiDriver, name)
      .spec(fmt::format("storageCapacity: {}", tracks_capacity));
}
// For nodes with the label disk: <disk>.
inline StorageBuilder csi_capacity(std::string_view name, std::string_view of_class,
                                   std::string_view amount, std::string_view disk) {
  return StorageBuilder(kube::kCsiStorageCapacity, name, "default")
      .merge(fmt::format("{{storageClassName: '{}', capacity: '{}', nodeTopology: "
                         "{{matchLabels: {{disk: '{}'}}}}}}",
                         of_class, amount, disk));
}
inline StorageBuilder attachment(std::string_view name, std::string_view attacher,
                                 std::string_view node, std::string_view volume) {
  return StorageBuilder(kube::kVolumeAttachment, name)
      .spec(
          fmt::format("{{attacher: '{}', nodeName: '{}', source: {{persistentVolumeName: '{}'}}}}",
                      attacher, node, volume));
}

}  // namespace berth::scheduler::test
