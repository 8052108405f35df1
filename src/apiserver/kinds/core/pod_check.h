// SPDX-License-Identifier: Apache-2.0
// What makes a pod spec valid, wherever it stands: in a pod or in a template.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// What is known about the pod around a part of it.
struct PodRules {
  Peek spec;
  Peek metadata;  // absent in templates
  bool is_pod = false;
  std::map<std::string_view, Peek> volumes = {};  // the good ones, by name
  std::set<std::string_view> claims = {};         // names in spec.resourceClaims

  bool host_users() const {
    const Peek given = spec["hostUsers"];
    return !given || given.boolean();
  }
};

void check_pod_spec(Peek spec, Peek metadata, bool is_pod, const Path&, Findings&);
// labels and annotations are told without "metadata", as Kubernetes does.
void check_pod_template(Peek pod_template, const Path&, Findings&);
void check_pod_annotations(Peek annotations, Peek spec, const Path&, Findings&);

// The parts, in files of their own.
void check_volumes(PodRules&, const Path&, Findings&);  // also notes the good ones
void check_containers(const PodRules&, const Path&, Findings&);
void check_init_containers(const PodRules&, const Path&, Findings&);
void check_affinity(Peek affinity, const Path&, Findings&);
void check_tolerations(Peek tolerations, const Path&, Findings&);
void check_spread_constraints(Peek constraints, const Path&, Findings&);
void check_pod_security(Peek spec, const Path& spec_path, Findings&);
void check_container_security(Peek context, bool host_users, const Path&, Findings&);
void check_node_selector(Peek node_selector, const Path&, Findings&);
void check_field_ref(Peek ref, bool in_volume, const Path&, Findings&);
void check_resource_field_ref(Peek ref, bool in_volume, const Path&, Findings&);
// Claims are specified alike in PersistentVolumeClaims, their templates and ephemeral volumes.
void check_claim_spec(Peek spec, const Path&, Findings&);

}  // namespace berth::apiserver
