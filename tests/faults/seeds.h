// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "base/world.h"

namespace berth::faults {

// Those a property is tried with: the one in BERTH_SEED, to repeat a failure; else as many as
// BERTH_SEEDS says, or thirty.
inline std::vector<Seed> seeds_to_try() {
  if (const char* one = std::getenv("BERTH_SEED")) return {std::stoull(one)};
  const char* asked = std::getenv("BERTH_SEEDS");
  std::vector<Seed> seeds(asked == nullptr ? 30 : std::stoull(asked));
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i + 1;
  return seeds;
}

}  // namespace berth::faults
