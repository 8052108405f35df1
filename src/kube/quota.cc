// SPDX-License-Identifier: Apache-2.0
#include "kube/quota.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kube/label_selector.h"
#include "kube/names.h"
#include "kube/pod_requests.h"

namespace berth::kube {
namespace {

constexpr std::string_view kRequests = "requests.";
constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kDeviceClass = "deviceclass.resource.kubernetes.io/";
constexpr std::string_view kImplicitClaims = "requests.deviceclass.resource.kubernetes.io/";
constexpr std::string_view kDevices = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view kByStorageClass = ".storageclass.storage.k8s.io/";
constexpr std::int64_t kMostDevices = 32;  // k8s 1.36: AllocationResultsMaxSize

constexpr std::string_view kPodNames[] = {
    "cpu",          "memory",          "ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    "limits.cpu",   "limits.memory",   "limits.ephemeral-storage",
    "pods"};
// k8s 1.36: what each container has to state where a quota counts it.
constexpr std::string_view kToBeStated[] = {"cpu",    "limits.cpu",   "limits.memory",
                                            "memory", "requests.cpu", "requests.memory"};
constexpr std::string_view kCountedByName[] = {"configmaps", "resourcequotas",
                                               "replicationcontrollers", "secrets"};

enum class Sort { kPod, kService, kVolumeClaim, kResourceClaim, kOther };

Sort sort_of(KindId id) {
  const Kind& kind = kind_of(id);
  if (kind.group == "resource.k8s.io" && kind.plural == "resourceclaims")
    return Sort::kResourceClaim;
  if (!kind.group.empty()) return Sort::kOther;
  if (kind.plural == "pods") return Sort::kPod;
  if (kind.plural == "services") return Sort::kService;
  if (kind.plural == "persistentvolumeclaims") return Sort::kVolumeClaim;
  return Sort::kOther;
}

template <class List>
bool contains(const List& list, std::string_view one) {
  return std::find(std::begin(list), std::end(list), one) != std::end(list);
}

bool native(std::string_view resource) {
  return resource.find('/') == std::string_view::npos ||
         resource.find("kubernetes.io/") != std::string_view::npos;
}
bool extended_for_quota(std::string_view name) {
  return name.starts_with(kRequests) && (!native(name) || name.starts_with(kImplicitClaims));
}
// As it stands in a container.
bool extended(std::string_view name) {
  if (name.starts_with(kDeviceClass)) return true;
  if (native(name) || name.starts_with(kRequests)) return false;
  return check_qualified_name(fmt::format("{}{}", kRequests, name)).empty();
}

Quantity one() { return Quantity::of(1); }

ResourceList compute_usage(const ResourceList& requests, const ResourceList& limits) {
  ResourceList usage;
  usage["pods"] = one();
  for (const char* name : {"cpu", "memory", "ephemeral-storage"}) {
    if (const auto found = requests.find(name); found != requests.end()) {
      usage[name] = found->second;
      usage[fmt::format("{}{}", kRequests, name)] = found->second;
    }
    if (const auto found = limits.find(name); found != limits.end())
      usage[fmt::format("limits.{}", name)] = found->second;
  }
  for (const auto& [name, amount] : requests) {
    const bool huge = name.starts_with(kHugePages);
    if (huge) usage[name] = amount;
    if (huge || extended(name)) usage[fmt::format("{}{}", kRequests, name)] = amount;
  }
  return usage;
}

Result<ResourceList> pod_usage(const Object& pod, WallTime now) {
  ResourceList usage;
  usage["count/pods"] = one();
  if (!quota_counts_pod(pod, now)) return usage;
  auto requests = pod_requests(pod, {.pod_level_resize = false});
  if (!requests) return tl::unexpected(requests.error());
  auto limits = pod_limits(pod);
  if (!limits) return tl::unexpected(limits.error());
  add(usage, compute_usage(*requests, *limits));
  return usage;
}

ResourceList service_usage(const Object& service) {
  const json::Slice spec = service.member("spec");
  const bool balanced = spec["type"].equals("LoadBalancer");
  std::int64_t ports = 0;
  if (balanced || spec["type"].equals("NodePort")) {
    // Ports are not given yet when this is asked: what is wanted counts.
    const bool only_stated = balanced && spec["allocateLoadBalancerNodePorts"].is_bool() &&
                             !spec["allocateLoadBalancerNodePorts"].boolean();
    for (const json::Slice port : spec["ports"].elements())
      if (!only_stated || port["nodePort"].integer().value_or(0) != 0) ++ports;
  }
  return {{"count/services", one()},
          {"services", one()},
          {"services.loadbalancers", Quantity::of(balanced ? 1 : 0)},
          {"services.nodeports", Quantity::of(ports)}};
}

Quantity whole(const Quantity& amount) {
  const Quantity rounded = Quantity::of(amount.value(), amount.format());
  return rounded == amount ? amount : rounded;
}

Result<ResourceList> volume_claim_usage(const Object& claim) {
  const json::Slice spec = claim.member("spec");
  const json::Slice annotated = claim.annotations()["volume.beta.kubernetes.io/storage-class"];
  const std::string storage_class =
      annotated.present() ? annotated.text() : spec["storageClassName"].text();
  ResourceList usage = {{"persistentvolumeclaims", one()}, {"count/persistentvolumeclaims", one()}};
  const auto by_class = [&](std::string_view name) {
    return fmt::format("{}{}{}", storage_class, kByStorageClass, name);
  };
  if (!storage_class.empty()) usage[by_class("persistentvolumeclaims")] = one();
  const json::Slice requested = spec["resources"]["requests"]["storage"];
  if (!requested.present()) return usage;
  auto storage = Quantity::from_json(requested);
  if (!storage) return tl::unexpected(storage.error());
  Quantity counted = whole(*storage);
  const json::Slice allocated = claim.status()["allocatedResources"]["storage"];
  if (allocated.present()) {
    auto amount = Quantity::from_json(allocated);
    if (!amount) return tl::unexpected(amount.error());
    if (*amount > counted) counted = whole(*amount);
  }
  usage["requests.storage"] = counted;
  if (!storage_class.empty()) usage[by_class("requests.storage")] = counted;
  return usage;
}

std::int64_t devices(json::Slice request) {
  if (request["allocationMode"].equals("ExactCount")) return request["count"].integer().value_or(0);
  // k8s 1.36: the worst case; a mode that is not known counts nothing.
  return request["allocationMode"].equals("All") ? kMostDevices : 0;
}

ResourceList resource_claim_usage(const Object& claim, const QuotaSurroundings& around) {
  ResourceList usage = {{"count/resourceclaims.resource.k8s.io", one()}};
  ResourceList by_class;
  const auto name_of = [](json::Slice request) {
    return fmt::format("{}{}", request["deviceClassName"].text(), kDevices);
  };
  for (const json::Slice request : claim.member("spec")["devices"]["requests"].elements()) {
    ResourceList most;
    if (request["firstAvailable"].size() > 0) {
      for (const json::Slice alternative : request["firstAvailable"].elements()) {
        const Quantity amount = Quantity::of(devices(alternative));
        Quantity& so_far = most[name_of(alternative)];
        if (amount > so_far) so_far = amount;
      }
      // A class of which none is asked is not counted at all.
      std::erase_if(most, [](const auto& one_of) { return one_of.second.is_zero(); });
    } else if (request["exactly"].is_object()) {
      most[name_of(request["exactly"])] = Quantity::of(devices(request["exactly"]));
    }
    add(by_class, most);
  }
  const ResourceList charged =
      around.charged_to_pod ? around.charged_to_pod(claim) : ResourceList{};
  ResourceList more;
  for (const auto& [name, amount] : by_class) {
    const std::string device_class = name.substr(0, name.size() - kDevices.size());
    if (device_class.empty()) continue;
    more[fmt::format("{}{}", kImplicitClaims, device_class)] = amount;
    const auto extended_name = around.device_classes.find(device_class);
    if (extended_name != around.device_classes.end())
      more[fmt::format("{}{}", kRequests, extended_name->second)] = amount;
  }
  for (auto& [name, amount] : more) {
    if (const auto found = charged.find(name); found != charged.end()) amount -= found->second;
    if (amount.sign() > 0) usage[name] = amount;
  }
  add(usage, by_class);
  return usage;
}

bool terminating(const Object& pod) {
  const auto deadline = pod.member("spec")["activeDeadlineSeconds"].integer();
  return deadline && *deadline >= 0;
}

bool states_compute(json::Slice resources) {
  for (const char* list : {"requests", "limits"})
    for (const char* name : {"cpu", "memory"})
      if (const auto amount = Quantity::from_json(resources[list][name]);
          amount && amount->sign() > 0)
        return true;
  return false;
}

bool best_effort(const Object& pod) {
  const json::Slice stated = pod.status()["qosClass"];
  if (stated.present() && !stated.equals("")) return stated.equals("BestEffort");
  const json::Slice spec = pod.member("spec");
  if (spec["resources"].is_object()) return !states_compute(spec["resources"]);
  for (const char* list : {"containers", "initContainers"})
    for (const json::Slice container : spec[list].elements())
      if (states_compute(container["resources"])) return false;
  return true;
}

bool looks_abroad(const Object& pod) {
  const auto abroad = [](json::Slice term) {
    return term["namespaces"].size() > 0 || term["namespaceSelector"].is_object();
  };
  for (const char* which : {"podAffinity", "podAntiAffinity"}) {
    const json::Slice affinity = pod.member("spec")["affinity"][which];
    for (const json::Slice term :
         affinity["requiredDuringSchedulingIgnoredDuringExecution"].elements())
      if (abroad(term)) return true;
    for (const json::Slice term :
         affinity["preferredDuringSchedulingIgnoredDuringExecution"].elements())
      if (abroad(term["podAffinityTerm"])) return true;
  }
  return false;
}

std::set<std::string> attribute_classes(const Object& claim) {
  std::set<std::string> names;
  for (const json::Slice name :
       {claim.member("spec")["volumeAttributesClassName"],
        claim.status()["currentVolumeAttributesClassName"],
        claim.status()["modifyVolumeStatus"]["targetVolumeAttributesClassName"]})
    if (std::string text = name.text(); !text.empty()) names.insert(std::move(text));
  return names;
}

// Of one label, the scope's name, that has one of the values.
Result<bool> any_matches(const QuotaScope& scope, const std::set<std::string>& values) {
  if (scope.op == "Exists") return !values.empty();
  Requirement::Op op = Requirement::Op::kDoesNotExist;
  if (scope.op == "In") {
    op = Requirement::Op::kIn;
  } else if (scope.op == "NotIn") {
    op = Requirement::Op::kNotIn;
  } else if (scope.op != "DoesNotExist") {
    return invalid(fmt::format("\"{}\" is not a valid scope selector operator", scope.op));
  }
  const auto row = Requirement::make(scope.name, op, scope.values);
  if (!row) return invalid("failed to parse and convert selector: " + row.error().message);
  if (values.empty()) return row->matches(std::nullopt);
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& value) { return row->matches(value); });
}

