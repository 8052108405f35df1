// SPDX-License-Identifier: Apache-2.0
// Keeps pods and claims within the LimitRanges of their namespace, and gives containers the
// defaults that these have.
#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "kube/resource_list.h"

namespace berth::apiserver {

namespace {

using kube::Quantity;
using kube::ResourceList;
constexpr std::int64_t kMostInMillis = INT64_MAX / 1000;

ResourceList amounts(json::Slice list) {
  return kube::parse_resource_list(list, "").value_or(ResourceList());
}

// Three amounts on one scale: milli-units unless one is too large.
struct Scaled {
  Scaled(const Quantity& a, const Quantity& b, const Quantity& c)
      : request(a.value()), limit(b.value()), bound(c.value()) {
    if (request > kMostInMillis || limit > kMostInMillis || bound > kMostInMillis) return;
    request = a.milli_value();
    limit = b.milli_value();
    bound = c.milli_value();
  }
  std::int64_t request, limit, bound;
};

class Check {
 public:
  Check(std::string_view type, std::vector<std::string>& problems)
      : type_(type), problems_(problems) {}

  void all(json::Slice limit, const ResourceList& requests, const ResourceList& limits) {
    for (const auto& [name, bound] : amounts(limit["min"])) minimum(name, bound, requests, limits);
    for (const auto& [name, bound] : amounts(limit["max"])) maximum(name, bound, requests, limits);
    for (const auto& [name, bound] : amounts(limit["maxLimitRequestRatio"]))
      ratio(name, bound, requests, limits);
  }
  // Claims have no limits.
  void claim(json::Slice limit, const ResourceList& requests) {
    for (const auto& [name, bound] : amounts(limit["min"])) minimum(name, bound, requests, {});
    for (const auto& [name, bound] : amounts(limit["max"])) {
      const auto request = requests.find(name);
      if (request == requests.end())
        tell("maximum {} usage per {} is {}.  No request is specified", name, type_, bound.text());
      else if (const Scaled s(request->second, {}, bound); s.request > s.bound)
        tell("maximum {} usage per {} is {}, but request is {}", name, type_, bound.text(),
             request->second.text());
    }
  }

 private:
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  struct Found {
    Found(const std::string& name, const ResourceList& requests, const ResourceList& limits) {
      if (const auto at = requests.find(name); at != requests.end()) request = &at->second;
      if (const auto at = limits.find(name); at != limits.end()) limit = &at->second;
    }
    Scaled against(const Quantity& bound) const {
      return {request != nullptr ? *request : Quantity(), limit != nullptr ? *limit : Quantity(),
              bound};
    }
    const Quantity* request = nullptr;
    const Quantity* limit = nullptr;
  };

  void minimum(const std::string& name, const Quantity& bound, const ResourceList& requests,
               const ResourceList& limits) {
    const Found found(name, requests, limits);
    const Scaled s = found.against(bound);
    if (found.request == nullptr)
      tell("minimum {} usage per {} is {}.  No request is specified", name, type_, bound.text());
    else if (s.request < s.bound)
      tell("minimum {} usage per {} is {}, but request is {}", name, type_, bound.text(),
           found.request->text());
    else if (found.limit != nullptr && s.limit < s.bound)
      tell("minimum {} usage per {} is {}, but limit is {}", name, type_, bound.text(),
           found.limit->text());
  }
  void maximum(const std::string& name, const Quantity& bound, const ResourceList& requests,
               const ResourceList& limits) {
    const Found found(name, requests, limits);
    const Scaled s = found.against(bound);
    if (found.limit == nullptr)
      tell("maximum {} usage per {} is {}.  No limit is specified", name, type_, bound.text());
    else if (s.limit > s.bound)
      tell("maximum {} usage per {} is {}, but limit is {}", name, type_, bound.text(),
           found.limit->text());
    else if (found.request != nullptr && s.request > s.bound)
      tell("maximum {} usage per {} is {}, but request is {}", name, type_, bound.text(),
           found.request->text());
  }
  void ratio(const std::string& name, const Quantity& bound, const ResourceList& requests,
             const ResourceList& limits) {
    const Found found(name, requests, limits);
    const Scaled s = found.against(bound);
    if (s.request == 0)
      return tell(
          "{} max limit to request ratio per {} is {}, but no request is specified or "
          "request is 0",
          name, type_, bound.text());
    if (s.limit == 0)
      return tell(
          "{} max limit to request ratio per {} is {}, but no limit is specified or limit is 0",
          name, type_, bound.text());
    const double given = static_cast<double>(s.limit) / static_cast<double>(s.request);
    const bool fine = bound.value() <= kMostInMillis;
    const double most = static_cast<double>(fine ? bound.milli_value() : bound.value());
    if (given * (fine ? 1000 : 1) > most)
      tell("{} max limit to request ratio per {} is {}, but provided ratio is {:f}", name, type_,
           bound.text(), given);
  }

