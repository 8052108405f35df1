// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/case.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "kube/kind.h"
#include "scheduler/cache/budget_state.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/storage_state.h"

namespace berth::scheduler {

void CaseNominations::add(PodPtr pod) {
  for (auto at = by_node_.begin(); at != by_node_.end();) {
    std::erase_if(at->second, [&](const PodPtr& other) { return other->uid == pod->uid; });
    at = at->second.empty() ? by_node_.erase(at) : std::next(at);
  }
  if (pod->nominated_node_name.empty() || !pod->spec->gates.empty()) return;
  by_node_[pod->nominated_node_name].push_back(std::move(pod));
}

std::vector<PodPtr> CaseNominations::on(std::string_view node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? std::vector<PodPtr>() : found->second;
}

std::vector<std::string> CaseNominations::nodes() const {
  std::vector<std::string> names;
  for (const auto& [node, pods] : by_node_) names.push_back(node);
  return names;
}

namespace {

// Reads the members of one case; the first error stays.
class Reader {
 public:
  explicit Reader(json::Slice document) : document_(document) {}

  // Calls f(object) for every element of a list that may be absent or null.
  template <class F>
  void each(std::string_view list, kube::KindId kind, F&& f) {
    known_.push_back(list);
    const json::Slice all = document_[list];
    if (error_ || !all || all.is_null()) return;
    if (!all.is_array()) return fail(std::string(list), "must be a list of objects");
    std::size_t i = 0;
    for (const json::Slice element : all.elements()) {
      one(fmt::format("{}[{}]", list, i++), kind, element, f);
      if (error_) return;
    }
  }
  template <class F>
  void member(std::string_view name, kube::KindId kind, F&& f) {
    if (error_) return;
    if (!document_[name]) return fail(std::string(name), "is missing; a case needs it");
    one(std::string(name), kind, document_[name], f);
  }
  // To be called when all lists were read: whatever was not asked for is a mistake.
  void nothing_but(std::vector<std::string_view> others) {
    known_.insert(known_.end(), others.begin(), others.end());
    for (const auto& [key, value] : document_.members()) {
      if (error_) return;
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::string_view near = nearest(key, known_);
      fail(std::string(key),
           near.empty() ? "a case has no such member; remove it"
                        : fmt::format("a case has no such member; did you mean \"{}\"?", near));
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class F>
  void one(const std::string& place, kube::KindId kind, json::Slice element, F&& f) {
    if (!element.is_object()) return fail(place, "must be an object");
    Result<kube::Object> object = kube::Object::parse(kind, element.raw());
    if (!object) return fail(place, object.error().message);
    if (object->name().empty()) return fail(place, "metadata.name: is missing");
    if (Result<Ok> taken = f(*object); !taken) fail(place, taken.error().message);
  }
  void fail(const std::string& place, std::string_view what) {
    error_ = Error{.reason = Reason::kInvalid, .message = fmt::format("{}: {}", place, what)};
  }

  json::Slice document_;
  std::vector<std::string_view> known_;  // lists that were asked for
  std::optional<Error> error_;
};

}  // namespace

Result<Case> read_case(std::string_view json) {
  if (const Result<Ok> good = json::check(json); !good) {
    std::string_view what = good.error().message;
    if (what.starts_with("line 1, ")) what.remove_prefix(8);  // the caller knows which line it is
    return invalid(fmt::format("{}; a case is one JSON object on one line", what));
  }
  const json::Slice document(json);
  if (!document.is_object()) return invalid("a case is one JSON object on one line");
  if (!document["id"].is_string()) return invalid("id: a case has one, a string");

  Case problem{.id = document["id"].text(),
               .cluster = std::make_unique<ClusterState>(),
               .pending = {},
               .nominated = {}};
  ClusterState& cluster = *problem.cluster;
  PodCompiler compiler;
  Reader reader(document);
  using kube::Object;
  reader.each("namespaces", kube::kNamespace, [&](const Object& object) -> Result<Ok> {
    cluster.put_namespace(std::string(object.name()), compiler.labels(object.labels()));
    return Ok{};
  });
  reader.each("nodes", kube::kNode, [&](const Object& object) -> Result<Ok> {
    Result<NodePtr> node = Node::compile(object);
    if (!node) return tl::unexpected(std::move(node.error()));
    if (cluster.node_id((*node)->name) != NodeId::kNone)
      return invalid(fmt::format("metadata.name: {} is there twice", (*node)->name));
    cluster.put_node(*std::move(node));
    return Ok{};
  });
  reader.each("pods", kube::kPod, [&](const Object& object) -> Result<Ok> {
    Result<PodPtr> pod = compiler.compile(object);
    if (!pod) return tl::unexpected(std::move(pod.error()));
    if ((*pod)->uid.empty()) return invalid("metadata.uid: is missing");
    if (!(*pod)->assigned()) return invalid("spec.nodeName: is missing; only `pending` has none");
    if ((*pod)->finished) return Ok{};  // k8s 1.36: the scheduler does not see these
    if (cluster.add_pod(*std::move(pod)) != ClusterState::Added::kNew)
      return invalid(fmt::format("metadata.uid: {} is there twice", object.uid()));
    return Ok{};
  });
  const auto store = [&](const Object& object) -> Result<Ok> {
    cluster.storage().put(object);
    return Ok{};
  };
  reader.each("storageClasses", kube::kStorageClass, store);
  reader.each("persistentVolumes", kube::kPersistentVolume, store);
  reader.each("persistentVolumeClaims", kube::kPersistentVolumeClaim, store);
  reader.each("csiNodes", kube::kCsiNode, store);
  reader.each("csiDrivers", kube::kCsiDriver, store);
  reader.each("csiStorageCapacities", kube::kCsiStorageCapacity, store);
  reader.each("volumeAttachments", kube::kVolumeAttachment, store);
  const auto own = [&](const Object& object) -> Result<Ok> {
    cluster.owners().put(object);
    return Ok{};
  };
  reader.each("services", kube::kService, own);
  reader.each("replicationControllers", kube::kReplicationController, own);
  reader.each("replicaSets", kube::kReplicaSet, own);
  reader.each("statefulSets", kube::kStatefulSet, own);
  reader.each("podDisruptionBudgets", kube::kPodDisruptionBudget,
              [&](const Object& object) -> Result<Ok> {
                cluster.budgets().put(object);
                return Ok{};
              });
  reader.each("nominated", kube::kPod, [&](const Object& object) -> Result<Ok> {
    Result<PodPtr> pod = compiler.compile(object);
    if (!pod) return tl::unexpected(std::move(pod.error()));
    problem.nominated.add(*std::move(pod));
    return Ok{};
  });
  reader.nothing_but({"id", "profile", "pending"});
  reader.member("pending", kube::kPod, [&](const Object& object) -> Result<Ok> {
    Result<PodPtr> pod = compiler.compile(object);
    if (!pod) return tl::unexpected(std::move(pod.error()));
    problem.pending = *std::move(pod);
    return Ok{};
  });
  if (reader.error()) return tl::unexpected(*reader.error());
  return problem;
}

PodPtr taken_off(ClusterState& cluster, const PodPtr& pod) {
  if (!pod->assigned()) return pod;
  cluster.remove_pod(pod->uid);
  auto unplaced = std::make_shared<Pod>(*pod);
  unplaced->node_name.clear();
  unplaced->nominated_node_name.clear();
  return unplaced;
}

}  // namespace berth::scheduler
