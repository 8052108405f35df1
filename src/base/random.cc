// SPDX-License-Identifier: Apache-2.0
// xoshiro256** seeded through splitmix64 (Blackman and Vigna).
#include "base/random.h"

#include <bit>
#include <random>

#include "base/check.h"

namespace berth {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Random::Random(std::uint64_t seed) : seed_(seed) {
  for (std::uint64_t& word : state_) word = splitmix(seed);
}

Random Random::from_entropy() {
  std::random_device device;
  const std::uint64_t high = device();
  return Random(high << 32 | device());
}

Random Random::fork(std::string_view name) const {
  // Both halves are mixed before they meet, so that neighbouring seeds and similar names part.
  std::uint64_t own = seed_;
  std::uint64_t from_name = hash_of(name);
  std::uint64_t joined = splitmix(own) + std::rotl(splitmix(from_name), 32);
  return Random(splitmix(joined));
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  BERTH_CHECK(bound > 0);
  // Lemire: the high half of a product is uniform once the few short low halves are drawn again.
  Wide product = Wide{next()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t short_ones = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < short_ones) product = Wide{next()} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

}  // namespace berth
