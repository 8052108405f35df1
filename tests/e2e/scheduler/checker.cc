// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <fmt/format.h>

#include "checker_parts.h"

namespace berth::e2e {

std::string Verdict::text(std::size_t most) const {
  std::string out = fmt::format("{} bound, {} not bound, {} violations, {} unchecked\n", bound,
                                unbound, violations.size(), unchecked.size());
  for (std::size_t i = 0; i < violations.size() && i < most; ++i)
    out += fmt::format("  {}: {} on {}: {}\n", violations[i].kind, violations[i].pod,
                       violations[i].node, violations[i].what);
  for (std::size_t i = 0; i < unchecked.size() && i < most; ++i)
    out += fmt::format("  unchecked: {}\n", unchecked[i]);
  return out;
}

std::map<std::string, std::size_t> Verdict::by_kind() const {
  std::map<std::string, std::size_t> out;
  for (const Violation& violation : violations) ++out[violation.kind];
  return out;
}

namespace checker {

kube::LabelMap label_map(json::Slice labels) {
  kube::LabelMap out;
  for (auto [key, value] : labels.members()) out[std::string(key)] = value.text();
  return out;
}

namespace {
bool finished(const kube::Object& pod) {
  const std::string phase = pod.status()["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}
}  // namespace
}  // namespace checker

Verdict check_placement(const ClusterState& state) {
  using namespace checker;
  Verdict verdict;
  Facts facts;
  facts.state = &state;
  facts.verdict = &verdict;
  for (const kube::Object& ns : state.namespaces)
    facts.namespaces[std::string(ns.name())] = label_map(ns.labels());
  for (const kube::Object& node : state.nodes)
    facts.nodes.push_back({node, std::string(node.name()), label_map(node.labels()),
                           node.member("spec"), node.status()});
  for (const NodeFacts& node : facts.nodes) facts.node_by_name[node.name] = &node;
  for (const kube::Object& object : state.pods) {
    if (finished(object)) continue;
    PodFacts pod{.object = object,
                 .key = object.key().text(),
                 .ns = std::string(object.ns()),
                 .labels = label_map(object.labels()),
                 .spec = object.member("spec")};
    pod.leaving = object.deleting();
    const std::string node = pod.spec["nodeName"].text();
    ++(node.empty() ? verdict.unbound : verdict.bound);
    if (const auto found = facts.node_by_name.find(node); found != facts.node_by_name.end())
      pod.node = found->second;
    else if (!node.empty())
      verdict.violations.push_back({"node", pod.key, node, "bound to a node that is not there"});
    facts.pods.push_back(std::move(pod));
  }
  check_nodes(facts);
  check_affinity(facts);
  check_spreading(facts);
  check_volumes(facts);
  return verdict;
}

}  // namespace berth::e2e
