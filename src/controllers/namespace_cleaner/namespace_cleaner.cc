// SPDX-License-Identifier: Apache-2.0
// Empties a namespace that is being deleted and lets it go. Whatever is in it is found by asking
// the server, which alone knows what kinds there are today: pods go first, then the rest, and only
// what was seen to be empty is let go. Each step asks for what the next one has to know; a process
// that starts anew begins with the first.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/namespace_cleaner/content.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/namespace_view.h"
#include "kube/time.h"
#include "runtime/controller.h"
#include "runtime/served_kinds.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kNamespace;
using kube::kPod;
using namespaces::Content;

// k8s 1.36: time for others to hear that nothing may be made in the namespace any more.
constexpr Duration kGrace = 5s;
constexpr const char* kFinalizer = "kubernetes";
constexpr const char *kApi = "/api", *kApis = "/apis", *kPodsBefore = "pods before",
                     *kPodsErased = "pods erased", *kPodsLeft = "pods left", *kEmpty = "empty";

std::string question(const char* what, KindId id) {
  const kube::Kind& kind = kube::kind_of(id);
  return fmt::format("{} {}.{}", what, kind.plural, kind.group);
}

// One run for one namespace.
class Run {
 public:
  Run(const View& view, const Object& ns, WallTime now)
      : view_(view), ns_(ns), now_(now), name_(ns.name()), content_(name_, *ns.deleted(), now) {}

  Plan plan() {
    if (const Answer* live = view_.answer(kEmpty)) return let_go(*live);
    const Answer* api = view_.answer(kApi);
    const Answer* apis = view_.answer(kApis);
    if (api == nullptr || apis == nullptr) return ask_kinds();
    discover(*api, *apis);
    const bool pods = std::any_of(kinds_.begin(), kinds_.end(),
                                  [](const ServedKind& one) { return one.kind == kPod; });
    if (pods && view_.answer(kPodsLeft) == nullptr) return erase_pods();
    if (pods && content_.judge(kPod, view_.answer(kPodsErased), view_.answer(kPodsLeft),
                               view_.answer(kPodsBefore)) > 0)
      return report();
    std::erase_if(kinds_, [](const ServedKind& one) { return one.kind == kPod; });
    for (const ServedKind& one : kinds_)
      if (view_.answer(question("left", one.kind)) == nullptr && one.can("list"))
        return erase_others();
    for (const ServedKind& one : kinds_)
      if (one.can("deletecollection") || !erase_each(one.kind))
        content_.judge(one.kind, view_.answer(question("erased", one.kind)),
                       view_.answer(question("left", one.kind)));
    if (!plan_.empty()) return plan_.again_at(now_ + 1s);
    content_.total();
    return report();
  }

 private:
  Plan ask_kinds() {
    for (const char* root : {kApi, kApis}) plan_.ask(root, discovery_request(root));
    return std::move(plan_);
  }

  void discover(const Answer& api, const Answer& apis) {
    if (api.error || apis.error)
      return content_.discovery_failed((api.error ? api : apis).error->message);
    auto served = served_kinds(api.text, apis.text);
    if (!served) return content_.discovery_failed(served.error().message);
    if (!served->stale.empty()) content_.discovery_failed(namespaces::stale_message(served->stale));
    for (ServedKind& one : served->kinds)
      if (kube::kind_of(one.kind).namespaced && one.can("delete")) kinds_.push_back(std::move(one));
  }

