// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/pod_fields.h"

#include <array>
#include <span>

namespace berth::scheduler {
namespace {

template <class Fields>
using Member = std::pair<std::string_view, json::Slice Fields::*>;

constexpr Member<PodFields> kSpec[] = {
    {"affinity", &PodFields::affinity},
    {"hostNetwork", &PodFields::host_network},
    {"hostUsers", &PodFields::host_users},
    {"nodeName", &PodFields::node_name},
    {"nodeSelector", &PodFields::node_selector},
    {"overhead", &PodFields::overhead},
    {"preemptionPolicy", &PodFields::preemption_policy},
    {"priority", &PodFields::priority},
    {"resourceClaims", &PodFields::resource_claims},
    {"resources", &PodFields::resources},
    {"schedulerName", &PodFields::scheduler_name},
    {"schedulingGates", &PodFields::gates},
    {"tolerations", &PodFields::tolerations},
    {"topologySpreadConstraints", &PodFields::spread},
};
constexpr Member<PodFields> kStatus[] = {
    {"allocatedResources", &PodFields::allocated_resources},
    {"conditions", &PodFields::conditions},
    {"containerStatuses", &PodFields::container_statuses},
    {"extendedResourceClaimStatus", &PodFields::extended_claim_status},
    {"initContainerStatuses", &PodFields::init_container_statuses},
    {"nominatedNodeName", &PodFields::nominated_node_name},
    {"phase", &PodFields::phase},
    {"resourceClaimStatuses", &PodFields::claim_statuses},
    {"resources", &PodFields::actual_resources},
    {"startTime", &PodFields::start_time},
};
constexpr Member<ContainerFields> kContainer[] = {
    {"image", &ContainerFields::image},
    {"name", &ContainerFields::name},
    {"ports", &ContainerFields::ports},
    {"resources", &ContainerFields::resources},
    {"restartPolicy", &ContainerFields::restart_policy},
    {"restartPolicyRules", &ContainerFields::restart_rules},
};

template <class Fields>
void assign(std::span<const Member<Fields>> table, Fields& fields, std::string_view key,
            json::Slice value) {
  for (const auto& [name, member] : table)
    if (name == key) {
      fields.*member = value;
      return;
    }
}

void read_containers(json::Slice list, std::vector<ContainerFields>& out) {
  out.clear();
  for (const json::Slice container : list.elements()) {
    ContainerFields& fields = out.emplace_back();
    for (const auto& [key, value] : container.members())
      assign<ContainerFields>(kContainer, fields, key, value);
  }
}

// A part of the source: its tag, its bytes, and a mark that no JSON holds outside of strings.
void append_part(std::string& out, char tag, json::Slice slice) {
  if (!slice.present()) return;
  out += tag;
  out += slice.raw();
  out += '\x01';
}

void append_containers(std::string& out, char tag, std::span<const ContainerFields> list) {
  for (const ContainerFields& container : list) {
    out += tag;
    append_part(out, 'i', container.image);
    append_part(out, 'r', container.resources);
    append_part(out, 'p', container.ports);
    append_part(out, 'a', container.restart_policy);
    append_part(out, 'l', container.restart_rules);
  }
}

}  // namespace

void PodFields::read(const kube::Object& pod) {
  PodFields fresh;
  std::swap(fresh.containers, containers);
  std::swap(fresh.init_containers, init_containers);
  std::swap(fresh.volumes, volumes);
  std::swap(fresh.image_references, image_references);
  *this = std::move(fresh);
  json::Slice container_list, init_list, volume_list;
  for (const auto& [key, value] : pod.member("spec").members()) {
    if (key == "containers")
      container_list = value;
    else if (key == "initContainers")
      init_list = value;
    else if (key == "volumes")
      volume_list = value;
    else
      assign<PodFields>(kSpec, *this, key, value);
  }
  read_containers(container_list, containers);
  read_containers(init_list, init_containers);
  volumes.clear();
  image_references.clear();
  for (const json::Slice volume : volume_list.elements()) {
    volumes.push_back(volume);
    if (const json::Slice image = volume["image"]; stated(image))
      image_references.push_back(image["reference"]);
  }
  for (const auto& [key, value] : pod.status().members())
    assign<PodFields>(kStatus, *this, key, value);
}

void PodFields::append_source(std::string& out) const {
  append_part(out, 'A', affinity);
  append_part(out, 'S', node_selector);
  append_part(out, 'T', tolerations);
  append_part(out, 'D', spread);
  append_part(out, 'G', gates);
  append_part(out, 'P', priority);
  append_part(out, 'N', scheduler_name);
  append_part(out, 'E', preemption_policy);
  append_part(out, 'O', overhead);
  append_part(out, 'R', resources);
  append_part(out, 'H', host_network);
  append_part(out, 'U', host_users);
  if (resource_claims.size() > 0) out += 'L';
  append_containers(out, 'C', containers);
  append_containers(out, 'I', init_containers);
  for (const json::Slice reference : image_references) {
    out += 'V';
    append_part(out, 'i', reference);
  }
}

}  // namespace berth::scheduler
