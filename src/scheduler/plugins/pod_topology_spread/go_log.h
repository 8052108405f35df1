// SPDX-License-Identifier: Apache-2.0
// The natural logarithm with the very bits that Go's math.Log has on amd64. std::log differs from
// it in the last bit for one whole number in a hundred, and scores are rounded from it.
#pragma once

namespace berth::scheduler {

double go_log(double x);  // x > 0 and normal

}  // namespace berth::scheduler
