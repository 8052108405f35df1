// SPDX-License-Identifier: Apache-2.0
// Nothing is created where there is no namespace, or one that is on its way out; and three
// namespaces stay for ever.
#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

class NamespaceLifecycle final : public AdmissionStep {
 public:
  explicit NamespaceLifecycle(const Store& store) : store_(store) {}
  std::string_view name() const override { return "NamespaceLifecycle"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    const bool about_namespaces = call.row.id == kube::kNamespace;
    if (call.operation == Operation::kDelete && about_namespaces &&
        one_of(call.name, {"default", "kube-system", "kube-public"}))
      return tl::unexpected(refusal(call, "this namespace may not be deleted"));
    const std::string& ns = call.request.ns;
    if (ns.empty() || about_namespaces || call.row.id == kube::kLocalSubjectAccessReview)
      return Ok{};
    if (call.operation == Operation::kDelete || call.operation == Operation::kConnect) return Ok{};

    const kube::Object* found = store_.get(kube::kNamespace, {"", ns}, View::kTip);
    if (found == nullptr)
      return tl::unexpected(
          Error{.reason = Reason::kNotFound,
                .message = fmt::format("namespaces {} not found", json::quoted(ns)),
                .about = std::make_shared<const About>(About{.name = ns, .kind = "namespaces"})});
    if (call.operation != Operation::kCreate || !found->status()["phase"].equals("Terminating"))
      return Ok{};
    Error error = refusal(
        call, fmt::format("unable to create new content in namespace {} because it is being "
                          "terminated",
                          ns));
    error.causes.push_back({.reason = "NamespaceTerminating",
                            .message = fmt::format("namespace {} is being terminated", ns),
                            .field = "metadata.namespace"});
    return tl::unexpected(std::move(error));
  }

 private:
  const Store& store_;
};

}  // namespace

Step namespace_lifecycle(const Store& store) { return std::make_unique<NamespaceLifecycle>(store); }

}  // namespace berth::apiserver
