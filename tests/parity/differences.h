// SPDX-License-Identifier: Apache-2.0
// What differs between the recorded answer to a case and ours. The rules are those of compare.py,
// which lies beside the recorded answers.
#pragma once

#include <string>
#include <vector>

#include "json/slice.h"

namespace berth::scheduler::parity {

// "filter: node-3: want … got …", a line each; empty when they agree.
std::vector<std::string> differences(json::Slice want, json::Slice got);

}  // namespace berth::scheduler::parity
