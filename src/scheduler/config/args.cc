// SPDX-License-Identifier: Apache-2.0
// pluginConfig: arguments of plugins, with kube-scheduler's defaults and checks.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/names.h"
#include "scheduler/config/parts.h"

namespace berth::scheduler {
namespace {

using json::Slice;

// A value that is none of a few.
std::string unsupported(std::string_view value, const std::vector<std::string_view>& known) {
  std::string list;
  for (const std::string_view name : known)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : name == known.back() ? " or " : ", ", name);
  return fmt::format("{} is not supported; write {}", json::quoted(value), list);
}

void check_range(Fields& in, std::string_view key, std::int64_t value, std::int64_t least,
                 std::int64_t most) {
  if (value < least || value > most)
    in.complain(key, fmt::format("{} is not within {} and {}", value, least, most));
}

void read(Fields& in, Problems&, DefaultPreemptionArgs& out) {
  constexpr std::string_view kPercentage = "minCandidateNodesPercentage";
  constexpr std::string_view kAbsolute = "minCandidateNodesAbsolute";
  in.integer(kPercentage, out.min_candidate_nodes_percentage);
  in.integer(kAbsolute, out.min_candidate_nodes_absolute);
  check_range(in, kPercentage, out.min_candidate_nodes_percentage, 0, 100);
  if (out.min_candidate_nodes_absolute < 0)
    in.complain(kAbsolute,
                fmt::format("{} is negative; write 0 or more", out.min_candidate_nodes_absolute));
  if (out.min_candidate_nodes_percentage == 0 && out.min_candidate_nodes_absolute == 0)
    in.complain(kPercentage, fmt::format("must not be 0 together with {}", kAbsolute));
}

void read(Fields& in, Problems&, InterPodAffinityArgs& out) {
  in.integer("hardPodAffinityWeight", out.hard_pod_affinity_weight);
  in.boolean("ignorePreferredTermsOfExistingPods", out.ignore_preferred_terms_of_existing_pods);
  check_range(in, "hardPodAffinityWeight", out.hard_pod_affinity_weight, 0, 100);
}

void read(Fields& in, Problems& problems, NodeAffinityArgs& out) {
  const Slice affinity = in.any("addedAffinity");
  if (!affinity) return;
  check_node_affinity(problems, affinity, in.path("addedAffinity"));
  out.added_affinity = affinity.raw();
}

// Weight 0 is a weight of 1.
std::vector<ResourceWeight> read_resources(Fields& in, Problems& problems) {
  std::vector<ResourceWeight> out;
  in.each("resources", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    ResourceWeight resource;
    fields.text("name", resource.name);
    fields.integer("weight", resource.weight);
    fields.finish();
    if (resource.weight == 0) resource.weight = 1;
    out.push_back(std::move(resource));
  });
  if (out.empty()) out = {{"cpu", 1}, {"memory", 1}};
  return out;
}

std::vector<ShapePoint> read_shape(Fields& in, Problems& problems) {
  std::vector<ShapePoint> out;
  bool sorted = true;
  in.each("shape", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    ShapePoint point;
    fields.integer("utilization", point.utilization);
    fields.integer("score", point.score);
    fields.finish();
    check_range(fields, "utilization", point.utilization, 0, 100);
    check_range(fields, "score", point.score, 0, 10);
    if (sorted && !out.empty() && out.back().utilization >= point.utilization) {
      sorted = false;
      fields.complain("utilization", fmt::format("{} does not come after {}; points must be in "
                                                 "increasing order of utilization",
                                                 point.utilization, out.back().utilization));
    }
    out.push_back(point);
  });
  if (out.empty()) in.complain("shape", "at least one point is needed");
  return out;
}

