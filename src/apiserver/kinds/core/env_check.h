// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_env(Peek variables, const Path&, Findings&);
void check_env_from(Peek sources, const Path&, Findings&);

}  // namespace berth::apiserver
