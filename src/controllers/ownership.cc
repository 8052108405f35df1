// SPDX-License-Identifier: Apache-2.0
#include "controllers/ownership.h"

#include <algorithm>

#include "controllers/pods.h"
#include "json/writer.h"

namespace berth::controllers {

using kube::LabelSelector;
using kube::Object;
using runtime::Key;
using runtime::Plan;
using runtime::View;

namespace {

constexpr const char* kLive = "live owner";

std::string owner_patch(const Object& object, const Object& owner, bool owned,
                        std::string_view finalizer) {
  json::Writer w;
  w.object().member("metadata").object().member("ownerReferences").array();
  for (const json::Slice one : object.metadata()["ownerReferences"].elements())
    if (!one["uid"].equals(owner.uid())) w.raw(one.raw());
  if (owned) w.raw(controller_ref(owner));
  w.end();
  if (!finalizer.empty()) {
    w.member("finalizers").array();
    for (const std::string& one : object.finalizers())
      if (one != finalizer) w.string(one);
    if (owned) w.string(finalizer);
    w.end();
  }
  w.end().end();
  return w.take();
}

}  // namespace

std::vector<std::string> orphan_namespace(const Object& object) {
  if (object.controller()) return {};
  return {std::string(object.ns())};
}

runtime::Spec& index_owned(runtime::Spec& spec, kube::KindId kind) {
  return spec.index_by_controller(kind).index(kind, kOrphans, &orphan_namespace);
}

Result<LabelSelector> selector_of(const Object& owner) {
  const json::Slice selector = owner.member("spec")["selector"];
  if (owner.kind() == kube::kReplicationController) return LabelSelector::from_labels(selector);
  return LabelSelector::from_json(selector);
}

runtime::Mapping owner_or_selector(kube::KindId owners) {
  const runtime::Mapping to_owner = runtime::owner_of(owners);
  return
      [owners, to_owner](const View& view, const runtime::Change& change, std::vector<Key>& wake) {
        to_owner(view, change, wake);
        const Object* orphan = change.after;  // nobody cares about orphans that go
        if (orphan == nullptr || orphan->controller()) return;
        // Only what selectors look at matters; status changes of orphans are many.
        if (change.before != nullptr && !change.before->controller() &&
            change.before->labels().raw() == orphan->labels().raw())
          return;
        for (const Object* owner : view.list(owners, orphan->ns())) {
          const auto selector = selector_of(*owner);
          // k8s 1.36: an empty selector chooses no orphan.
          if (selector && !selector->everything() && selector->matches(orphan->labels()))
            wake.push_back(owner->key());
        }
      };
}

Plan with_selector(const Object& of, const std::function<Plan(kube::LabelSelector)>& go_on) {
  auto selector = selector_of(of);
  if (!selector) return Plan().reason("its selector is bad: " + selector.error().message);
  return go_on(std::move(*selector));
}

Claimed claim(const View& view, Plan& plan, const Object& owner, const LabelSelector& selector,
              kube::KindId of, bool (*wanted)(const Object&), std::string_view finalizer) {
  return claim(
      view, plan, owner,
      [&selector](const Object& object) { return selector.matches(object.labels()); }, of, wanted,
      finalizer);
}

Claimed claim(const View& view, Plan& plan, const Object& owner, const Chooses& chooses,
              kube::KindId of, bool (*wanted)(const Object&), std::string_view finalizer) {
  Claimed claimed;
  for (const Object* object : view.by_index(of, runtime::kByController, owner.uid())) {
    if (wanted != nullptr && !wanted(*object)) continue;
    if (chooses(*object)) {
      claimed.objects.push_back(object);
    } else if (!owner.deleting()) {
      plan.patch(*object, owner_patch(*object, owner, false, finalizer));
      claimed.unsettled = true;
    }
  }
  if (owner.deleting()) return claimed;
  const runtime::Answer* live = view.answer(kLive);
  for (const Object* object : view.by_index(of, kOrphans, owner.ns())) {
    if (object->deleting() || (wanted != nullptr && !wanted(*object))) continue;
    if (!chooses(*object)) continue;
    if (live == nullptr) {
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = owner.kind();
      get.ns = owner.ns();
      get.name = owner.name();
      plan.ask(kLive, std::move(get));
      claimed.unsettled = true;
      return claimed;
    }
    const bool alive = !live->error && live->objects.size() == 1 &&
                       live->objects[0].uid() == owner.uid() && !live->objects[0].deleting();
    if (!alive) {  // the cache will show that too; where nobody answered, orphans can wait
      claimed.unsettled |= !live->error || live->error->reason == Reason::kNotFound;
      return claimed;
    }
    plan.patch(*object, owner_patch(*object, owner, true, finalizer));
    claimed.unsettled = true;
  }
  return claimed;
}

}  // namespace berth::controllers
