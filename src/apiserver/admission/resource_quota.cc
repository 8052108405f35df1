// SPDX-License-Identifier: Apache-2.0
// Nothing is created beyond what the quotas of its namespace leave. What is allowed is reserved in
// the quotas' status in the same turn, so that two requests never share what is left; a controller
// counts anew what was reserved in vain.
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "apiserver/kinds/rules.h"
#include "json/writer.h"
#include "kube/quota.h"

namespace berth::apiserver {

namespace {

using kube::ResourceList;

// "count/pods=1,pods=1"
std::string text(const ResourceList& list, const std::vector<std::string>& names) {
  std::string out;
  for (const auto& [name, amount] : list) {
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    if (!out.empty()) out += ',';
    out += name + "=" + amount.text();
  }
  return out;
}

struct Quota {
  explicit Quota(kube::Object of)
      : object(std::move(of)),
        hard(kube::parse_resource_list(object.status()["hard"], "").value_or(ResourceList())),
        used(kube::parse_resource_list(object.status()["used"], "").value_or(ResourceList())) {
    for (const auto& [name, amount] : hard) names.push_back(name);
  }
  kube::Object object;
  ResourceList hard, used;
  std::vector<std::string> names;  // of hard
};

class ResourceQuota final : public AdmissionStep {
 public:
  explicit ResourceQuota(Store& store) : store_(store) {}
  std::string_view name() const override { return "ResourceQuota"; }

  Result<Ok> validate(AdmissionCall& call) override {
    if (call.edit == nullptr || call.request.ns.empty() || ignored(call.row.kind)) return Ok{};
    if (call.operation != Operation::kCreate && call.operation != Operation::kUpdate) return Ok{};
    std::vector<Quota> quotas;
    for (kube::Object& each : all_at_tip(store_, kube::kResourceQuota, call.request.ns))
      quotas.emplace_back(std::move(each));
    if (quotas.empty()) return Ok{};
    const kube::Object object = written(call);
    const kube::Verb verb =
        call.operation == Operation::kCreate ? kube::Verb::kCreate : kube::Verb::kUpdate;
    if (!kube::quota_handles(verb, call.request.subresource, object, call.old)) return Ok{};
    return check(call, object, quotas);
  }

 private:
  static bool ignored(const kube::Kind& kind) {
    return one_of(kind.plural, {"events", "bindings", "componentstatuses"}) ||
           one_of(kind.group, {"authentication.k8s.io", "authorization.k8s.io"});
  }

  Result<Ok> check(AdmissionCall& call, const kube::Object& object, std::vector<Quota>& quotas) {
    const kube::QuotaSurroundings around = surroundings(call);
    std::vector<Quota*> interested;
    for (Quota& quota : quotas) {
      const auto matches = kube::quota_matches(quota.object, object, around);
      if (!matches) return tl::unexpected(matches.error());
      if (!*matches) continue;
      const std::vector<std::string> counted =
          kube::quota_tracked(object.kind(), quota.names, around);
      if (const auto stated = kube::quota_constraints(counted, object); !stated)
        return tl::unexpected(refusal(call, fmt::format("failed quota: {}: {}", quota.object.name(),
                                                        stated.error().message)));
      if (std::any_of(counted.begin(), counted.end(),
                      [&](const std::string& each) { return !quota.used.contains(each); }))
        return tl::unexpected(
            refusal(call, fmt::format("status unknown for quota: {}, resources: {}",
                                      quota.object.name(), fmt::join(counted, ","))));
      interested.push_back(&quota);
    }
    if (interested.empty()) return Ok{};

    const auto usage = kube::quota_usage(object, around);
    if (!usage) return tl::unexpected(usage.error());
    std::vector<std::string> negative;
    for (const auto& [name, amount] : *usage)
      if (amount.sign() < 0) negative.push_back(name);
    if (!negative.empty())
      return tl::unexpected(refusal(call, fmt::format("quota usage is negative for resource(s): {}",
                                                      fmt::join(negative, ","))));
    std::vector<std::pair<Quota*, ResourceList>> changed;
    for (Quota* quota : interested) {
      auto delta = added(call, *quota, *usage, around);
      if (!delta) return tl::unexpected(delta.error());
      if (delta->empty()) continue;
      auto next = within(call, *quota, *delta);
      if (!next) return tl::unexpected(next.error());
      changed.emplace_back(quota, std::move(*next));
    }
    // k8s 1.36: a dry run reserves nothing.
    if (!call.request.options.dry_run)
      for (const auto& [quota, used] : changed) reserve(*quota, used);
    return Ok{};
  }

