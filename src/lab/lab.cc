// SPDX-License-Identifier: Apache-2.0
#include "lab/lab.h"

#include <algorithm>
#include <utility>

#include "kube/pod_view.h"
#include "lab/kubelet_events.h"
#include "lab/lab_state.h"
#include "lab/objectors.h"

namespace berth::lab {
namespace {

constexpr std::size_t kBatch = 500;          // events read in one turn
constexpr std::size_t kNodesUnderWay = 500;  // created at a time
constexpr Duration kPatience = 1min;         // for an answer

}  // namespace

Lab::Feed::Feed(Lab& lab, kube::KindId kind, void (Lab::*event)(const kube::WatchEvent&),
                void (Lab::*listed)())
    : lab_(lab), kind_(kind), event_(event), listed_(listed) {
  begin();
}

Lab::Feed::~Feed() {
  if (id_ != apiserver::WatchId::kNone) lab_.parts_.store.unwatch(id_);
}

void Lab::Feed::begin() {
  id_ = lab_.parts_.store.watch({.kind = kind_, .initial_events = true, .initial_bookmark = true},
                                *this);
  ready(id_);
}

void Lab::Feed::ready(apiserver::WatchId) {
  if (std::exchange(reading_, true)) return;
  lab_.scope_.post([this] { read(); });
}

void Lab::Feed::read() {
  reading_ = false;
  const apiserver::WatchBatch batch = lab_.parts_.store.read(id_, kBatch);
  for (const kube::WatchEvent& event : batch.events) {
    if (event.type == kube::WatchEvent::Type::kError) continue;
    if (event.type != kube::WatchEvent::Type::kBookmark)
      (lab_.*event_)(event);
    else if (event.initial_events_end)
      (lab_.*listed_)();
  }
  if (batch.end) {  // more happened than is remembered: look at everything anew
    lab_.parts_.store.unwatch(id_);
    return begin();
  }
  if (batch.more) ready(id_);
}

Lab::Lab(Scope& parent, LabParts parts, LabOptions options)
    : scope_(parent.child("lab")),
      parts_(std::move(parts)),
      options_(std::move(options)),
      index_(std::make_unique<Index>()),
      beats_(std::make_unique<Beats>()) {
  beats_->uids = parts_.random.fork("lease-uids");
  if (options_.events)
    events_ = std::make_unique<KubeletEvents>(
        scope_.executor().clock(),
        [this](kube::ApiRequest request, auto then) { send(std::move(request), std::move(then)); });
  scope_.on_close([this] {
    node_feed_.reset();
    pod_feed_.reset();
    objectors_.reset();
    birth_.reset();
  });
}

Lab::~Lab() = default;

Instant Lab::now() const { return scope_.executor().clock().now(); }
WallTime Lab::wall() const { return scope_.executor().clock().wall(); }

void Lab::start(Done<Ok> done) {
  started_ = wall();
  birth_ = std::make_unique<Birth>();
  birth_->done = std::move(done);
  for (const kube::Object& node : options_.given_nodes) birth_->waiting.push_back(node.json());
  for (std::size_t i = 0; i < options_.nodes; ++i) {
    Result<std::string> document = node_json(options_.node, i, options_.nodes, wall());
    if (!document) {
      birth_->done(tl::unexpected(std::move(document.error())));
      birth_.reset();
      return;
    }
    birth_->waiting.push_back(std::move(*document));
  }
  objectors_ = std::make_unique<Objectors>(parts_.store);
  node_feed_ = std::make_unique<Feed>(*this, kube::kNode, &Lab::on_node, &Lab::on_nodes_listed);
  pod_feed_ = std::make_unique<Feed>(*this, kube::kPod, &Lab::on_pod, &Lab::on_pods_listed);
  create_next();
}

void Lab::create_next() {
  while (!birth_->waiting.empty() && birth_->under_way < kNodesUnderWay) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kCreate;
    request.kind = kube::kNode;
    request.body.bytes = std::make_shared<const std::string>(std::move(birth_->waiting.front()));
    birth_->waiting.pop_front();
    ++birth_->under_way;
    send(std::move(request), [this](Result<kube::ApiReply> reply) {
      if (birth_ == nullptr) return;
      --birth_->under_way;
      // A lab that starts again finds its nodes.
      if (!reply && reply.error().reason != Reason::kAlreadyExists && !birth_->failure)
        birth_->failure = std::move(reply.error());
      create_next();
    });
  }
  if (birth_->under_way > 0) return;
  if (birth_->failure)
    birth_->done(tl::unexpected(std::move(*birth_->failure)));
  else
    birth_->done(Ok{});
  birth_.reset();
}

