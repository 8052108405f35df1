// SPDX-License-Identifier: Apache-2.0
// What a CRD's schema must be: structural, and nothing that cannot be kept.
#pragma once

#include <string>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// `at` is where the schema stands: "spec.validation.openAPIV3Schema".
void check_schema(Peek schema, const std::string& at, bool has_status, Findings&);

}  // namespace berth::apiserver
