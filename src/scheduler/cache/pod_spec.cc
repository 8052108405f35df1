// SPDX-License-Identifier: Apache-2.0
// From the fields of a manifest to a PodSpec.
#include "scheduler/cache/declared_features.h"
#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

std::vector<HostPort> host_ports_of(const PodFields& fields) {
  std::vector<HostPort> out;
  const auto add = [&out](const ContainerFields& container) {
    for (const json::Slice port : container.ports.elements()) {
      const std::int64_t number = port["hostPort"].integer().value_or(0);
      if (number <= 0) continue;
      HostPort& made = out.emplace_back();
      made.ip = port["hostIP"].text();
      if (made.ip.empty()) made.ip = "0.0.0.0";
      made.protocol = port["protocol"].text();
      if (made.protocol.empty()) made.protocol = "TCP";
      made.port = static_cast<std::int32_t>(number);
    }
  };
  // An ordinary init container is gone before the pod is ready; its ports are not counted.
  for (const ContainerFields& container : fields.init_containers)
    if (container.sidecar()) add(container);
  for (const ContainerFields& container : fields.containers) add(container);
  return out;
}

void images_of(const PodFields& fields, PodSpec& spec) {
  for (const auto* list : {&fields.init_containers, &fields.containers})
    for (const ContainerFields& container : *list)
      spec.images.push_back(normalized_image(container.image.text()));
  spec.image_containers = static_cast<std::uint32_t>(spec.images.size());
  for (const json::Slice reference : fields.image_references)
    spec.images.push_back(normalized_image(reference.text()));
}

std::int32_t number_or(json::Slice slice, std::int32_t otherwise) {
  return static_cast<std::int32_t>(slice.integer().value_or(otherwise));
}

void spread_of(json::Slice list, PodSpec& spec) {
  for (const json::Slice json : list.elements()) {
    SpreadConstraint& made = spec.spread.emplace_back();
    made.max_skew = number_or(json["maxSkew"], 0);
    made.topology_key = json["topologyKey"].text();
    made.hard = json["whenUnsatisfiable"].equals("DoNotSchedule");
    Result<kube::LabelSelector> selector = kube::LabelSelector::from_json(json["labelSelector"]);
    if (selector)
      made.selector = *std::move(selector);
    else if (spec.spread_error.empty())
      spec.spread_error = selector.error().message;
    made.min_domains = number_or(json["minDomains"], 1);
    const json::Slice affinity = json["nodeAffinityPolicy"];
    made.honor_affinity = !stated(affinity) || affinity.equals("Honor");
    made.honor_taints = json["nodeTaintsPolicy"].equals("Honor");
    for (const json::Slice key : json["matchLabelKeys"].elements())
      made.match_label_keys.push_back(key.text());
  }
}

Result<Ok> requests_of(const PodFields& fields, const kube::Object& pod, PodSpec& spec) {
  Result<Accounted> counted = accounted(fields, pod, false);
  if (!counted) return tl::unexpected(std::move(counted.error()));
  Result<Resources> nonzero = asked_nonzero(pod);
  if (!nonzero) return tl::unexpected(std::move(nonzero.error()));
  spec.asked = counted->used;
  spec.asked_nonzero = *std::move(nonzero);
  spec.used = std::move(counted->used);
  spec.used_nonzero_millicores = counted->nonzero_millicores;
  spec.used_nonzero_memory = counted->nonzero_memory;
  return Ok{};
}

}  // namespace

Result<PodSpec> build_spec(const PodFields& fields, const kube::Object& pod) {
  PodSpec spec;
  if (auto read = requests_of(fields, pod, spec); !read)
    return tl::unexpected(std::move(read.error()));
  spec.scheduler_name = fields.scheduler_name.text();
  if (spec.scheduler_name.empty()) spec.scheduler_name = "default-scheduler";
  spec.priority = number_or(fields.priority, 0);
  spec.never_preempts = fields.preemption_policy.equals("Never");
  images_of(fields, spec);
  spec.host_ports = host_ports_of(fields);
  spec.tolerations = kube::tolerations_of(fields.tolerations);
  node_affinity_of(fields, spec);
  spec.affinity = pod_affinity_of(fields.affinity);
  spread_of(fields.spread, spec);
  for (const json::Slice gate : fields.gates.elements()) spec.gates.push_back(gate["name"].text());
  spec.needed_features = needed_features(fields);
  spec.has_resource_claims = fields.resource_claims.size() > 0;
  return spec;
}

std::string normalized_image(std::string_view name) {
  std::string out(name);
  const std::size_t colon = name.rfind(':'), slash = name.rfind('/');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  if (!tagged) out += ":latest";
  return out;
}

}  // namespace berth::scheduler
