// SPDX-License-Identifier: Apache-2.0
// Requests and limits: which names and amounts may be asked for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"
#include "kube/quantity.h"

namespace berth::apiserver {

bool is_huge_page(std::string_view resource);  // "hugepages-2Mi"
bool is_extended_resource(std::string_view resource);
bool is_overcommit_allowed(std::string_view resource);
bool is_integer_resource(std::string_view resource);

void check_resource_name(std::string_view, const Path&, Findings&);
void check_resource_amount(std::string_view resource, Peek amount, const Path&, Findings&);

// Of a container, or of a pod as a whole.
void check_resources(Peek requirements, bool of_pod, const std::set<std::string_view>& claims,
                     const Path&, Findings&);
// What a pod's containers need together, of "requests" or "limits".
std::map<std::string, kube::Quantity> aggregate_containers(Peek pod_spec, std::string_view kind);
bool is_pod_level_resource(std::string_view resource);
// Pod-level amounts against those of its containers.
void check_pod_resources(Peek pod_spec, const std::set<std::string_view>& claims, const Path& spec,
                         Findings&);

}  // namespace berth::apiserver