void Lab::send(kube::ApiRequest request, Fn<void(Result<kube::ApiReply>)> then) {
  request.user = options_.user;
  request.options.field_manager = "kubelet";
  parts_.api.handle(
      std::move(request),
      scope_.done<kube::ApiReply>(
          kPatience, [this, then = std::move(then)](Result<kube::ApiReply> reply) mutable {
            ++(reply ? writes_ : refused_);
            then(std::move(reply));
          }));
}

std::uint32_t Lab::node_row(std::string_view name, bool make) {
  const auto found = index_->nodes.find(name);
  if (found != index_->nodes.end()) return found->second;
  if (!make) return kNoRow;
  const auto row = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  index_->node_names.emplace_back(name);
  index_->nodes.emplace(name, row);
  return row;
}

std::uint32_t Lab::pod_row(std::string_view ns, std::string_view name) const {
  std::string key;
  key.reserve(ns.size() + name.size() + 1);
  ((key += ns) += '/') += name;
  const auto found = index_->pods.find(key);
  return found == index_->pods.end() ? kNoRow : found->second;
}

namespace {
void sort_by_key(std::vector<kube::Object>& objects) {
  std::sort(objects.begin(), objects.end(), [](const kube::Object& a, const kube::Object& b) {
    return a.ns() != b.ns() ? a.ns() < b.ns() : a.name() < b.name();
  });
}
}  // namespace

std::vector<kube::Object> Lab::beating_nodes() const {
  std::vector<kube::Object> out;
  for (const NodeRow& row : nodes_)
    if (beats(row)) out.push_back(row.node);
  sort_by_key(out);
  return out;
}

bool Lab::is_beating(std::string_view node) const {
  const auto found = index_->nodes.find(node);
  return found != index_->nodes.end() && beats(nodes_[found->second]);
}

std::vector<kube::Object> Lab::pods_on(std::string_view node) const {
  std::vector<kube::Object> out;
  const auto found = index_->nodes.find(node);
  if (found == index_->nodes.end()) return out;
  for (std::uint32_t pod = nodes_[found->second].first_pod; pod != kNoRow; pod = pods_[pod].next)
    out.push_back(pods_[pod].pod);
  sort_by_key(out);
  return out;
}

std::vector<kube::Object> Lab::pods_in(std::string_view ns) const {
  std::vector<kube::Object> out;
  for (const PodRow& row : pods_)
    if (row.pod.valid() && (ns.empty() || row.pod.ns() == ns)) out.push_back(row.pod);
  sort_by_key(out);
  return out;
}

bool Lab::busy() const {
  if (birth_ != nullptr || !index_->flaps.empty()) return true;
  return std::any_of(pods_.begin(), pods_.end(), [](const PodRow& row) {
    return row.pod.valid() && (row.writing || row.timer != TimerId::kNone);
  });
}

LabCounts Lab::counts() const {
  LabCounts counts;
  for (const NodeRow& row : nodes_) {
    if (!row.managed) continue;
    ++counts.nodes;
    if (!beats(row)) ++counts.silent_nodes;
  }
  for (const PodRow& row : pods_) {
    if (!row.pod.valid() || !nodes_[row.node].managed) continue;
    ++counts.pods;
    const json::Slice phase = row.pod.status()["phase"];
    if (row.pod.deleting())
      ++counts.stopping;
    else if (phase.equals("Running"))
      ++counts.running;
    else if (phase.equals("Succeeded") || phase.equals("Failed"))
      ++counts.finished;
    else
      ++counts.pending;
  }
  counts.writes = writes_;
  counts.refused = refused_;
  counts.renewals = renewals_;
  return counts;
}

}  // namespace berth::lab
