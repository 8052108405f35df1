// SPDX-License-Identifier: Apache-2.0
// Pod templates as values: which are the same, and a short name for each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/slice.h"

namespace berth::controllers {

// The same text for documents that mean the same: members in order, nothing that is empty or null.
std::string canonical(json::Slice);
// The value with one label of metadata.labels set, or taken out.
std::string with_label(json::Slice pod_template, std::string_view label,
                       std::optional<std::string_view> value);
bool same_template(json::Slice, json::Slice, std::string_view but_for_label);
// Ours, not kube-controller-manager's: that one is over the way Go prints its structs. A template
// is recognised by what it says, so sets that another controller named are found all the same.
std::string template_hash(json::Slice pod_template, std::int64_t collisions);

}  // namespace berth::controllers
