// SPDX-License-Identifier: Apache-2.0
// What roles and their bindings have in common.
#pragma once

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// The columns after the name, and the defaults of subjects and role.
Kind& binds_subjects(Kind&, bool namespaced);
// The rules of a role.
void check_rules(Edit&, bool namespaced, Findings&);

}  // namespace berth::apiserver
