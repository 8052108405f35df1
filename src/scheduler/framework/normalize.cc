// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "scheduler/framework/plugin.h"

namespace berth::scheduler {

void default_normalize(std::span<std::int64_t> scores, bool reverse) {
  constexpr std::int64_t kMax = 100;
  std::int64_t top = 0;
  for (const std::int64_t score : scores) top = std::max(top, score);
  if (top == 0) {
    // k8s 1.36: negative scores are left as they are.
    if (reverse) std::fill(scores.begin(), scores.end(), kMax);
    return;
  }
  for (std::int64_t& score : scores) {
    score = kMax * score / top;
    if (reverse) score = kMax - score;
  }
}

}  // namespace berth::scheduler