  std::string_view type_;
  std::vector<std::string>& problems_;
};

// What a whole pod asks for, without overhead: its containers together, or an init container with
// the sidecars before it where that is more; what is stated for the pod as a whole comes first.
ResourceList pod_total(json::Slice spec, std::string_view which) {
  ResourceList total, sidecars, most;
  for (const json::Slice each : spec["containers"].elements())
    kube::add(total, amounts(each["resources"][which]));
  for (const json::Slice each : spec["initContainers"].elements()) {
    ResourceList own = amounts(each["resources"][which]);
    if (each["restartPolicy"].equals("Always")) {
      kube::add(total, own);
      kube::add(sidecars, own);
      own = sidecars;
    } else {
      kube::add(own, sidecars);
    }
    kube::raise_to(most, own);
  }
  kube::raise_to(total, most);
  for (auto& [name, amount] : amounts(spec["resources"][which]))
    if (name == "cpu" || name == "memory") total[name] = amount;
  return total;
}

std::vector<std::string> problems_of_pod(const kube::Object& pod, json::Slice limits) {
  std::vector<std::string> problems;
  const json::Slice spec = pod.member("spec");
  for (const json::Slice limit : limits.elements()) {
    if (limit["type"].equals("Container")) {
      for (const std::string_view list : {"containers", "initContainers"})
        for (const json::Slice each : spec[list].elements())
          Check("Container", problems)
              .all(limit, amounts(each["resources"]["requests"]),
                   amounts(each["resources"]["limits"]));
    } else if (limit["type"].equals("Pod")) {
      Check("Pod", problems).all(limit, pod_total(spec, "requests"), pod_total(spec, "limits"));
    }
  }
  return problems;
}

std::vector<std::string> problems_of_claim(const kube::Object& claim, json::Slice limits) {
  std::vector<std::string> problems;
  for (const json::Slice limit : limits.elements())
    if (limit["type"].equals("PersistentVolumeClaim"))
      Check("PersistentVolumeClaim", problems)
          .claim(limit, amounts(claim.member("spec")["resources"]["requests"]));
  return problems;
}

// Writes the defaults that are missing, and what was written: "cpu, memory".
std::string fill_missing(json::Dict& resources, std::string_view which,
                         const ResourceList& defaults) {
  std::string filled;
  for (const auto& [name, amount] : defaults) {
    json::Dict& list = make_dict(resources, which);
    if (list.contains(bj(name))) continue;
    list[bj(name)] = bj(amount.text());
    filled += (filled.empty() ? "" : ", ") + name;
  }
  return filled;
}

class LimitRanger final : public AdmissionStep {
 public:
  explicit LimitRanger(const Store& store) : store_(store) {}
  std::string_view name() const override { return "LimitRanger"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!concerns(call) || call.row.id != kube::kPod) return Ok{};
    for (const kube::Object& range : ranges(call)) give_defaults(call, range);
    return Ok{};
  }

  Result<Ok> validate(AdmissionCall& call) override {
    if (!concerns(call)) return Ok{};
    const std::vector<kube::Object> found = ranges(call);
    if (found.empty()) return Ok{};
    const kube::Object object = written(call);
    for (const kube::Object& range : found) {
      const json::Slice limits = range.member("spec")["limits"];
      const std::vector<std::string> problems = call.row.id == kube::kPod
                                                    ? problems_of_pod(object, limits)
                                                    : problems_of_claim(object, limits);
      if (!problems.empty()) return tl::unexpected(refusal(call, aggregate_text(problems)));
    }
    return Ok{};
  }

 private:
  static bool concerns(const AdmissionCall& call) {
    if (call.edit == nullptr || (call.old.valid() && call.old.deleting())) return false;
    // k8s 1.36: containers of a pod never change but by its resize subresource.
    if (call.row.id == kube::kPod)
      return call.operation == Operation::kCreate
                 ? call.request.subresource.empty()
                 : call.operation == Operation::kUpdate && call.request.subresource == "resize";
    return call.is(kube::kPersistentVolumeClaim) && call.operation != Operation::kDelete;
  }
  std::vector<kube::Object> ranges(const AdmissionCall& call) const {
    return all_at_tip(store_, kube::kLimitRange, call.request.ns);
  }

  static void give_defaults(AdmissionCall& call, const kube::Object& range) {
    ResourceList requests, limits;
    for (const json::Slice limit : range.member("spec")["limits"].elements()) {
      if (!limit["type"].equals("Container")) continue;
      for (auto& [name, amount] : amounts(limit["defaultRequest"])) requests[name] = amount;
      for (auto& [name, amount] : amounts(limit["default"])) limits[name] = amount;
    }
    json::Dict* spec = dict_in(call.edit->body(), "spec");
    if (spec == nullptr) return;
    std::vector<std::string> done;
    for (const auto& [list, what] :
         {std::pair("containers", "container"), std::pair("initContainers", "init container")})
      each_dict(*spec, list, [&, what = what](json::Dict& container) {
        json::Dict& resources = make_dict(container, "resources");
        const std::string of{Peek(container)["name"].text()};
        const std::string limited = fill_missing(resources, "limits", limits);
        const std::string requested = fill_missing(resources, "requests", requests);
        if (!requested.empty())
          done.push_back(fmt::format("{} request for {} {}", requested, what, of));
        if (!limited.empty()) done.push_back(fmt::format("{} limit for {} {}", limited, what, of));
      });
    if (done.empty()) return;
    make_dict(call.edit->metadata(), "annotations")["kubernetes.io/limit-ranger"] =
        bj(fmt::format("LimitRanger plugin set: {}", fmt::join(done, "; ")));
  }

  const Store& store_;
};

}  // namespace

Step limit_ranger(const Store& store) { return std::make_unique<LimitRanger>(store); }

}  // namespace berth::apiserver