  // What the request adds to a quota: of an update only the difference to what was counted there.
  static Result<ResourceList> added(AdmissionCall& call, const Quota& quota,
                                    const ResourceList& usage,
                                    const kube::QuotaSurroundings& around) {
    ResourceList delta = usage;
    if (call.operation == Operation::kUpdate && call.old.valid()) {
      const auto matched = kube::quota_matches(quota.object, call.old, around);
      if (!matched) return tl::unexpected(matched.error());
      if (*matched) {
        const auto before = kube::quota_usage(call.old, around);
        if (!before) return tl::unexpected(before.error());
        for (auto& [name, amount] : delta)
          if (const auto was = before->find(name); was != before->end()) amount -= was->second;
      }
    }
    std::erase_if(delta, [](const auto& each) { return each.second.sign() <= 0; });
    return delta;
  }

  // The new usage.
  static Result<ResourceList> within(AdmissionCall& call, const Quota& quota,
                                     const ResourceList& delta) {
    ResourceList requested, next = quota.used;
    std::vector<std::string> exceeded;
    for (const auto& [name, amount] : delta) {
      const auto bound = quota.hard.find(name);
      if (bound == quota.hard.end()) continue;
      requested[name] = amount;
      kube::Quantity& sum = next[name];
      sum += amount;
      if (sum > bound->second) exceeded.push_back(name);
    }
    // k8s 1.36: what a status says has happened already.
    if (exceeded.empty() || call.request.subresource == "status") return next;
    return tl::unexpected(
        refusal(call, fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                                  quota.object.name(), text(requested, exceeded),
                                  text(quota.used, exceeded), text(quota.hard, exceeded))));
  }

  void reserve(const Quota& quota, const ResourceList& used) {
    json::Writer w;
    w.object().member("hard").raw(quota.object.status()["hard"].raw()).member("used").object();
    for (const auto& [name, amount] : used) w.member(name).string(amount.text());
    w.end().end();
    store_.write({.kind = kube::kResourceQuota,
                  .key = quota.object.key(),
                  .expect = Write::Expect::kPresent,
                  .next =
                      [object = quota.object, status = w.take()](kube::Revision revision) {
                        return object.next(revision, {.status = status});
                      }},
                 {});
  }

  kube::QuotaSurroundings surroundings(const AdmissionCall& call) const {
    kube::QuotaSurroundings around{.now = call.now};
    if (call.row.id != kube::kResourceClaim) return around;
    for (const kube::Object& each : all_at_tip(store_, kube::kDeviceClass))
      if (const json::Slice name = each.member("spec")["extendedResourceName"])
        around.device_classes.emplace(std::string(each.name()), name.text());
    around.charged_to_pod = [this, now = call.now](const kube::Object& claim) -> ResourceList {
      const auto owner = claim.controller();
      if (!owner || owner->kind != "Pod" || owner->api_version != "v1") return {};
      const kube::Object* pod = store_.get(kube::kPod, {claim.ns(), owner->name}, View::kTip);
      const std::vector<kube::Object> claims = all_at_tip(store_, kube::kResourceClaim, claim.ns());
      std::vector<const kube::Object*> owned;
      for (const kube::Object& each : claims)
        if (const auto its = each.controller(); its && its->uid == owner->uid)
          owned.push_back(&each);
      return kube::claim_pod_usage(claim, pod == nullptr ? kube::Object() : *pod, owned, now);
    };
    return around;
  }

  Store& store_;
};

}  // namespace

Step resource_quota(Store& store) { return std::make_unique<ResourceQuota>(store); }

}  // namespace berth::apiserver