bool states_pod_level(const Object& pod) {
  const json::Slice resources = pod.member("spec")["resources"];
  for (const char* list : {"requests", "limits"})
    for (auto at = resources[list].members().begin(); at != nullptr; ++at) {
      const std::string_view name = (*at).key;
      if (name == "cpu" || name == "memory" || name.starts_with(kHugePages)) return true;
    }
  return false;
}

bool resized(json::Slice before, json::Slice after) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"})
    for (const json::Slice was : before[list].elements())
      for (const json::Slice is : after[list].elements())
        if (is["name"].equals(was["name"].text()) &&
            is["resources"].raw() != was["resources"].raw())
          return true;
  return false;
}

}  // namespace

std::string quota_count_name(KindId id) {
  const Kind& kind = kind_of(id);
  return kind.group.empty() ? "count/" + kind.plural
                            : fmt::format("count/{}.{}", kind.plural, kind.group);
}

bool quota_tracks(KindId kind, std::string_view resource, const QuotaSurroundings& around) {
  if (resource == quota_count_name(kind)) return true;
  switch (sort_of(kind)) {
    case Sort::kPod:
      return contains(kPodNames, resource) || resource.starts_with(kHugePages) ||
             resource.starts_with("requests.hugepages-") || extended_for_quota(resource);
    case Sort::kService:
      return resource == "services" || resource == "services.nodeports" ||
             resource == "services.loadbalancers";
    case Sort::kVolumeClaim:
      return resource == "persistentvolumeclaims" || resource == "requests.storage" ||
             resource.ends_with(".storageclass.storage.k8s.io/persistentvolumeclaims") ||
             resource.ends_with(".storageclass.storage.k8s.io/requests.storage");
    case Sort::kResourceClaim: {
      if (resource.ends_with(kDevices)) return true;
      if (resource.starts_with(kImplicitClaims) &&
          around.device_classes.count(resource.substr(kImplicitClaims.size())) > 0)
        return true;
      return extended_for_quota(resource) &&
             std::any_of(
                 around.device_classes.begin(), around.device_classes.end(),
                 [&](const auto& of) { return of.second == resource.substr(kRequests.size()); });
    }
    case Sort::kOther:
      return kind_of(kind).group.empty() && resource == kind_of(kind).plural &&
             contains(kCountedByName, resource);
  }
  return false;
}

