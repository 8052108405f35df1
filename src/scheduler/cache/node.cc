// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/node.h"

#include <algorithm>

#include "kube/resource_list.h"

namespace berth::scheduler {
namespace {

// k8s 1.36: the beta label wins by being there, even when it is empty.
std::string_view first_of(const Labels& labels, std::string_view beta, std::string_view stable) {
  if (const auto value = labels.find(beta)) return *value;
  return labels.find(stable).value_or("");
}

std::string zone_key_of(const Labels& labels) {
  const std::string_view zone =
      first_of(labels, "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  const std::string_view region =
      first_of(labels, "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  if (zone.empty() && region.empty()) return {};
  std::string key(region);
  key.append(":\0:", 3);
  return key.append(zone);
}

std::vector<NodeImage> images_of(json::Slice list) {
  std::vector<NodeImage> out;
  for (const json::Slice image : list.elements()) {
    const std::int64_t bytes = image["sizeBytes"].integer().value_or(0);
    for (const json::Slice name : image["names"].elements()) out.push_back({name.text(), bytes});
  }
  return out;
}

}  // namespace

Result<NodePtr> Node::compile(const kube::Object& object, bool keep_document) {
  const json::Slice spec = object.member("spec"), status = object.status();
  const Result<kube::ResourceList> allocatable =
      kube::parse_resource_list(status["allocatable"], "status.allocatable");
  if (!allocatable) return tl::unexpected(allocatable.error());

  auto node = std::make_shared<Node>();
  node->name = object.name();
  node->uid = object.uid();
  node->revision = object.revision();
  node->labels = std::make_shared<const Labels>(Labels::from_json(object.labels()));
  node->allocatable = Resources::from(*allocatable);
  if (const auto pods = allocatable->find("pods"); pods != allocatable->end())
    node->allowed_pods = pods->second.value();
  node->unschedulable = spec["unschedulable"].boolean();
  node->taints = kube::taints_of(spec["taints"]);
  node->images = images_of(status["images"]);
  for (const json::Slice feature : status["declaredFeatures"].elements())
    node->declared_features.push_back(feature.text());
  std::sort(node->declared_features.begin(), node->declared_features.end());
  for (const json::Slice condition : status["conditions"].elements())
    node->conditions.insert_or_assign(condition["type"].text(), condition["status"].text());
  node->annotations = Labels::from_json(object.annotations());
  node->zone_key = zone_key_of(*node->labels);
  if (keep_document) node->document = object;
  return node;
}

}  // namespace berth::scheduler
