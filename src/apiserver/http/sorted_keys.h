// SPDX-License-Identifier: Apache-2.0
// The order in which Go writes YAML: members by their keys, with numbers inside of keys by value.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

bool yaml_key_before(std::string_view, std::string_view);
std::string with_sorted_keys(std::string_view good_json);

}  // namespace berth::apiserver