std::vector<std::string> quota_tracked(KindId kind, const std::vector<std::string>& resources,
                                       const QuotaSurroundings& around) {
  std::vector<std::string> tracked;
  for (const std::string& resource : resources)
    if (quota_tracks(kind, resource, around)) tracked.push_back(resource);
  return tracked;
}

std::vector<QuotaScope> quota_scopes(const Object& quota) {
  std::vector<QuotaScope> scopes;
  const json::Slice spec = quota.member("spec");
  for (const json::Slice name : spec["scopes"].elements())
    scopes.push_back({name.text(), "Exists"});
  for (const json::Slice row : spec["scopeSelector"]["matchExpressions"].elements()) {
    QuotaScope scope{row["scopeName"].text(), row["operator"].text()};
    for (const json::Slice value : row["values"].elements()) scope.values.push_back(value.text());
    scopes.push_back(std::move(scope));
  }
  return scopes;
}

Result<bool> quota_scope_holds(const QuotaScope& scope, const Object& object) {
  const Sort sort = sort_of(object.kind());
  if (sort == Sort::kVolumeClaim && scope.name == "VolumeAttributesClass")
    return any_matches(scope, attribute_classes(object));
  if (sort != Sort::kPod) return false;
  if (scope.name == "Terminating") return terminating(object);
  if (scope.name == "NotTerminating") return !terminating(object);
  if (scope.name == "BestEffort") return best_effort(object);
  if (scope.name == "NotBestEffort") return !best_effort(object);
  if (scope.name == "CrossNamespacePodAffinity") return looks_abroad(object);
  if (scope.name != "PriorityClass") return false;
  std::set<std::string> names;
  if (std::string name = object.member("spec")["priorityClassName"].text(); !name.empty())
    names.insert(std::move(name));
  return any_matches(scope, names);
}

