// SPDX-License-Identifier: Apache-2.0
// Amounts as integers, and what kind of resource a name stands for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/quantity.h"

namespace berth::scavenge {

bool is_gpu(std::string_view resource);       // whole cards and slices of them, of any vendor
bool is_extended(std::string_view resource);  // of a domain, such as devices
// Thousandths of cores; whole units of everything else, rounded up. Never negative.
std::int64_t amount_of(std::string_view resource, const kube::Quantity&);
kube::Quantity quantity_of(std::string_view resource, std::int64_t amount);
std::string amount_text(std::string_view resource, std::int64_t amount);  // "2.5", "1.5Gi"

// The largest or the least value instead of an overflow.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}
constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}
// a * b / divisor, rounded down, for values that are not negative.
constexpr std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t divisor) {
  const std::int64_t whole = saturating_multiply(a / divisor, b);
  const std::int64_t upper = saturating_multiply(a % divisor, b / divisor);
  // Both are below the divisor now, which is a thousand millions at most.
  const std::int64_t rest = (a % divisor) * (b % divisor) / divisor;
  return saturating_add(saturating_add(whole, upper), rest);
}

}  // namespace berth::scavenge
