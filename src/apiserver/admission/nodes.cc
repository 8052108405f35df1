// SPDX-License-Identifier: Apache-2.0
// Steps about nodes: new ones are not ready yet, and pods learn the topology of theirs.
#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

class TaintNodesByCondition final : public AdmissionStep {
 public:
  std::string_view name() const override { return "TaintNodesByCondition"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kNode) || call.operation != Operation::kCreate || call.edit == nullptr)
      return Ok{};
    json::Dict& spec = make_dict(call.edit->body(), "spec");
    json::Value& taints = spec["taints"];
    if (!taints.is_array()) taints.emplace_array();
    for (const json::Value& each : taints.get_array())
      if (Peek(each)["key"].is(kNotReady) && Peek(each)["effect"].is("NoSchedule")) return Ok{};
    json::Dict taint(spec.storage());
    taint["key"] = bj(kNotReady);
    taint["effect"] = "NoSchedule";
    taints.get_array().push_back(std::move(taint));
    return Ok{};
  }

 private:
  static constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
};

class PodTopologyLabels final : public AdmissionStep {
 public:
  explicit PodTopologyLabels(const Store& store) : store_(store) {}
  std::string_view name() const override { return "PodTopologyLabels"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (call.operation != Operation::kCreate) return Ok{};
    if (call.is(kube::kPod) && call.edit != nullptr) {
      const std::string node(spec_of(call)["nodeName"].text());
      if (!node.empty()) copy(node, call.edit->metadata());
    } else if (call.is(kube::kPod, "binding") && call.posted != nullptr &&
               call.posted->is_object()) {
      const Peek target = Peek(*call.posted)["target"];
      // k8s 1.36: exactly "Node", although an empty kind means the same to the binding.
      if (target["kind"].is("Node"))
        copy(std::string(target["name"].text()), make_dict(call.posted->get_object(), "metadata"));
    }
    return Ok{};
  }

 private:
  void copy(const std::string& node, json::Dict& metadata) const {
    const kube::Object* found = store_.get(kube::kNode, {"", node}, View::kTip);
    if (found == nullptr) return;
    for (const std::string_view key :
         {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"})
      if (const json::Slice value = found->labels()[key])
        make_dict(metadata, "labels")[bj(key)] = bj(value.text());
  }

  const Store& store_;
};

}  // namespace

Step taint_nodes_by_condition() { return std::make_unique<TaintNodesByCondition>(); }
Step pod_topology_labels(const Store& store) { return std::make_unique<PodTopologyLabels>(store); }

}  // namespace berth::apiserver
