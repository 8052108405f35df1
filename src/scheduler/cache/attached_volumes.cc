// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/attached_volumes.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/csi_migration.h"

namespace berth::scheduler {
namespace {

using Kind = PodVolume::Kind;

bool by_claim(const PodVolume& volume) {
  return volume.kind == Kind::kClaim || volume.kind == Kind::kEphemeral;
}

}  // namespace

void sort_out(std::vector<Attachable>& volumes) {
  std::sort(volumes.begin(), volumes.end());
  volumes.erase(std::unique(volumes.begin(), volumes.end()), volumes.end());
}

Result<Ok> AttachableFinder::add(const Pod& pod, bool is_new, std::vector<Attachable>& out) {
  if (!pod.volumes) return Ok{};
  for (const PodVolume& volume : pod.volumes->list) {
    Result<Ok> added =
        by_claim(volume) ? add_claimed(pod, volume, is_new, out) : add_inline(volume, out);
    if (!added) return added;
  }
  return Ok{};
}

Result<Ok> AttachableFinder::add_claimed(const Pod& pod, const PodVolume& volume, bool is_new,
                                         std::vector<Attachable>& out) {
  if (volume.claim.empty()) return invalid("PersistentVolumeClaim had no name");
  key_.assign(pod.ns).append("/").append(volume.claim);
  const ClaimPtr& claim = storage_.claim(key_);
  if (!claim) {
    if (!is_new) return Ok{};
    return fail(Reason::kNotFound,
                fmt::format("looking up PVC {}: persistentvolumeclaim \"{}\" not found", key_,
                            volume.claim));
  }
  if (volume.kind == Kind::kEphemeral && claim->controller_uid != pod.uid)
    return invalid(not_made_for(pod, *claim));
  const VolumePtr& bound = storage_.volume(claim->volume_name);
  if (claim->volume_name.empty() || !bound)
    add_to_be_made(*claim, out);
  else if (bound->native_csi || (has_csi_node_ && bound->in_tree && bound->in_tree->migrated))
    if (!bound->driver.empty() && !bound->handle.empty())
      out.push_back({bound->driver, bound->handle});
  return Ok{};
}

void AttachableFinder::add_to_be_made(const Claim& claim, std::vector<Attachable>& out) {
  const StorageClassPtr& of = storage_.storage_class(claim.class_name);
  if (claim.class_name.empty() || !of) return;
  const InTreePlugin* plugin = in_tree_plugin_named(of->provisioner);
  if (plugin != nullptr && !(plugin->migrated && has_csi_node_)) return;
  const std::string_view driver = plugin != nullptr ? plugin->driver : of->provisioner;
  if (!driver.empty()) out.push_back({std::string(driver), key_, true});
}

Result<Ok> AttachableFinder::add_inline(const PodVolume& volume,
                                        std::vector<Attachable>& out) const {
  const InTreePlugin* plugin = in_tree_plugin(volume.source);
  if (plugin == nullptr || !plugin->migrated || !has_csi_node_) return Ok{};
  Result<CsiSource> source = csi_source_of_inline(*plugin, volume.source);
  if (!source)
    return invalid(fmt::format("converting volume({}) from inline to csi: {}", volume.name,
                               source.error().message));
  out.push_back({std::move(source->driver), std::move(source->handle)});
  return Ok{};
}

bool NodeAttached::has(const Attachable& volume) const {
  return std::binary_search(volumes.begin(), volumes.end(), volume);
}

std::int64_t NodeAttached::count_of(std::string_view driver) const {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [driver](const auto& count) { return count.first == driver; });
  return found == counts.end() ? 0 : found->second;
}

void AttachedBuilder::add(const Pod& pod) {
  if (!made_.error.empty()) return;
  if (Result<Ok> added = finder_.add(pod, false, made_.volumes); !added)
    made_.error = std::move(added.error().message);
}

NodeAttached AttachedBuilder::finish(std::string_view node) {
  sort_out(made_.volumes);
  std::vector<Attachable> all = made_.volumes;
  for (const Attachment& attachment : storage_.attachments_on(node)) {
    const VolumePtr& volume = storage_.volume(attachment.volume);
    if (!attachment.attacher.empty() && volume && volume->native_csi)
      all.push_back({attachment.attacher, volume->handle});
  }
  sort_out(all);
  for (Attachable& volume : all) {
    if (made_.counts.empty() || made_.counts.back().first != volume.driver)
      made_.counts.emplace_back(std::move(volume.driver), 0);
    ++made_.counts.back().second;
  }
  return std::move(made_);
}

const NodeAttached& AttachedVolumes::on(const ClusterState& cluster, NodeId id) {
  catch_up(cluster.storage());
  if (index(id) >= by_node_.size()) by_node_.resize(cluster.node_ids());
  Entry& entry = by_node_[index(id)];
  if (entry.stale || entry.pods != cluster.volumes_epoch(id)) make(cluster, id, entry);
  return entry.attached;
}

void AttachedVolumes::catch_up(const StorageState& storage) {
  const AttachLog& log = storage.attach_log();
  if (seen_ == log.end()) return;
  if (seen_ < log.begin) {
    for (Entry& entry : by_node_) entry.stale = true;
  } else {
    for (std::uint64_t i = seen_; i < log.end(); ++i)
      if (const auto with = made_with_.find(log.keys[i - log.begin]); with != made_with_.end())
        for (const NodeId node : with->second) by_node_[index(node)].stale = true;
  }
  seen_ = log.end();
}

void AttachedVolumes::make(const ClusterState& cluster, NodeId id, Entry& entry) {
  for (const std::string& key : entry.made_from) {
    const auto with = made_with_.find(key);
    std::erase(with->second, id);
    if (with->second.empty()) made_with_.erase(with);
  }
  const std::string& name = cluster.node(id).name;
  AttachedBuilder builder(cluster.storage());
  std::vector<std::string> keys{"@" + name};
  for (const PodPtr& pod : cluster.pods_on(id)) {
    if (!pod->volumes) continue;
    for (const PodVolume& volume : pod->volumes->list)
      if (by_claim(volume)) keys.push_back(pod->ns + "/" + volume.claim);
    builder.add(*pod);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) made_with_[key].push_back(id);
  entry = {cluster.volumes_epoch(id), false, builder.finish(name), std::move(keys)};
}

}  // namespace berth::scheduler
