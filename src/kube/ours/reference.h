// SPDX-License-Identifier: Apache-2.0
// {name, namespace} as our kinds refer to each other.
#pragma once

#include <set>
#include <string_view>

#include "json/slice.h"
#include "kube/object.h"

namespace berth::kube {

// Without a namespace it is the one of the object it stands in.
inline Key key_in(json::Slice reference, std::string_view own_namespace) {
  std::string ns = reference["namespace"].text();
  return {ns.empty() ? std::string(own_namespace) : std::move(ns), reference["name"].text()};
}

inline std::set<int> numbers_in(json::Slice list) {
  std::set<int> numbers;
  for (const json::Slice each : list.elements())
    if (const auto number = each.integer()) numbers.insert(static_cast<int>(*number));
  return numbers;
}

}  // namespace berth::kube
