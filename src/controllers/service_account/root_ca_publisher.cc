// SPDX-License-Identifier: Apache-2.0
// Puts the certificate that proves the API server's identity into every namespace, where pods find
// it.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/registry.h"
#include "json/writer.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kConfigMap;
using kube::kNamespace;

constexpr const char* kName = "kube-root-ca.crt";
constexpr const char* kAnnotation = "kubernetes.io/description";
constexpr const char* kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters.";

void wake_namespace(const View&, const Change& change, std::vector<Key>& wake) {
  const Object& map = change.after != nullptr ? *change.after : *change.before;
  if (map.name() == kName) wake.push_back({"", std::string(map.ns())});
}

class RootCaPublisher final : public Controller {
 public:
  explicit RootCaPublisher(std::string root_ca) : root_ca_(std::move(root_ca)) {}

  Spec spec() const override {
    Spec spec("root-ca-certificate-publisher-controller");
    spec.reconciles(kNamespace).watches(kConfigMap, &wake_namespace);
    spec.creates(kConfigMap).patches(kConfigMap);
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime) const override {
    const Object* ns = view.get(kNamespace, key);
    if (root_ca_.empty() || ns == nullptr || !ns->status()["phase"].equals("Active"))
      return Plan::done();
    const Object* map = view.get(kConfigMap, {key.name, kName});
    if (map == nullptr) {
      if (ends(view.failed())) return Plan().reason("the namespace ends");
      return Plan().create(kConfigMap, {key.name, kName}, document(key.name));
    }
    const json::Slice data = map->member("data");
    const bool described = !map->annotation(kAnnotation).empty();
    if (data.size() == 1 && data["ca.crt"].equals(root_ca_) && described) return Plan::done();
    json::Writer w;
    w.object().member("metadata").object().member("annotations").object();
    w.member(kAnnotation).string(kDescription).end().end().member("data").object();
    for (auto at = data.members().begin(); at != nullptr; ++at)
      if ((*at).key != "ca.crt") w.member((*at).key).null();
    w.member("ca.crt").string(root_ca_).end().end();
    return Plan().patch(*map, w.take());
  }

 private:
  static bool ends(const FailedAction* failed) {
    return failed != nullptr &&
           (failed->error.reason == Reason::kNotFound ||
            std::any_of(failed->error.causes.begin(), failed->error.causes.end(),
                        [](const Cause& cause) { return cause.reason == "NamespaceTerminating"; }));
  }
  std::string document(const std::string& ns) const {
    json::Writer w;
    w.object().member("apiVersion").string("v1").member("kind").string("ConfigMap");
    w.member("metadata").object().member("name").string(kName).member("namespace").string(ns);
    w.member("annotations").object().member(kAnnotation).string(kDescription).end().end();
    w.member("data").object().member("ca.crt").string(root_ca_).end().end();
    return w.take();
  }

  std::string root_ca_;
};

}  // namespace

std::unique_ptr<Controller> make_root_ca_publisher(const ControllerOptions& options) {
  return std::make_unique<RootCaPublisher>(options.root_ca);
}

}  // namespace berth::controllers