Result<bool> quota_matches(const Object& quota, const Object& object,
                           const QuotaSurroundings& around) {
  bool all = true;
  for (const QuotaScope& scope : quota_scopes(quota)) {
    const Result<bool> holds = quota_scope_holds(scope, object);
    if (!holds) return holds;
    all = all && *holds;
  }
  if (!all) return false;
  for (auto at = quota.status()["hard"].members().begin(); at != nullptr; ++at)
    if (quota_tracks(object.kind(), (*at).key, around)) return true;
  return false;
}

Result<ResourceList> quota_usage(const Object& object, const QuotaSurroundings& around) {
  switch (sort_of(object.kind())) {
    case Sort::kPod:
      return pod_usage(object, around.now);
    case Sort::kService:
      return service_usage(object);
    case Sort::kVolumeClaim:
      return volume_claim_usage(object);
    case Sort::kResourceClaim:
      return resource_claim_usage(object, around);
    case Sort::kOther:
      break;
  }
  ResourceList usage = {{quota_count_name(object.kind()), one()}};
  const Kind& kind = kind_of(object.kind());
  if (kind.group.empty() && contains(kCountedByName, kind.plural)) usage[kind.plural] = one();
  return usage;
}

Result<Ok> quota_constraints(const std::vector<std::string>& required, const Object& object) {
  if (sort_of(object.kind()) != Sort::kPod || states_pod_level(object)) return Ok{};
  std::map<std::string, std::set<std::string>> missing;  // containers by resource
  for (const char* list : {"containers", "initContainers"})
    for (const json::Slice container : object.member("spec")[list].elements()) {
      const json::Slice resources = container["resources"];
      auto requests = parse_resource_list(resources["requests"], "resources.requests");
      if (!requests) return tl::unexpected(requests.error());
      auto limits = parse_resource_list(resources["limits"], "resources.limits");
      if (!limits) return tl::unexpected(limits.error());
      const ResourceList stated = compute_usage(*requests, *limits);
      for (const std::string& name : required)
        if (contains(kToBeStated, name) && stated.count(name) == 0)
          missing[name].insert(container["name"].text());
    }
  if (missing.empty()) return Ok{};
  std::string message = "must specify ";
  for (const auto& [name, containers] : missing)
    message += fmt::format("{}{} for: {}", message.ends_with(' ') ? "" : "; ", name,
                           fmt::join(containers, ","));
  return fail(Reason::kForbidden, std::move(message));
}

