// SPDX-License-Identifier: Apache-2.0
// Whether a schema is structural: each part of a document has one place in the schema that tells
// its type, and what else is said about it (allOf, anyOf, oneOf, not) only narrows it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// Why it cannot be read as a structural schema at all; "": it can.
std::string why_unreadable(Peek schema);

// Findings in the order of their texts.
void check_structure(Peek schema, const std::string& at, Findings&);

// The members in the order of their names.
void each_sorted(Peek members, const std::function<void(std::string_view, Peek)>&);

}  // namespace berth::apiserver
