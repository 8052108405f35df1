// SPDX-License-Identifier: Apache-2.0
// The formats that a schema may ask of a text.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

// The format if it is one that is checked for this type; otherwise "". k8s 1.36: others are
// accepted and mean nothing.
std::string checked_format(std::string_view format, std::string_view type);

// A text has a format that checked_format() knows.
bool has_format(std::string_view text, std::string_view format);

}  // namespace berth::apiserver
