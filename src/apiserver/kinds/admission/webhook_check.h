// SPDX-License-Identifier: Apache-2.0
// What holds for webhooks of both sorts of configurations.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_webhooks(Edit&, bool mutating, Findings&);

}  // namespace berth::apiserver
