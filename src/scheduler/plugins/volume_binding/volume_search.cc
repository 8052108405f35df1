// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/volume_binding/volume_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/cache/csi_migration.h"

namespace berth::scheduler {
namespace {

bool matches_affinity(const std::optional<kube::NodeSelector>& affinity, const Labels& node) {
  // k8s 1.36: by labels alone; fields (the node's name) are not looked at.
  return !affinity || matches(*affinity, node, "");
}

bool has_modes(const Volume& volume, const Claim& claim) {
  return std::all_of(
      claim.access_modes.begin(), claim.access_modes.end(),
      [&volume](const std::string& mode) { return volume.access_modes.contains(mode); });
}

}  // namespace

Result<bool> usable_on(const Volume& volume, const Labels& node, const CsiNode* csi_node) {
  const bool translate = volume.in_tree != nullptr && volume.in_tree->migrated &&
                         csi_node != nullptr && csi_node->migrated.contains(volume.in_tree->name);
  if (!translate) return matches_affinity(volume.affinity, node);
  if (!volume.translation_error.empty())
    return invalid("could not translate pv: " + volume.translation_error);
  return matches_affinity(volume.migrated_affinity, node);
}

VolumeSearch::VolumeSearch(const PodClaims& claims, const StorageState& storage) {
  for (const ClaimPtr& claim : claims.bound)
    bound_.push_back({claim, storage.latest_volume(claim->volume_name)});
  for (const ClaimPtr& claim : claims.delayed) {
    if (claim->selected_node) {
      promised_apart_ = promised_apart_ || (!promised_.empty() && node_ != *claim->selected_node);
      node_ = *claim->selected_node;
      promised_.push_back({claim, {}, provisioning_of(*claim, storage)});
      continue;
    }
    wanted_.push_back({claim, candidates_for(*claim, storage.latest_of_class(claim->class_name)),
                       provisioning_of(*claim, storage)});
  }
  std::stable_sort(wanted_.begin(), wanted_.end(), [](const Wanted& a, const Wanted& b) {
    return a.claim->request < b.claim->request;
  });
}

VolumeSearch::Candidates VolumeSearch::candidates_for(const Claim& claim,
                                                      const std::vector<VolumePtr>& volumes) {
  Candidates out;
  if (claim.selector && !*claim.selector) {
    out.error = fmt::format("error creating internal label selector for claim: {}: {}", claim.key(),
                            claim.selector->error().message);
    return out;
  }
  for (const VolumePtr& volume : volumes) {
    const bool meant = meant_for(*volume, claim);
    if ((volume->claim && !meant) || volume->capacity < claim.request ||
        volume->mode != claim.mode || volume->attributes_class != claim.attributes_class ||
        volume->deleting)
      continue;
    if (meant)
      out.meant.push_back(volume);
    else if (volume->available && (!claim.selector || matches(**claim.selector, volume->labels)) &&
             has_modes(*volume, claim))
      out.other.push_back(volume);
  }
  // Kube-scheduler takes the smallest, and among equals the first of a list in no order; ours is by
  // name.
  std::stable_sort(out.other.begin(), out.other.end(), [](const VolumePtr& a, const VolumePtr& b) {
    return a->capacity < b->capacity;
  });
  for (std::uint32_t i = 0; i < out.other.size(); ++i) {
    const std::optional<Volume::Pin>& pin = out.other[i]->pin;
    if (!pin)
      out.loose.push_back(i);
    else
      for (const std::string& value : pin->values) out.pinned[pin->key][value].push_back(i);
  }
  return out;
}

VolumeSearch::Provisioning VolumeSearch::provisioning_of(const Claim& claim,
                                                         const StorageState& storage) {
  Provisioning out;
  out.of = storage.storage_class(claim.class_name);
  if (!out.of) return out;
  const std::string& provisioner = out.of->provisioner;
  out.possible = !provisioner.empty() && provisioner != storage::kNoProvisioner;
  out.check_space = claim.has_request && storage.tracks_capacity(provisioner);
  if (!out.check_space) return out;
  const std::int64_t size = claim.request.value();
  for (const CsiCapacity* capacity : storage.capacities_of(claim.class_name))
    if (capacity->limit && *capacity->limit >= size && capacity->topology)
      out.space.push_back(*capacity->topology);
  return out;
}

VolumePtr VolumeSearch::match(const Candidates& candidates, const Labels& node,
                              const Chosen& chosen) {
  const auto is_chosen = [&chosen](const VolumePtr& volume) {
    return std::find(chosen.begin(), chosen.end(), volume.get()) != chosen.end();
  };
  for (const VolumePtr& volume : candidates.meant)
    if (!is_chosen(volume)) return matches_affinity(volume->affinity, node) ? volume : nullptr;

  std::uint32_t best = static_cast<std::uint32_t>(candidates.other.size());
  const auto look = [&](const std::vector<std::uint32_t>& places) {
    for (const std::uint32_t place : places) {
      if (place >= best) return;
      const VolumePtr& volume = candidates.other[place];
      if (!is_chosen(volume) && matches_affinity(volume->affinity, node)) {
        best = place;
        return;
      }
    }
  };
  for (const auto& [key, by_value] : candidates.pinned)
    if (const std::optional<std::string_view> value = node.find(key))
      if (const auto found = by_value.find(*value); found != by_value.end()) look(found->second);
  look(candidates.loose);
  return best < candidates.other.size() ? candidates.other[best] : nullptr;
}

Result<unsigned> VolumeSearch::check_provisioning(const Wanted& wanted, const Labels& node) {
  const Provisioning& how = wanted.provisioning;
  if (wanted.claim->class_name.empty())
    return invalid(fmt::format("no class for claim \"{}\"", wanted.claim->key()));
  if (!how.of)
    return invalid(fmt::format("failed to find storage class \"{}\"", wanted.claim->class_name));
  if (!how.possible || !how.of->allows(node)) return volume_conflict::kNoVolume;
  if (how.check_space &&
      std::none_of(how.space.begin(), how.space.end(),
                   [&node](const kube::LabelSelector& where) { return matches(where, node); }))
    return volume_conflict::kNoSpace;
  return 0u;
}

Result<unsigned> VolumeSearch::find(const Node& node, const CsiNode* csi_node,
                                    NodeVolumes* found) const {
  using namespace volume_conflict;
  const Labels& labels = *node.labels;
  unsigned conflicts = 0;
  for (const Bound& bound : bound_) {  // the first that does not serve is the one that is named
    if (!bound.volume) {
      conflicts |= kVolumeGone;
      break;
    }
    const Result<bool> usable = usable_on(*bound.volume, labels, csi_node);
    if (!usable) return tl::unexpected(usable.error());
    if (!*usable) {
      conflicts |= kAffinity;
      break;
    }
  }
  if (!promised_.empty() && (promised_apart_ || node_ != node.name)) return conflicts | kNoVolume;

  std::vector<const Wanted*> to_provision;
  for (const Wanted& wanted : promised_) to_provision.push_back(&wanted);
  Chosen chosen;
  for (const Wanted& wanted : wanted_) {
    if (!wanted.candidates.error.empty()) return invalid(wanted.candidates.error);
    VolumePtr volume = match(wanted.candidates, labels, chosen);
    if (!volume) {
      to_provision.push_back(&wanted);
      continue;
    }
    chosen.push_back(volume.get());
    if (found != nullptr) found->matches.push_back({wanted.claim, std::move(volume)});
  }
  for (const Wanted* wanted : to_provision) {
    const Result<unsigned> conflict = check_provisioning(*wanted, labels);
    if (!conflict) return conflict;
    if (*conflict != 0) return conflicts | *conflict;
    if (found != nullptr) found->to_provision.push_back(wanted->claim);
  }
  return conflicts;
}

}  // namespace berth::scheduler
