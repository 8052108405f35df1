// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "json/slice.h"

namespace berth::apiserver {

std::string access_modes_text(json::Slice modes);  // "RWO,RWX"

}  // namespace berth::apiserver
