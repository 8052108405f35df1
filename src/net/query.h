// SPDX-License-Identifier: Apache-2.0
// What stands behind the question mark of a URL.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::net {

// In order, as Go's server reads them: a pair that is broken is not there.
std::vector<std::pair<std::string, std::string>> query_pairs(std::string_view encoded);

}  // namespace berth::net
