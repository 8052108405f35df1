// SPDX-License-Identifier: Apache-2.0
// Every pod stays five minutes on a node that is not ready or cannot be reached, unless it says
// otherwise.
#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

class DefaultTolerationSeconds final : public AdmissionStep {
 public:
  std::string_view name() const override { return "DefaultTolerationSeconds"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kPod) || call.edit == nullptr) return Ok{};
    if (json::Dict* spec = dict_in(call.edit->body(), "spec")) {
      tolerate(*spec, "node.kubernetes.io/not-ready");
      tolerate(*spec, "node.kubernetes.io/unreachable");
    }
    return Ok{};
  }

 private:
  static void tolerate(json::Dict& spec, std::string_view key) {
    const Peek there = Peek(spec)["tolerations"];
    for (const json::Value& each : there.elements()) {
      const std::string_view its = Peek(each)["key"].text(), effect = Peek(each)["effect"].text();
      if ((its.empty() || its == key) && (effect.empty() || effect == "NoExecute")) return;
    }
    json::Value& list = spec["tolerations"];
    if (!list.is_array()) list.emplace_array();
    json::Dict added(spec.storage());
    added["key"] = bj(key);
    added["operator"] = "Exists";
    added["effect"] = "NoExecute";
    added["tolerationSeconds"] = 300;
    list.get_array().push_back(std::move(added));
  }
};

}  // namespace

Step default_toleration_seconds() { return std::make_unique<DefaultTolerationSeconds>(); }

}  // namespace berth::apiserver
