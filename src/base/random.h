// SPDX-License-Identifier: Apache-2.0
// Chance that can be repeated. Streams are derived by name, so a new draw in one place does not
// shift the others.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

// Thread-compatible; a value. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  static Random from_entropy();  // the one place where real chance enters

  Random fork(std::string_view name)
      const;             // depends on the seed and the name alone, never on draws made so far
  std::uint64_t next();  // uniform over all 64-bit values
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), unbiased; bound > 0
  double unit();                             // uniform in [0, 1)
  bool chance(double probability) { return unit() < probability; }
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace berth