void read_strategy(Fields& in, Problems& problems, NodeResourcesFitArgs& out) {
  using Strategy = NodeResourcesFitArgs::Strategy;
  static const std::vector<std::string_view> kTypes = {"LeastAllocated", "MostAllocated",
                                                       "RequestedToCapacityRatio"};
  std::string type;
  const bool stated = in.text("type", type);
  const auto at = std::find(kTypes.begin(), kTypes.end(), type);
  if (at != kTypes.end())
    out.strategy = static_cast<Strategy>(at - kTypes.begin());
  else if (stated || !in.has("type"))
    // k8s 1.36: a strategy without a type has no default.
    in.complain("type", stated ? unsupported(type, kTypes)
                               : fmt::format("is missing; write {}", "\"LeastAllocated\""));
  out.resources = read_resources(in, problems);
  for (std::size_t i = 0; i < out.resources.size(); ++i)
    if (const std::int64_t weight = out.resources[i].weight; weight < 1 || weight > 100)
      problems.add(child(in.path("resources"), i) + ".weight",
                   fmt::format("{} is not within 1 and 100", weight));
  constexpr std::string_view kRatio = "requestedToCapacityRatio";
  const bool ratio = out.strategy == Strategy::kRequestedToCapacityRatio;
  const bool given = in.object(kRatio, [&](Fields& fields) {
    if (ratio)
      out.shape = read_shape(fields, problems);
    else
      fields.any("shape");
  });
  if (ratio && !in.has(kRatio)) in.complain(kRatio, "is needed by the type with that name");
  if (!ratio && given && at != kTypes.end())
    in.complain(kRatio, fmt::format("does not go with the type {}; remove it", type));
}

void read(Fields& in, Problems& problems, NodeResourcesFitArgs& out) {
  out.ignored_resources = in.texts("ignoredResources");
  out.ignored_resource_groups = in.texts("ignoredResourceGroups");
  const auto check_names = [&](std::string_view key, const std::vector<std::string>& names,
                               bool group) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string path = child(in.path(key), i);
      if (group && names[i].find('/') != std::string::npos)
        problems.add(
            path, fmt::format("{} has a \"/\"; name the part before it", json::quoted(names[i])));
      else if (const kube::Complaints why = kube::check_qualified_name(names[i]); !why.empty())
        problems.add(path, fmt::format("{} is not the name of a resource: {}",
                                       json::quoted(names[i]), kube::joined(why)));
    }
  };
  check_names("ignoredResources", out.ignored_resources, false);
  check_names("ignoredResourceGroups", out.ignored_resource_groups, true);
  in.object("scoringStrategy", [&](Fields& fields) { read_strategy(fields, problems, out); });
}

void read(Fields& in, Problems& problems, BalancedAllocationArgs& out) {
  out.resources = read_resources(in, problems);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < out.resources.size(); ++i) {
    const std::string path = child(in.path("resources"), i);
    const ResourceWeight& resource = out.resources[i];
    if (!seen.insert(resource.name).second)
      problems.add(path + ".name",
                   fmt::format("{} comes twice; remove one", json::quoted(resource.name)));
    if (resource.weight != 1)
      problems.add(path + ".weight", fmt::format("{} must be 1", resource.weight));
  }
}

// A policy of Honor or Ignore.
void read_policy(Fields& in, std::string_view key, bool& honor) {
  std::string policy;
  if (!in.text(key, policy)) return;
  if (policy != "Honor" && policy != "Ignore")
    in.complain(key, unsupported(policy, {"Honor", "Ignore"}));
  honor = policy == "Honor";
}

SpreadConstraint read_constraint(Fields& in) {
  SpreadConstraint out;
  out.max_skew = 0;
  in.integer("maxSkew", out.max_skew);
  if (out.max_skew <= 0) in.complain("maxSkew", fmt::format("{} must be 1 or more", out.max_skew));
  in.text("topologyKey", out.topology_key);
  if (out.topology_key.empty())
    in.complain("topologyKey", "is missing; name a label of nodes");
  else if (const kube::Complaints why = kube::check_qualified_name(out.topology_key); !why.empty())
    in.complain("topologyKey", fmt::format("{} is not the key of a label: {}",
                                           json::quoted(out.topology_key), kube::joined(why)));
  std::string when;
  in.text("whenUnsatisfiable", when);
  if (when.empty())
    in.complain("whenUnsatisfiable", "is missing; write \"DoNotSchedule\" or \"ScheduleAnyway\"");
  else if (when != "DoNotSchedule" && when != "ScheduleAnyway")
    in.complain("whenUnsatisfiable", unsupported(when, {"DoNotSchedule", "ScheduleAnyway"}));
  out.hard = when != "ScheduleAnyway";
  if (in.has("labelSelector"))
    in.complain("labelSelector", "must not be set: it is derived from each pod; remove it");
  if (in.integer("minDomains", out.min_domains) && out.min_domains < 1)
    in.complain("minDomains", fmt::format("{} must be 1 or more", out.min_domains));
  read_policy(in, "nodeAffinityPolicy", out.honor_affinity);
  read_policy(in, "nodeTaintsPolicy", out.honor_taints);
  out.match_label_keys = in.texts("matchLabelKeys");
  return out;
}

