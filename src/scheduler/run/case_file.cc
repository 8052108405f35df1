// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/case_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/patch.h"
#include "json/writer.h"
#include "scheduler/framework/slot_holds.h"

namespace berth::scheduler {
namespace {

struct Member {
  const kube::KindId& kind;
  std::string_view name;
};
const Member kOthers[] = {
    {kube::kNamespace, "namespaces"},
    {kube::kService, "services"},
    {kube::kReplicationController, "replicationControllers"},
    {kube::kReplicaSet, "replicaSets"},
    {kube::kStatefulSet, "statefulSets"},
    {kube::kPodDisruptionBudget, "podDisruptionBudgets"},
    {kube::kPersistentVolume, "persistentVolumes"},
    {kube::kPersistentVolumeClaim, "persistentVolumeClaims"},
    {kube::kStorageClass, "storageClasses"},
    {kube::kCsiNode, "csiNodes"},
    {kube::kCsiDriver, "csiDrivers"},
    {kube::kCsiStorageCapacity, "csiStorageCapacities"},
    {kube::kVolumeAttachment, "volumeAttachments"},
};

// The pod with what is known here and not yet at the API server.
std::string pod_json(const Pod& pod, std::string_view node, std::string_view promised) {
  json::Writer known;
  known.object().member("metadata").object();
  known.member("namespace").string(pod.ns).member("name").string(pod.name);
  known.member("uid").string(pod.uid).end();
  known.member("spec").object();
  if (!node.empty()) known.member("nodeName").string(node);
  known.end().member("status").object();
  if (!promised.empty()) known.member("nominatedNodeName").string(promised);
  known.end().end();
  const std::string_view document = pod.document.valid() ? pod.document.json() : "{}";
  return json::merge_patch(document, known.text()).value_or(known.text());
}

}  // namespace

std::string case_text(std::string_view id, const Pod& pod, const ClusterState& cluster,
                      const NominatedPods& nominated, const Feeds& feeds) {
  json::Writer out;
  out.object().member("id").string(id);
  for (const Member& member : kOthers) {
    out.member(member.name).array();
    feeds.for_each_other([&](const kube::Object& object) {
      if (object.kind() == member.kind) out.raw(object.json());
    });
    out.end();
  }
  const std::vector<NodeId>& rows = cluster.table().node;
  out.member("nodes").array();
  for (std::uint32_t row = 0; row < cluster.size(); ++row)
    out.raw(cluster.node(rows[row]).document.json());
  out.end().member("pods").array();
  for (std::uint32_t row = 0; row < cluster.size(); ++row)
    for (const PodPtr& there : cluster.pods_on(rows[row]))
      if (!SlotHolds::is_hold(there->uid)) out.raw(pod_json(*there, there->node_name, ""));
  cluster.for_each_pod([&](const PodPtr& there, bool) {
    if (!cluster.row_of(there->node_name) && !SlotHolds::is_hold(there->uid))
      out.raw(pod_json(*there, there->node_name, ""));
  });
  out.end().member("nominated").array();
  std::vector<std::string> nodes = nominated.nodes();
  std::sort(nodes.begin(), nodes.end());
  for (const std::string& node : nodes)
    for (const PodPtr& other : nominated.on(node))
      if (other->uid != pod.uid) out.raw(pod_json(*other, "", node));
  out.end().member("pending").raw(pod_json(pod, "", pod.nominated_node_name)).end();
  std::string line = out.take();
  // A document may have been indented; inside a string a line break is always escaped.
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  return line;
}

}  // namespace berth::scheduler
