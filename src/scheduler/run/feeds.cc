// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/feeds.h"

#include <algorithm>

#include "kube/kind.h"
#include "scheduler/cache/budget_state.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/storage_state.h"

namespace berth::scheduler {
namespace {

const kube::KindId* const kOtherKinds[] = {
    &kube::kNamespace,
    &kube::kService,
    &kube::kReplicationController,
    &kube::kReplicaSet,
    &kube::kStatefulSet,
    &kube::kPodDisruptionBudget,
    &kube::kPersistentVolume,
    &kube::kPersistentVolumeClaim,
    &kube::kStorageClass,
    &kube::kCsiNode,
    &kube::kCsiDriver,
    &kube::kCsiStorageCapacity,
    &kube::kVolumeAttachment,
};

}  // namespace

std::vector<kube::KindId> other_kinds() {
  std::vector<kube::KindId> kinds;
  for (const kube::KindId* kind : kOtherKinds) kinds.push_back(*kind);
  return kinds;
}

void apply_object(ClusterState& cluster, const kube::Object& before, const kube::Object& after) {
  const bool gone = !after.valid();
  const kube::Object& object = gone ? before : after;
  const kube::KindId kind = object.kind();
  if (kind == kube::kNamespace) {
    if (gone)
      cluster.remove_namespace(object.name());
    else
      cluster.put_namespace(std::string(object.name()),
                            std::make_shared<Labels>(Labels::from_json(object.labels())));
  } else if (kind == kube::kPodDisruptionBudget) {
    gone ? cluster.budgets().remove(object) : cluster.budgets().put(object);
  } else if (kind == kube::kService || kind == kube::kReplicationController ||
             kind == kube::kReplicaSet || kind == kube::kStatefulSet) {
    gone ? cluster.owners().remove(object) : cluster.owners().put(object);
  } else {
    gone ? cluster.storage().remove(object) : cluster.storage().put(object);
  }
}

Feeds::Feeds(Scope& scope, client::Transport& transport, Random random, Logger log,
             KeptDocuments kept)
    : scope_(scope),
      transport_(transport),
      random_(random),
      log_(std::move(log)),
      kept_(kept),
      compiler_({.keep_documents = kept.pods}) {
  for (const kube::KindId* kind : kOtherKinds)
    others_.push_back(std::make_unique<client::Informer<>>(
        scope_, transport_, random_.fork(kube::kind_of(*kind).plural),
        options_of(*kind, client::Keep::kDocument)));
  nodes_ = std::make_unique<client::Informer<NodePtr>>(
      scope_, transport_, random_.fork("nodes"), options_of(kube::kNode, client::Keep::kCompiled),
      [this](const kube::Object& object) {
        Result<NodePtr> node = Node::compile(object, kept_.nodes);
        if (node) return *node;
        log_.error("node cannot be read and is left out",
                   {{"node", object.name()}, {"error", node.error()}});
        return NodePtr();
      });
  pods_ = std::make_unique<client::Informer<PodPtr>>(
      scope_, transport_, random_.fork("pods"), options_of(kube::kPod, client::Keep::kCompiled),
      [this](const kube::Object& object) {
        Result<PodPtr> pod = compiler_.compile(object);
        if (pod) return *pod;
        log_.error("pod cannot be read and is left out",
                   {{"pod", object.key().text()}, {"error", pod.error()}});
        return PodPtr();
      });
}

Feeds::~Feeds() = default;

client::InformerOptions Feeds::options_of(kube::KindId kind, client::Keep keep) const {
  client::InformerOptions options;
  options.feed.kind = kind;
  options.keep = keep;
  if (kind == kube::kPod) options.feed.field_selector = kLivePods;
  return options;
}

template <class T>
void Feeds::watch(client::Informer<T>& informer, const std::string& name) {
  missing_.push_back(name);
  informer.on_synced([this, name] {
    missing_.erase(std::find(missing_.begin(), missing_.end(), name));
    if (missing_.empty() && synced_) synced_();
  });
  informer.start();
}

void Feeds::start(Task synced) {
  synced_ = std::move(synced);
  started_ = true;
  for (std::size_t i = 0; i < others_.size(); ++i)
    watch(*others_[i], kube::kind_of(*kOtherKinds[i]).plural);
  watch(*nodes_, "nodes");
  watch(*pods_, "pods");
}

void Feeds::attach(FeedHandler& handler, Task caught_up) {
  // In this order: a pod is judged by its namespace and its node.
  for (const auto& informer : others_)
    informer->add_handler(
        {.added = [&handler](const kube::Object& object) { handler.object_changed({}, object); },
         .updated = [&handler](
                        const kube::Object& before,
                        const kube::Object& after) { handler.object_changed(before, after); },
         .deleted = [&handler](const kube::Object& last) { handler.object_changed(last, {}); }});
  // A null is an object that could not be read.
  nodes_->add_handler({.added =
                           [&handler](const NodePtr& node) {
                             if (node) handler.node_added(node);
                           },
                       .updated =
                           [&handler](const NodePtr& before, const NodePtr& after) {
                             if (before && after)
                               handler.node_updated(before, after);
                             else if (after)
                               handler.node_added(after);
                             else if (before)
                               handler.node_deleted(before);
                           },
                       .deleted =
                           [&handler](const NodePtr& last) {
                             if (last) handler.node_deleted(last);
                           }});
  pods_->add_handler({.added =
                          [&handler](const PodPtr& pod) {
                            if (pod) handler.pod_added(pod);
                          },
                      .updated =
                          [&handler](const PodPtr& before, const PodPtr& after) {
                            if (before && after)
                              handler.pod_updated(before, after);
                            else if (after)
                              handler.pod_added(after);
                            else if (before)
                              handler.pod_deleted(before);
                          },
                      .deleted =
                          [&handler](const PodPtr& last) {
                            if (last) handler.pod_deleted(last);
                          }});
  scope_.post(std::move(caught_up));
}

}  // namespace berth::scheduler