void read(Fields& in, Problems& problems, PodTopologySpreadArgs& out) {
  in.each("defaultConstraints", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    SpreadConstraint made = read_constraint(fields);
    fields.finish();
    for (const SpreadConstraint& other : out.default_constraints)
      if (!made.topology_key.empty() && other.topology_key == made.topology_key &&
          other.hard == made.hard) {
        problems.add(path,
                     "an earlier constraint has the same topologyKey and whenUnsatisfiable; "
                     "remove one");
        break;
      }
    out.default_constraints.push_back(std::move(made));
  });
  std::string type = "System";
  in.text("defaultingType", type);
  if (type.empty()) type = "System";
  out.system_defaulting = type == "System";
  if (type != "System" && type != "List")
    in.complain("defaultingType", unsupported(type, {"System", "List"}));
  else if (out.system_defaulting && !out.default_constraints.empty())
    in.complain("defaultingType", "must be \"List\" where there are defaultConstraints");
}

void read(Fields& in, Problems&, VolumeBindingArgs& out) {
  in.integer("bindTimeoutSeconds", out.bind_timeout_seconds);
  if (out.bind_timeout_seconds < 0)
    in.complain("bindTimeoutSeconds",
                fmt::format("{} is negative; write 0 or more", out.bind_timeout_seconds));
  if (in.has("shape"))
    in.complain("shape", "needs the feature gate StorageCapacityScoring, which is off; remove it");
}

void read(Fields& in, Problems&, DynamicResourcesArgs& out) {
  in.duration("filterTimeout", out.filter_timeout);
  in.duration("bindingTimeout", out.binding_timeout);
  if (out.filter_timeout < Duration{}) in.complain("filterTimeout", "must not be negative");
  if (out.binding_timeout < 1s) in.complain("bindingTimeout", "must be at least 1s");
}

template <class Args>
PluginArgs read_as(Problems& problems, std::string_view plugin, Slice args,
                   const std::string& path) {
  Args out;
  Fields in(problems, args, path);
  std::string version(kConfigVersion), kind = fmt::format("{}Args", plugin);
  const std::string wanted = kind;
  in.text("apiVersion", version);
  in.text("kind", kind);
  if (version != kConfigVersion && !version.empty())
    in.complain("apiVersion", fmt::format("is {}; this version reads \"{}\"", json::quoted(version),
                                          kConfigVersion));
  if (kind != wanted && !kind.empty())
    in.complain("kind", fmt::format("is {}; the arguments of {} are of kind \"{}\"",
                                    json::quoted(kind), plugin, wanted));
  read(in, problems, out);
  // The fields of another kind would all be unknown.
  if (kind == wanted || kind.empty()) in.finish();
  return out;
}

struct Typed {
  std::string_view plugin;
  PluginArgs (*read)(Problems&, std::string_view, Slice, const std::string&);
};
constexpr std::array<Typed, 8> kTyped = {{
    {"DefaultPreemption", read_as<DefaultPreemptionArgs>},
    {"DynamicResources", read_as<DynamicResourcesArgs>},
    {"InterPodAffinity", read_as<InterPodAffinityArgs>},
    {"NodeAffinity", read_as<NodeAffinityArgs>},
    {"NodeResourcesBalancedAllocation", read_as<BalancedAllocationArgs>},
    {"NodeResourcesFit", read_as<NodeResourcesFitArgs>},
    {"PodTopologySpread", read_as<PodTopologySpreadArgs>},
    {"VolumeBinding", read_as<VolumeBindingArgs>},
}};

}  // namespace

PluginArgs read_args(Problems& problems, std::string_view plugin, Slice args,
                     const std::string& path) {
  for (const Typed& typed : kTyped)
    if (typed.plugin == plugin) return typed.read(problems, plugin, args, path);
  return args ? PluginArgs(RawArgs{std::string(args.raw())}) : PluginArgs();
}

PluginArgs default_args(std::string_view plugin) {
  Problems none("", "");
  return read_args(none, plugin, {}, "");
}

}  // namespace berth::scheduler
