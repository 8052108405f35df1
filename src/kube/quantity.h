// SPDX-License-Identifier: Apache-2.0
// Amounts of resources: "100m", "128Mi", "1e3". Exact, with the rounding, overflow and text of
// Kubernetes' own resource.Quantity, oddities included.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/slice.h"

namespace berth::kube {

// A value; thread-compatible. Up to 18 digits it is two integers and allocates nothing; beyond that
// it is a decimal of any precision, at most a nano exact.
class Quantity {
 public:
  // How it was written, which is how it is printed again.
  enum class Format : std::uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

  Quantity() = default;  // zero, of no format: takes the format of what is added to it
  static Result<Quantity> parse(std::string_view text);
  // A JSON string, number or null (zero), as Kubernetes decodes it.
  static Result<Quantity> from_json(json::Slice);
  // value * 10^scale; scale -3 makes it milli-units.
  static Quantity of(std::int64_t value, Format = Format::kDecimalSI, std::int32_t scale = 0);

  Format format() const { return format_; }
  std::string text() const;  // canonical; a text that parse() was given in good form is kept
  bool is_zero() const { return sign() == 0; }
  int sign() const;

  // Whole units, rounded away from zero. What does not fit wraps or is 0, as the real code has it.
  std::int64_t value() const { return scaled_value(0); }
  std::int64_t milli_value() const { return scaled_value(-3); }
  std::int64_t scaled_value(std::int32_t scale) const;  // in units of 10^scale

  Quantity& operator+=(const Quantity&);
  Quantity& operator-=(const Quantity&);
  void negate();
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  // By amount alone: 1000m == 1.
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return compare(a, b) <=> 0;
  }
  friend bool operator==(const Quantity& a, const Quantity& b) { return compare(a, b) == 0; }

  struct Decimal;  // quantity.cc

 private:
  static int compare(const Quantity&, const Quantity&);
  Decimal decimal() const;
  void accumulate(const Quantity&, bool subtract);

  std::int64_t value_ = 0;  // value_ * 10^scale_, unless big_
  std::int32_t scale_ = 0;
  Format format_ = Format::kDecimalExponent;
  std::shared_ptr<const Decimal> big_;
  std::string text_;  // as parsed, where that is already canonical
};

}  // namespace berth::kube
