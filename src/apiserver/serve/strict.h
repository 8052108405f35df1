// SPDX-License-Identifier: Apache-2.0
// What fieldValidation looks for in a document: fields that are given twice, and fields that
// nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace berth::apiserver {

// Each as the real server words it, in document order: `unknown field "spec.foo"`, `duplicate field
// "metadata.name"`. At most a hundred. `parsed` is what the text was read as, `unknown` the fields
// its schema does not have.
std::vector<std::string> complaints_about(std::string_view good_json, std::size_t members,
                                          const std::vector<std::string>& unknown);
// Members of all objects in it, which is fewer than its text has where one is given twice.
std::size_t members_in(const json::Value&);

// "strict decoding error: …, …"
std::string strict_error(const std::vector<std::string>& complaints);

}  // namespace berth::apiserver
