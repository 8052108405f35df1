// SPDX-License-Identifier: Apache-2.0
// Texts that Go's own packages put into the real server's refusals.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace berth::apiserver {

// Why encoding/json refuses a text: "unexpected end of JSON input". `ours` is told where Go's
// decoder would not mind.
std::string go_json_error(std::string_view text, const Error& ours);
// "object", "array", "string", "number", "bool", as encoding/json calls them.
std::string_view go_type_name(const json::Value&);
// A value as fmt's %+v shows it: map[spec:map[replicas:2]].
std::string go_plus_v(const json::Value&);
// The same complaint as a decoder's, as a tree's conversion into Go's types has it.
std::string go_conversion_error(std::string_view decoder_error);
// k8s 1.36: the beginning of a body, in hexadecimal where it is no object.
std::string go_summary(std::string_view body);

}  // namespace berth::apiserver