bool quota_handles(Verb verb, std::string_view subresource, const Object& object,
                   const Object& old) {
  const bool create = verb == Verb::kCreate;
  switch (sort_of(object.kind())) {
    case Sort::kPod:
      if (subresource == "resize") return !create;
      if (!subresource.empty()) return false;
      return create || (old.valid() && terminating(old) != terminating(object));
    case Sort::kVolumeClaim:
      // k8s 1.36: there two pointers are compared, which always differ.
      return subresource.empty() || (subresource == "status" && !create);
    case Sort::kService:
    case Sort::kResourceClaim:
      return subresource.empty();
    case Sort::kOther:
      break;
  }
  return subresource.empty() && create;
}

bool quota_counts_pod(const Object& pod, WallTime now) {
  const json::Slice phase = pod.status()["phase"];
  if (phase.equals("Failed") || phase.equals("Succeeded")) return false;
  const auto deleted = pod.deleted();
  const auto grace = pod.metadata()["deletionGracePeriodSeconds"].integer();
  return !deleted || !grace || now <= *deleted + std::chrono::seconds(*grace);
}

bool quota_replenished(const Object& before, const Object& after, WallTime now) {
  switch (sort_of(after.kind())) {
    case Sort::kPod:
      return resized(before.status(), after.status()) ||
             terminating(before) != terminating(after) ||
             (quota_counts_pod(before, now) && !quota_counts_pod(after, now));
    case Sort::kService: {
      const auto sort = [](const Object& service) {
        std::string type = service.member("spec")["type"].text();
        return type == "NodePort" || type == "LoadBalancer" ? type : "";
      };
      return sort(before) != sort(after);
    }
    case Sort::kVolumeClaim:
      return before.status()["allocatedResources"]["storage"].raw() !=
                 after.status()["allocatedResources"]["storage"].raw() ||
             attribute_classes(before) != attribute_classes(after);
    case Sort::kResourceClaim:
    case Sort::kOther:
      break;
  }
  return false;
}

ResourceList claim_pod_usage(const Object& claim, const Object& pod,
                             const std::vector<const Object*>& owned, WallTime now) {
  if (claim.annotation("resource.kubernetes.io/extended-resource-claim") != "true") return {};
  const auto owner = claim.controller();
  if (!owner || owner->kind != "Pod" || owner->api_version != "v1") return {};
  if (!pod.valid() || pod.uid() != owner->uid) return {};
  const json::Slice stated = pod.status()["extendedResourceClaimStatus"];
  if (stated.is_object()) {
    if (!stated["resourceClaimName"].equals(claim.name())) return {};
  } else {
    // The pod does not say which claim is its own yet: the first one made.
    for (const Object* other : owned) {
      const auto mine = claim.created().value_or(WallTime{});
      const auto theirs = other->created().value_or(WallTime{});
      if (theirs < mine || (theirs == mine && other->name() < claim.name())) return {};
    }
  }
  return pod_usage(pod, now).value_or(ResourceList{});
}

}  // namespace berth::kube
