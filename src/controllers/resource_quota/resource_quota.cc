// SPDX-License-Identifier: Apache-2.0
// Counts what quotas are about. What is made is counted by admission as it is admitted; here it is
// counted anew when something goes or shrinks, and when a quota says something else.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/status.h"
#include "json/writer.h"
#include "kube/quota.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kResourceQuota;
using kube::ResourceList;

// k8s 1.36: how long a count that admission has written may be wrong. It is not put right at once:
// what was admitted may not be in the caches yet.
constexpr Duration kDrift = 5min;
constexpr const char* kDriftPrefix = "drift of ";

std::string text_of(const ResourceList& list) {
  json::Writer w;
  w.object();
  for (const auto& [name, amount] : list) w.member(name).string(amount.text());
  w.end();
  return w.take();
}

bool same(const ResourceList& a, const ResourceList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second == y.second;
  });
}

// One count of one quota.
class Count {
 public:
  Count(const View& view, const Object& quota, WallTime now)
      : view_(view), quota_(quota), ns_(quota.ns()) {
    around_.now = now;
    if (!view.followed("deviceclasses.resource.k8s.io")) return;
    for (const Object* one : view.list(kube::kDeviceClass))
      if (std::string name = one->member("spec")["extendedResourceName"].text(); !name.empty())
        around_.device_classes.emplace(one->name(), std::move(name));
    around_.charged_to_pod = [this](const Object& claim) { return charged(claim); };
  }

  Result<ResourceList> used(const ResourceList& hard) {
    ResourceList sum, counted;
    for (const KindId kind : view_.followed()) {
      std::vector<std::string> names;
      for (const auto& [name, amount] : hard)
        if (kube::kind_of(kind).namespaced && kube::quota_tracks(kind, name, around_))
          names.push_back(name);
      if (names.empty()) continue;
      for (const std::string& name : names) counted.emplace(name, kube::Quantity::of(0));
      for (const Object* object : view_.list(kind, ns_)) {
        if (!covered(*object)) continue;
        const auto usage = kube::quota_usage(*object, around_);
        if (!usage) return usage;
        kube::add(sum, *usage);
        if (kind == kube::kPod) watch_grace(*object);
      }
    }
    for (auto& [name, amount] : counted)
      if (const auto found = sum.find(name); found != sum.end()) amount += found->second;
    return counted;
  }
  // When a pod that nobody ends will count no longer.
  const std::optional<WallTime>& changes_at() const { return changes_at_; }

 private:
  bool covered(const Object& object) const {
    for (const kube::QuotaScope& scope : kube::quota_scopes(quota_)) {
      const auto holds = kube::quota_scope_holds(scope, object);
      if (!holds || !*holds) return false;
    }
    return true;
  }

  void watch_grace(const Object& pod) {
    const auto deleted = pod.deleted();
    const auto grace = pod.metadata()["deletionGracePeriodSeconds"].integer();
    if (!deleted || !grace || !kube::quota_counts_pod(pod, around_.now)) return;
    const WallTime end = *deleted + std::chrono::seconds(*grace) + 1s;
    changes_at_ = changes_at_ ? std::min(*changes_at_, end) : end;
  }

  ResourceList charged(const Object& claim) const {
    const auto owner = claim.controller();
    if (!owner) return {};
    const Object* pod = view_.get(kube::kPod, {ns_, owner->name});
    std::vector<const Object*> owned;
    for (const Object* other : view_.list(kube::kResourceClaim, ns_))
      if (const auto theirs = other->controller(); theirs && theirs->uid == owner->uid)
        owned.push_back(other);
    return kube::claim_pod_usage(claim, pod == nullptr ? Object() : *pod, owned, around_.now);
  }

  const View& view_;
  const Object& quota_;
  std::string ns_;
  kube::QuotaSurroundings around_;
  std::optional<WallTime> changes_at_;
};

void wake_quotas(const View& view, const Object& object, std::vector<Key>& wake) {
  for (const Object* quota : view.list(kResourceQuota, object.ns()))
    for (auto at = quota->status()["hard"].members().begin(); at != nullptr; ++at)
      if (kube::quota_tracks(object.kind(), (*at).key)) {
        wake.push_back(quota->key());
        break;
      }
}

void wake(const View& view, const Change& change, std::vector<Key>& wake) {
  const Object *before = change.before, *after = change.after;
  const Object& object = after != nullptr ? *after : *before;
  if (object.kind() == kResourceQuota && after != nullptr) {
    const auto differs = [&](json::Slice was, json::Slice is) { return was.raw() != is.raw(); };
    if (before == nullptr || differs(before->member("spec"), after->member("spec")))
      wake.push_back(after->key());
    else if (differs(before->status()["used"], after->status()["used"]))
      wake.push_back({kDriftPrefix + std::string(after->ns()), std::string(after->name())});
  }
  // What is made was counted when it was admitted.
  if (before == nullptr || object.ns().empty()) return;
  if (view.list(kResourceQuota, object.ns()).empty()) return;
  // The time decides only about pods that are past their grace, which a count looks after itself.
  if (after == nullptr || kube::quota_replenished(*before, *after, WallTime{}))
    wake_quotas(view, object, wake);
}

class ResourceQuota final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("resourcequota-controller");
    spec.follows_every_kind(&wake).patches_status(kResourceQuota).reads(kResourceQuota);
    for (const KindId whole : {kube::kPod, kube::kService, kube::kPersistentVolumeClaim,
                               kube::kResourceClaim, kube::kDeviceClass})
      spec.reads(whole);
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const bool drift = key.ns.starts_with(kDriftPrefix);
    const Object* quota =
        view.get(kResourceQuota,
                 drift ? Key{key.ns.substr(std::string_view(kDriftPrefix).size()), key.name} : key);
    Plan plan;
    if (quota == nullptr) return plan;
    const auto hard = kube::parse_resource_list(quota->member("spec")["hard"], "spec.hard");
    if (!hard) return plan.reason(hard.error().message);
    Count count(view, *quota, now);
    auto used = count.used(*hard);
    if (!used) return plan.reason(used.error().message);
    const json::Slice status = quota->status();
    const auto old_hard = kube::parse_resource_list(status["hard"], "status.hard");
    const auto old_used = kube::parse_resource_list(status["used"], "status.used");
    // What nobody here can count keeps the number it has.
    for (const auto& [name, amount] : old_used.value_or(ResourceList{}))
      if (hard->count(name) > 0) used->emplace(name, amount);
    const bool right = status["hard"].present() && status["used"].present() && old_hard &&
                       old_used && same(*old_hard, *hard) && same(*old_used, *used);
    if (!right && drift) {
      if (view.remembered().empty())
        return plan.again_at(now + kDrift).remember(std::to_string((now + kDrift).unix_nanos));
      const WallTime due{std::stoll(std::string(view.remembered()))};
      if (now < due) return plan.again_at(due).remember(std::string(view.remembered()));
    }
    if (!right) {
      StatusDraft next(status);
      next.raw("hard", text_of(*hard)).raw("used", text_of(*used));
      plan.set_status(*quota, next.json());
    }
    if (count.changes_at() && !drift) plan.again_at(*count.changes_at());
    return plan;
  }
};

}  // namespace

std::unique_ptr<Controller> make_resource_quota() { return std::make_unique<ResourceQuota>(); }

}  // namespace berth::controllers