  void list(std::string name, KindId kind) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kList;
    request.kind = kind;
    request.ns = name_;
    plan_.ask(std::move(name), std::move(request));
  }

  Plan erase_pods() {
    list(kPodsBefore, kPod);
    plan_.erase_all(kPodsErased, kPod, name_);
    list(kPodsLeft, kPod);
    return ask_kinds();
  }

  Plan erase_others() {
    for (const ServedKind& one : kinds_) {
      if (one.can("deletecollection"))
        plan_.erase_all(question("erased", one.kind), one.kind, name_);
      if (one.can("list")) list(question("left", one.kind), one.kind);
    }
    list(kPodsLeft, kPod);  // there were none, and there must be none now
    return ask_kinds();
  }

  bool erase_each(KindId kind) {
    const Answer* left = view_.answer(question("left", kind));
    if (left == nullptr) return false;
    bool any = false;
    for (const Object& object : left->objects)
      if (!object.deleting()) {
        plan_.erase(object, kube::Propagation::kBackground, Pin::kUid);
        any = true;
      }
    return any;
  }

  Plan report() {
    StatusDraft status(ns_.status());
    status.text("phase", "Terminating");
    Conditions conditions(status["conditions"]);
    content_.write(conditions);
    status.raw("conditions", conditions.json());
    plan_.set_status(ns_, status.json());
    // k8s 1.36: a namespace that has changed is looked at again after the same grace.
    if (!plan_.empty() && !content_.clean()) plan_.again_at(now_ + kGrace);
    if (content_.clean()) {
      // What is there to be let go is read again, for the revision that this status gave it.
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = kNamespace;
      get.name = name_;
      plan_.ask(kEmpty, std::move(get));
    } else if (content_.failing()) {
      plan_.again_at(now_ + patience(conditions));
    } else {
      plan_.again_at(now_ + std::chrono::seconds(content_.estimate() / 2 + 1));
    }
    return std::move(plan_);
  }

  // The longer it has failed, the longer the next try waits: up to a minute.
  Duration patience(const Conditions& conditions) const {
    Duration longest = 1s;
    for (const char* type :
         {"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure"})
      if (conditions.holds(type))
        if (const auto since = kube::parse_time(conditions.find(type)->last_transition))
          longest = std::max(longest, now_ - *since);
    return std::min<Duration>(longest, 1min);
  }

  Plan let_go(const Answer& live) {
    // Another namespace of that name, or none: the cache will show it.
    if (live.error || live.objects.size() != 1 || live.objects[0].uid() != ns_.uid())
      return Plan().again_at(now_ + 1s);
    const Object& object = live.objects[0];
    std::vector<std::string> finalizers;
    for (const json::Slice one : kube::NamespaceView(object).finalizers().elements())
      if (!one.equals(kFinalizer)) finalizers.push_back(one.text());
    std::sort(finalizers.begin(), finalizers.end());
    json::Writer w;
    w.object().member("apiVersion").string("v1").member("kind").string("Namespace");
    w.member("metadata").raw(object.metadata().raw());
    w.member("spec").object().member("finalizers").array();
    for (const std::string& one : finalizers) w.string(one);
    w.end().end().end();
    return Plan().update_part(object, "finalize", w.take());
  }

  const View& view_;
  const Object& ns_;
  WallTime now_;
  std::string name_;
  Content content_;
  std::vector<ServedKind> kinds_;
  Plan plan_;
};

// What this controller writes itself tells it nothing.
void wake_deleted(const View&, const Change& change, std::vector<Key>& wake) {
  const Object* after = change.after;
  if (after == nullptr || !after->deleting()) return;
  const bool seen = change.before != nullptr && change.before->deleting() &&
                    change.before->member("spec").raw() == after->member("spec").raw();
  if (!seen) wake.push_back(after->key());
}

class NamespaceCleaner final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("namespace-controller");
    spec.reconciles(kNamespace, &wake_deleted).patches_status(kNamespace);
    spec.updates_part(kNamespace, "finalize");
    spec.any_kind({"get", "list", "delete", "deletecollection"});
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* ns = view.get(kNamespace, key);
    if (ns == nullptr || !ns->deleting()) return Plan::done();
    if (kube::NamespaceView(*ns).finalizers().size() == 0) return Plan::done();
    const WallTime due = *ns->deleted() + kGrace;
    if (now < due) return Plan().again_at(due);
    return Run(view, *ns, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_namespace_cleaner() {
  return std::make_unique<NamespaceCleaner>();
}

}  // namespace berth::controllers
