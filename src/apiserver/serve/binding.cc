// SPDX-License-Identifier: Apache-2.0
// pods/binding, and the older way to do the same: who gives a pod its node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/edit/edit.h"
#include "apiserver/serve/body.h"
#include "apiserver/serve/chain.h"
#include "apiserver/serve/conditions.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

// k8s 1.36: told without a Status of their own, so with 500.
Result<Ok> check_binding(Peek binding) {
  std::vector<std::string> found;
  const std::string_view kind = binding["target"]["kind"].text();
  if (!kind.empty() && kind != "Node")
    found.push_back(
        fmt::format("target.kind: Unsupported value: {}: supported values: \"Node\", \"<empty>\"",
                    json::quoted(kind)));
  if (binding["target"]["name"].text().empty()) found.emplace_back("target.name: Required value");
  if (found.empty()) return Ok{};
  return tl::unexpected(
      plain_error(found.size() == 1 ? found.front() : fmt::format("[{}]", fmt::join(found, ", "))));
}

void merge_texts(Edit& pod, Peek binding, std::string_view field) {
  const Peek given = binding["metadata"][field];
  if (given.size() == 0) return;
  json::Dict& to = make_dict(pod.metadata(), field);
  for (const auto& member : given.members()) to[member.key()] = member.value();
}

// One binding. Kept by what it waits for.
class Binding final : public std::enable_shared_from_this<Binding> {
 public:
  explicit Binding(CallPtr call)
      : call_(std::move(call)),
        core_(call_->core),
        pods_(kube::kind_of(kube::kPod)),
        arena_(core_) {}
  ~Binding() {
    chain_.reset();
    binding_.reset();
  }

  void start() {
    Result<json::Value> read = read_body(*call_, Form::of("v1", "Binding"), *arena_);
    if (!read) return call_->answer(std::move(read.error()));
    binding_.emplace(std::move(*read));
    json::Dict& metadata = make_dict(binding_->as_object(), "metadata");
    const std::string_view ns = Peek(metadata)["namespace"].text();
    if (!ns.empty() && ns != call_->request.ns)
      return call_->answer(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    metadata["namespace"] = call_->request.ns;
    key_ = {call_->request.ns, std::string(Peek(metadata)["name"].text())};
    chain_.emplace(*call_, Operation::kCreate,
                   call_->sub == nullptr ? key_.name : call_->request.name, nullptr, kube::Object(),
                   &*binding_);
    chain_->mutate(
        [self = shared_from_this()](Result<Ok> done) { self->on_mutated(std::move(done)); });
  }

 private:
  void on_mutated(Result<Ok> done) {
    if (!done) return call_->answer(std::move(done.error()));
    if (call_->sub != nullptr && key_.name != call_->request.name)
      return call_->answer(bad_request("name in URL does not match name in Binding object"));
    if (Result<Ok> fine = check_binding(*binding_); !fine)
      return call_->answer(std::move(fine.error()));
    chain_->validate([self = shared_from_this()](Result<Ok> valid) {
      if (!valid) return self->call_->answer(std::move(valid.error()));
      self->assign();
    });
  }

  Result<Ok> check_pod(const kube::Object& pod) const {
    const Peek metadata = Peek(*binding_)["metadata"];
    if (const std::string_view uid = metadata["uid"].text(); !uid.empty() && uid != pod.uid())
      return tl::unexpected(uid_mismatch(pods_, key_, uid, pod.uid()));
    if (const std::string_view revision = metadata["resourceVersion"].text();
        !revision.empty() && revision != std::to_string(pod.revision()))
      return tl::unexpected(storage_conflict(
          pods_, key_,
          fmt::format("Precondition failed: ResourceVersion in precondition: {}, ResourceVersion "
                      "in object meta: {}",
                      revision, pod.revision())));
    kube::Kind told = pods_;
    told.plural = "pods/binding";
    if (pod.deleting())
      return tl::unexpected(conflict(
          told, key_.name,
          fmt::format("pod {} is being deleted, cannot be assigned to a host", key_.name)));
    if (const std::string node = pod.member("spec")["nodeName"].text(); !node.empty())
      return tl::unexpected(conflict(
          told, key_.name,
          fmt::format("pod {} is already assigned to node {}", key_.name, json::quoted(node))));
    if (pod.member("spec")["schedulingGates"].size() > 0)
      return tl::unexpected(conflict(
          told, key_.name, fmt::format("pod {} has non-empty .spec.schedulingGates", key_.name)));
    return Ok{};
  }

  void assign() {
    const kube::Object* pod = core_.store.get(kube::kPod, KeyRef(key_), View::kTip);
    if (pod == nullptr) return call_->answer(not_found(pods_, key_.name));
    if (Result<Ok> may = check_pod(*pod); !may) return call_->answer(std::move(may.error()));
    Edit edit(*pod, *arena_);
    const Peek binding(*binding_);
    make_dict(edit.body(), "spec")["nodeName"] = bj(binding["target"]["name"].text());
    if (edit.status().is_object()) json::erase(edit.status().get_object(), "nominatedNodeName");
    merge_texts(edit, binding, "annotations");
    merge_texts(edit, binding, "labels");
    set_pod_condition(edit, {.type = "PodScheduled", .status = "True"}, core_.wall());
    if (call_->request.options.dry_run) return call_->answer(success({}, 201));
    core_.store.write(
        {.kind = kube::kPod,
         .key = key_,
         .expect = Write::Expect::kPresent,
         .uid = std::string(pod->uid()),
         .revision = pod->revision(),
         .next = [&edit](kube::Revision revision) { return std::move(edit).commit(revision); }},
        core_.scope.done<Committed>(core_.options.request_limit,
                                    [self = shared_from_this()](Result<Committed> done) {
                                      if (!done)
                                        return self->call_->answer(std::move(done.error()));
                                      self->call_->answer(success({}, 201));
                                    }));
  }

  CallPtr call_;
  Core& core_;
  const kube::Kind& pods_;
  Borrowed arena_;
  kube::Key key_;
  std::optional<json::Value> binding_;
  std::optional<Chain> chain_;
};

}  // namespace

void serve_binding(CallPtr call) { std::make_shared<Binding>(std::move(call))->start(); }

}  // namespace berth::apiserver
