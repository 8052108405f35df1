// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace berth::json {

// What a document may cost before it is refused.
struct Limits {
  std::size_t max_bytes = std::size_t{64} << 20;
  unsigned max_depth = 100;
};

}  // namespace berth::json
