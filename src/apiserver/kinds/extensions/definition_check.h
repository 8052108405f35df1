// SPDX-License-Identifier: Apache-2.0
// What a CustomResourceDefinition must be before anything is served for it.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_definition(Edit&, Findings&);
void check_definition_update(Edit&, Findings&);

}  // namespace berth::apiserver
