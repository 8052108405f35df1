// SPDX-License-Identifier: Apache-2.0
// What may still change about a pod that exists.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_pod_update(Edit&, Findings&);
void check_pod_status(Edit&, Findings&);

}  // namespace berth::apiserver
