// SPDX-License-Identifier: Apache-2.0
// What nodes are looked up by: topology domains, resources, taints, selectors, images.
#include <algorithm>

#include "base/check.h"
#include "scheduler/cache/cluster_state.h"

namespace berth::scheduler {
namespace {

template <class Map>
void drop_expired(Map& map) {
  for (auto at = map.begin(); at != map.end();)
    at = at->second.expired() ? map.erase(at) : std::next(at);
}

std::string text_of(const std::vector<kube::Taint>& taints) {
  std::string text;
  for (const kube::Taint& taint : taints)
    text += taint.key + '\0' + taint.value + '\0' + taint.effect + '\1';
  return text;
}

std::string text_of(const std::vector<kube::Toleration>& tolerations) {
  std::string text;
  for (const kube::Toleration& toleration : tolerations)
    text += toleration.key + '\0' + toleration.op + '\0' + toleration.value + '\0' +
            toleration.effect + '\1';
  return text;
}

}  // namespace

// ---- domains

TopologyKeyId ClusterState::topology_key(std::string_view label) {
  if (const auto known = key_ids_.find(label); known != key_ids_.end()) return known->second;
  const auto id = static_cast<TopologyKeyId>(keys_.size());
  key_ids_.emplace(label, id);
  keys_.emplace_back();
  keys_.back().label = label;
  table_.add_key();
  journal_.add_key();
  for (std::uint32_t n = 0; n < slots_.size(); ++n) {
    const NodeSlot& of = slots_[n];
    if (!of.node) continue;
    enter_domain(keys_.back(), static_cast<NodeId>(n), *of.node);
    if (of.row != kNoRow && !layout_stale_)
      table_.domains.back()[of.row] = domain_of(id, static_cast<NodeId>(n));
  }
  // Entries from before lack the new column.
  for (std::uint64_t entry = journal_begin(); entry < journal_end_ && !layout_stale_; ++entry) {
    const std::uint64_t at = entry & (journal_.size() - 1);
    journal_.domains.back()[at] = table_.domains.back()[journal_rows_[at]];
  }
  return id;
}

bool ClusterState::unique(TopologyKeyId key) const {
  return key == TopologyKeyId::kItself || keys_[index(key)].shared == 0;
}

std::uint32_t ClusterState::domains(TopologyKeyId key) const {
  return static_cast<std::uint32_t>(
      key == TopologyKeyId::kItself ? slots_.size() : keys_[index(key)].nodes_in.size());
}

DomainId ClusterState::domain_of(TopologyKeyId key, NodeId node) const {
  if (key == TopologyKeyId::kItself) return static_cast<DomainId>(index(node));
  const std::vector<DomainId>& of = keys_[index(key)].of_node;
  return index(node) < of.size() ? of[index(node)] : DomainId::kNone;
}

DomainId ClusterState::domain_named(TopologyKeyId key, std::string_view value) const {
  const auto found = keys_[index(key)].ids.find(value);
  return found == keys_[index(key)].ids.end() ? DomainId::kNone : found->second;
}

void ClusterState::enter_domains(NodeId id, const Node& node) {
  for (std::size_t k = 1; k < keys_.size(); ++k) enter_domain(keys_[k], id, node);
}

void ClusterState::leave_domains(NodeId id) {
  for (std::size_t k = 1; k < keys_.size(); ++k) leave_domain(keys_[k], id);
}

void ClusterState::enter_domain(TopologyKey& key, NodeId id, const Node& node) {
  if (index(id) >= key.of_node.size()) key.of_node.resize(index(id) + 1, DomainId::kNone);
  const std::optional<std::string_view> value = node.labels->find(key.label);
  if (!value) return;
  auto known = key.ids.find(*value);
  if (known == key.ids.end()) {
    DomainId fresh;
    if (!key.free.empty()) {
      fresh = key.free.back();
      key.free.pop_back();
    } else {
      fresh = static_cast<DomainId>(key.nodes_in.size());
      key.nodes_in.push_back(0);
    }
    known = key.ids.emplace(*value, fresh).first;
  }
  key.of_node[index(id)] = known->second;
  if (++key.nodes_in[index(known->second)] == 2 && key.shared++ == 0) ++key_epoch_;
}

void ClusterState::leave_domain(TopologyKey& key, NodeId id) {
  if (index(id) >= key.of_node.size()) return;
  const DomainId domain = std::exchange(key.of_node[index(id)], DomainId::kNone);
  if (domain == DomainId::kNone) return;
  const std::uint32_t left = --key.nodes_in[index(domain)];
  if (left == 1 && --key.shared == 0) ++key_epoch_;
  if (left > 0) return;
  const auto named = std::find_if(key.ids.begin(), key.ids.end(),
                                  [&](const auto& entry) { return entry.second == domain; });
  key.ids.erase(named);
  key.free.push_back(domain);
}

// ---- resources

ResourceId ClusterState::resource(std::string_view name) {
  if (const auto known = resource_ids_.find(name); known != resource_ids_.end())
    return known->second;
  const auto id = static_cast<ResourceId>(table_.scalars.size());
  resource_ids_.emplace(name, id);
  table_.add_scalar();
  journal_.add_scalar();
  for (const NodeSlot& of : slots_)
    if (of.node && of.row != kNoRow && !layout_stale_)
      table_.scalars.back().first[of.row] = static_cast<double>(of.node->allocatable.scalar(name));
  for (std::uint64_t entry = journal_begin(); entry < journal_end_ && !layout_stale_; ++entry) {
    const std::uint64_t at = entry & (journal_.size() - 1);
    journal_.scalars.back().first[at] = table_.scalars.back().first[journal_rows_[at]];
  }
  return id;
}

std::optional<ResourceId> ClusterState::find_resource(std::string_view name) const {
  const auto known = resource_ids_.find(name);
  return known == resource_ids_.end() ? std::nullopt : std::optional(known->second);
}

std::int64_t ClusterState::scalar_used(NodeId id, ResourceId resource_id) const {
  for (const auto& [known, amount] : slots_[index(id)].scalars)
    if (known == resource_id) return amount;
  return 0;
}

// ---- taints

TaintSetId ClusterState::enter_taints(const std::vector<kube::Taint>& taints) {
  if (taints.empty()) return TaintSetId::kNone;
  std::string text = text_of(taints);
  if (const auto known = taint_ids_.find(text); known != taint_ids_.end()) {
    ++taint_sets_[index(known->second)].nodes;
    return known->second;
  }
  TaintSetId id;
  if (!free_taint_sets_.empty()) {
    id = free_taint_sets_.back();
    free_taint_sets_.pop_back();
  } else {
    id = static_cast<TaintSetId>(taint_sets_.size());
    taint_sets_.emplace_back();
  }
  taint_sets_[index(id)] = {taints, text, 1};
  taint_ids_.emplace(std::move(text), id);
  for (auto& [tolerations, weak] : tolerations_)
    if (const auto verdicts = weak.lock()) {
      verdicts->verdicts_.resize(taint_sets_.size());
      verdicts->verdicts_[index(id)] = judge(verdicts->tolerations_, taints);
    }
  return id;
}

void ClusterState::leave_taints(TaintSetId id) {
  if (id == TaintSetId::kNone) return;
  TaintSet& set = taint_sets_[index(id)];
  if (--set.nodes > 0) return;
  taint_ids_.erase(set.text);
  set = {};
  free_taint_sets_.push_back(id);
}

TolerationVerdicts::Verdict ClusterState::judge(const std::vector<kube::Toleration>& tolerations,
                                                const std::vector<kube::Taint>& taints) {
  TolerationVerdicts::Verdict verdict;
  std::vector<kube::Toleration> soft;
  for (const kube::Toleration& toleration : tolerations)
    if (toleration.effect.empty() || toleration.effect == "PreferNoSchedule")
      soft.push_back(toleration);
  for (const kube::Taint& taint : taints) {
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute")
      verdict.passes = verdict.passes && kube::tolerates(tolerations, taint);
    else if (taint.effect == "PreferNoSchedule" && !kube::tolerates(soft, taint))
      ++verdict.disliked;
  }
  return verdict;
}

std::shared_ptr<const TolerationVerdicts> ClusterState::tolerations(
    const std::vector<kube::Toleration>& list) {
  std::string text = text_of(list);
  if (const auto known = tolerations_.find(text); known != tolerations_.end())
    if (auto alive = known->second.lock()) return alive;
  if (tolerations_.size() % 64 == 63) drop_expired(tolerations_);
  auto made = std::make_shared<TolerationVerdicts>();
  made->tolerations_ = list;
  for (const TaintSet& set : taint_sets_) made->verdicts_.push_back(judge(list, set.taints));
  tolerations_.insert_or_assign(std::move(text), made);
  return made;
}

// ---- selectors

std::shared_ptr<const NodeMatch> ClusterState::node_match(
    const std::string& text, std::function<bool(const Node&)> predicate) {
  if (const auto known = matches_.find(text); known != matches_.end())
    if (auto alive = known->second.lock()) return alive;
  if (matches_.size() % 64 == 63) drop_expired(matches_);
  auto made = std::make_shared<NodeMatch>();
  made->text_ = text;
  made->predicate_ = std::move(predicate);
  made->in_.resize(slots_.size());
  for (std::size_t n = 0; n < slots_.size(); ++n)
    made->in_[n] = slots_[n].node && made->predicate_(*slots_[n].node) ? 1 : 0;
  matches_.insert_or_assign(text, made);
  return made;
}

void ClusterState::update_matches(NodeId id, const Node* node) {
  for (auto& [text, weak] : matches_)
    if (const auto match = weak.lock()) {
      if (index(id) >= match->in_.size()) match->in_.resize(slots_.size());
      match->in_[index(id)] = node != nullptr && match->predicate_(*node) ? 1 : 0;
    }
}

// ---- images

void ClusterState::enter_images(NodeId id, const Node& node) {
  if (node.images.empty()) return;
  for (const NodeImage& image : node.images) {
    ImageState& state = images_[image.name];
    if (state.nodes.empty()) state.bytes = image.bytes;  // k8s 1.36: the first report stays
    if (std::find(state.nodes.rbegin(), state.nodes.rend(), id) == state.nodes.rend())
      state.nodes.push_back(id);
    state.mark(id, true);
  }
  ++images_epoch_;
}

void ClusterState::leave_images(NodeId id, const Node& node) {
  slot(id).images.clear();
  slot(id).images_epoch = 0;
  if (node.images.empty()) return;
  for (const NodeImage& image : node.images) {
    const auto known = images_.find(image.name);
    if (known == images_.end()) continue;  // the name stood there twice
    std::vector<NodeId>& nodes = known->second.nodes;
    if (const auto at = std::find(nodes.begin(), nodes.end(), id); at != nodes.end()) {
      *at = nodes.back();
      nodes.pop_back();
      known->second.mark(id, false);
    }
    if (nodes.empty()) images_.erase(known);
  }
  ++images_epoch_;
}

void ClusterState::freeze_images(NodeSlot& of) {
  if (of.images_epoch == images_epoch_) return;
  of.images_epoch = images_epoch_;
  of.images.clear();
  for (const NodeImage& image : of.node->images) {
    const ImageState& state = images_.find(image.name)->second;
    of.images.push_back({&state, static_cast<std::uint32_t>(state.nodes.size())});
  }
  std::sort(of.images.begin(), of.images.end(),
            [](const FrozenImage& a, const FrozenImage& b) { return a.image < b.image; });
}

ClusterState::Image ClusterState::find_image(std::string_view name) const {
  Image image;
  if (const auto known = images_.find(name); known != images_.end()) {
    image.state_ = &known->second;
    image.on_ = known->second.on;
    image.nodes_ = known->second.nodes;
  }
  return image;
}

std::optional<ImageOnNode> ClusterState::image_on(NodeId id, Image image) const {
  if (!image.on(id)) return std::nullopt;
  const auto* const state = static_cast<const ImageState*>(image.state_);
  const std::vector<FrozenImage>& frozen = slots_[index(id)].images;
  const auto at = std::lower_bound(
      frozen.begin(), frozen.end(), state,
      [](const FrozenImage& entry, const ImageState* of) { return entry.image < of; });
  if (at == frozen.end() || at->image != state) return std::nullopt;
  return ImageOnNode{at->image->bytes, at->nodes};
}

std::optional<ImageOnNode> ClusterState::image_on(NodeId id, std::string_view name) const {
  const Image image = find_image(name);
  return image ? image_on(id, image) : std::nullopt;
}

}  // namespace berth::scheduler
