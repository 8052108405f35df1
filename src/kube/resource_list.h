// SPDX-License-Identifier: Apache-2.0
// Amounts by resource name, as requests, limits and allocatable hold them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/slice.h"
#include "kube/quantity.h"

namespace berth::kube {

using ResourceList = std::map<std::string, Quantity, std::less<>>;

// An absent or null slice is empty. An error names the place: `spec.overhead.memory: …`.
Result<ResourceList> parse_resource_list(json::Slice, std::string_view path);

void add(ResourceList& to, const ResourceList& more);
void subtract(ResourceList& from, const ResourceList& less);
// Raises each amount to the one in `other`, where that is larger.
void raise_to(ResourceList& list, const ResourceList& other);

}  // namespace berth::kube
