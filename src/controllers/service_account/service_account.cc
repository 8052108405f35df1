// SPDX-License-Identifier: Apache-2.0
// Gives every namespace the ServiceAccount that its pods run under unless they name another.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kNamespace;
using kube::kServiceAccount;

constexpr const char* kDefault = "default";

void wake_namespace(const View&, const Change& change, std::vector<Key>& wake) {
  if (change.after == nullptr && change.before->name() == kDefault)
    wake.push_back({"", std::string(change.before->ns())});
}

bool namespace_ends(const FailedAction* failed) {
  return failed != nullptr &&
         std::any_of(failed->error.causes.begin(), failed->error.causes.end(),
                     [](const Cause& cause) { return cause.reason == "NamespaceTerminating"; });
}

class ServiceAccount final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("serviceaccount-controller");
    spec.reconciles(kNamespace).watches(kServiceAccount, &wake_namespace).creates(kServiceAccount);
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime) const override {
    const Object* ns = view.get(kNamespace, key);
    if (ns == nullptr || !ns->status()["phase"].equals("Active")) return Plan::done();
    const Key account{key.name, kDefault};
    if (view.get(kServiceAccount, account) != nullptr) return Plan::done();
    if (namespace_ends(view.failed())) return Plan().reason("the namespace ends");
    return Plan().create(
        kServiceAccount, account,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"{}","namespace":"{}"}}}})",
            account.name, account.ns));
  }
};

}  // namespace

std::unique_ptr<Controller> make_service_account() { return std::make_unique<ServiceAccount>(); }

}  // namespace berth::controllers
