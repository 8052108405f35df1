// SPDX-License-Identifier: Apache-2.0
// Two quantities, a line each: text reads back as the same amount, and sums agree with order.
#include <string>

#include "base/check.h"
#include "kube/quantity.h"

using berth::kube::Quantity;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  const auto a = Quantity::parse(input.substr(0, line));
  const auto b = Quantity::parse(input.substr(std::min(line + 1, input.size())));
  for (const auto* one : {&a, &b}) {
    if (!*one) continue;
    const Quantity& q = **one;
    (void)q.value();
    (void)q.milli_value();
    BERTH_CHECK(q == q && q.is_zero() == (q.sign() == 0));
    // Amounts above the exa range may print without a unit (k8s 1.36), so only exponents read back.
    const auto again = Quantity::parse(q.text());
    if (again && q.format() == Quantity::Format::kDecimalExponent) BERTH_CHECK(*again == q);
    Quantity negated = q;
    negated.negate();
    BERTH_CHECK(negated.sign() == -q.sign());
  }
  if (!a || !b) return 0;
  BERTH_CHECK((*a < *b) == (*b > *a) && (*a == *b) == (*b == *a));
  const Quantity sum = *a + *b, difference = *a - *b;
  BERTH_CHECK(sum == *b + *a);
  BERTH_CHECK(difference.sign() == (*a < *b ? -1 : *a > *b ? 1 : 0));
  (void)sum.text();
  (void)difference.text();
  return 0;
}
