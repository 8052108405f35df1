// SPDX-License-Identifier: Apache-2.0
// Volumes, claims and what describes where they can be used, compiled once when they arrive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/label_selector.h"
#include "kube/node_selector.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "scheduler/cache/labels.h"

namespace berth::scheduler {

struct InTreePlugin;

namespace storage {
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed",
                                  kBoundByController = "pv.kubernetes.io/bound-by-controller",
                                  kSelectedNode = "volume.kubernetes.io/selected-node",
                                  kNoProvisioner = "kubernetes.io/no-provisioner";
}  // namespace storage

// A label of a volume that says where it can be used.
struct ZoneLabel {
  std::string key;
  std::set<std::string, std::less<>> values;
  friend bool operator==(const ZoneLabel&, const ZoneLabel&) = default;
};
std::vector<ZoneLabel> zones_of(json::Slice volume_labels);

// A PersistentVolume. Immutable; thread-safe.
struct Volume {
  struct ClaimRef {
    std::string ns, name, uid;
  };
  kube::Object object;
  std::string name;
  kube::Revision revision = 0;
  std::string class_name;
  kube::Quantity capacity;
  std::string mode = "Filesystem", attributes_class;
  std::set<std::string> access_modes;
  Labels labels;
  bool available = false;  // its phase
  bool deleting = false;
  std::optional<ClaimRef> claim;
  std::optional<kube::NodeSelector> affinity;  // nullopt: any node
  // A label of which every node that `affinity` allows has one of these values.
  struct Pin {
    std::string key;
    std::vector<std::string> values;
  };
  std::optional<Pin> pin;  // nullopt: nothing that simple
  std::vector<ZoneLabel> zones;

  const InTreePlugin* in_tree = nullptr;
  std::string driver, handle;  // of its CSI source, translated where it was in-tree
  bool native_csi = false;     // spec.csi
  std::string translation_error;
  std::optional<kube::NodeSelector> migrated_affinity;  // of in-tree ones that drivers serve

  static std::shared_ptr<const Volume> compile(const kube::Object&);
};
using VolumePtr = std::shared_ptr<const Volume>;

// A PersistentVolumeClaim. Immutable; thread-safe.
struct Claim {
  kube::Object object;
  std::string ns, name, uid;
  kube::Revision revision = 0;
  std::string class_name;
  std::string volume_name;
  bool bound = false;  // fully: it names a volume and the binding is complete
  std::optional<std::string> selected_node;
  bool lost = false, deleting = false;
  std::optional<std::string> controller_uid;  // of who made it
  std::vector<std::string> access_modes;
  bool for_one_pod = false;  // ReadWriteOncePod
  kube::Quantity request;
  bool has_request = false;
  std::string mode = "Filesystem", attributes_class;
  std::optional<Result<kube::LabelSelector>> selector;

  std::string key() const { return ns + "/" + name; }
  static std::shared_ptr<const Claim> compile(const kube::Object&);
};
using ClaimPtr = std::shared_ptr<const Claim>;

struct Pod;
// What is said where the claim of an ephemeral volume was made by somebody else.
std::string not_made_for(const Pod&, const Claim&);

// The volume is meant for the claim, be it that a user or a controller said so.
bool meant_for(const Volume&, const Claim&);

// Immutable; thread-safe.
struct StorageClass {
  std::string name, provisioner;
  std::optional<std::string> binding_mode;
  // Alternatives; none at all allows every node. A term that cannot be read allows none.
  std::vector<std::optional<std::vector<kube::Requirement>>> topologies;

  bool waits() const { return binding_mode == "WaitForFirstConsumer"; }
  bool allows(const Labels& node) const;
  static std::shared_ptr<const StorageClass> compile(const kube::Object&);
};
using StorageClassPtr = std::shared_ptr<const StorageClass>;

// Immutable; thread-safe.
struct CsiNode {
  std::string name;
  std::map<std::string, std::int64_t, std::less<>> limits;  // by driver; only those that state one
  std::set<std::string, std::less<>> migrated;              // names of in-tree plugins

  static std::shared_ptr<const CsiNode> compile(const kube::Object&);
};
using CsiNodePtr = std::shared_ptr<const CsiNode>;

// Immutable; thread-safe.
struct CsiCapacity {
  std::string class_name;
  std::optional<std::int64_t> limit;            // of one volume; nullopt: unknown
  std::optional<kube::LabelSelector> topology;  // nullopt: no node has access

  static CsiCapacity compile(const kube::Object&);
};
std::optional<std::int64_t> volume_limit(const kube::Object& csi_storage_capacity);

struct Attachment {
  std::string name, node, attacher, volume;  // volume "": not of a PersistentVolume
};

}  // namespace berth::scheduler
