// SPDX-License-Identifier: Apache-2.0
// Volumes of the plugins that were once part of Kubernetes, as the CSI drivers that serve them now
// see them. Only what decisions read: driver, handle, topology.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/slice.h"
#include "kube/node_selector.h"
#include "kube/object.h"

namespace berth::scheduler {

struct InTreePlugin {
  std::string_view source;  // the member that names it: "gcePersistentDisk"
  std::string_view name;    // "kubernetes.io/gce-pd"
  std::string_view driver;  // "pd.csi.storage.gke.io"
  // k8s 1.36: the scheduler never translates the others, though there is logic for them.
  bool migrated = false;
  std::string_view zone_key = {};  // the driver's topology; "" where it is not translated
};

// `holder` is a volume of a pod or the spec of a PersistentVolume. Null: none of them.
const InTreePlugin* in_tree_plugin(json::Slice holder);
const InTreePlugin* in_tree_plugin_named(std::string_view name);

struct CsiSource {
  std::string driver, handle;
};
// Only of plugins with `migrated`. Errors are csi-translation-lib's.
Result<CsiSource> csi_source_of_inline(const InTreePlugin&, json::Slice volume);
Result<CsiSource> csi_source_of(const InTreePlugin&, const kube::Object& volume);
// spec.nodeAffinity.required with the driver's topology keys; nullopt: any node.
std::optional<kube::NodeSelector> csi_affinity_of(const InTreePlugin&, const kube::Object& volume);

}  // namespace berth::scheduler
