// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "json/slice.h"

namespace berth::apiserver {

// Members in order, so that a difference can be read.
inline std::string sorted(json::Slice value) {
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto [key, member] : value.members()) members[std::string(key)] = sorted(member);
    std::string out = "{";
    for (const auto& [key, text] : members) out += (out.size() > 1 ? "," : "") + key + ":" + text;
    return out + "}";
  }
  if (value.is_array()) {
    std::string out = "[";
    for (const json::Slice each : value.elements())
      out += (out.size() > 1 ? "," : "") + sorted(each);
    return out + "]";
  }
  return std::string(value.raw());
}

}  // namespace berth::apiserver
