// SPDX-License-Identifier: Apache-2.0
// What the kinds that make pods from a template have in common.
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// Required, not empty, well-formed; `kind` is the word in "empty selector is invalid for …".
void check_selector(Peek selector, std::string_view kind, const Path&, Findings&);
bool selects(Peek selector, Peek labels);
// The template of a kind whose pods always restart.
void check_restarting_template(Peek spec, std::string_view kind, const Path& spec_path, Findings&);
void check_always_restarts(Peek pod_template, std::string_view kind, const Path&, Findings&);

void check_int_or_percent(Peek value, const Path&, Findings&);
void check_at_most_all(Peek value, const Path&, Findings&);  // no more than 100%
std::int64_t number_or_percent(Peek value);

}  // namespace berth::apiserver
