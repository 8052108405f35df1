// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apiserver/kinds/rules.h"
#include "json/slice.h"

namespace berth::apiserver {

std::string access_modes_text(json::Slice modes);  // "RWO,RWX"
// Of a volume or a claim. That there are any at all is worded differently for each.
void check_access_modes(Peek modes, const Path& at, Findings&);

}  // namespace berth::apiserver
