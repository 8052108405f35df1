// SPDX-License-Identifier: Apache-2.0
// The method is that of FreeBSD's e_log.c: x = 2^k (1 + f) with 1 + f in [sqrt(2)/2, sqrt(2)), and
// a polynomial in s = f / (2 + f). What counts is the order of the operations, each rounded once;
// contraction to fused operations is off for all of Berth.
#include "scheduler/plugins/pod_topology_spread/go_log.h"

#include <bit>
#include <cstdint>

namespace berth::scheduler {

double go_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kHalfSqrt2 = 7.07106781186547524401e-01;
  constexpr double k1 = 6.666666666666735130e-01, k2 = 3.999999999940941908e-01,
                   k3 = 2.857142874366239149e-01, k4 = 2.222219843214978396e-01,
                   k5 = 1.818357216161805012e-01, k6 = 1.531383769920937332e-01,
                   k7 = 1.479819860511658591e-01;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double k = static_cast<double>(static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 0x3fe);
  double f = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3fe0000000000000);
  if (f <= kHalfSqrt2) {
    k -= 1;
    f *= 2;
  }
  f -= 1;
  const double s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  const double odd = s2 * (k1 + s4 * (k3 + s4 * (k5 + s4 * k7)));
  const double even = s4 * (k2 + s4 * (k4 + s4 * k6));
  const double half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - (s * (half_square + (odd + even)) + k * kLn2Low)) - f);
}

}  // namespace berth::scheduler
