// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_service(Edit&, Findings&);
void check_service_update(Edit&, Findings&);

}  // namespace berth::apiserver
