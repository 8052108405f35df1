// SPDX-License-Identifier: Apache-2.0
#include "kube/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>

#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

namespace berth::kube {
namespace {

using Big = boost::multiprecision::cpp_int;
using Format = Quantity::Format;

constexpr std::int32_t kNano = -9;
constexpr int kMaxInt64Digits = 18;
// What hostile input may cost: more digits than this are refused, or absorbed by the larger number.
// The real code has no bound and would run for minutes on "1e999999999" plus "1".
constexpr std::int64_t kMaxDigits = 5'000;

constexpr std::string_view kFormatWrong =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kNumberWrong = "unable to parse numeric part of quantity";
constexpr std::string_view kSuffixWrong = "unable to parse quantity's suffix";
constexpr std::string_view kTooLarge = "more than 5000 digits";

// Exponents are 32 bits wide and wrap. k8s 1.36: "1e4294967296" is 1.
std::int32_t wrap(std::int64_t wide) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(wide)));
}
std::int64_t wrapping_negate(std::int64_t v) {
  return static_cast<std::int64_t>(-static_cast<std::uint64_t>(v));
}

Big power_of_ten(std::int64_t n) {
  return boost::multiprecision::pow(Big(10), static_cast<unsigned>(n));
}

// The low 64 bits with the sign on top, as Go's big.Int.Int64 has them.
std::int64_t low_bits(const Big& v) {
  const Big magnitude = boost::multiprecision::abs(v) & std::numeric_limits<std::uint64_t>::max();
  const auto bits = static_cast<std::uint64_t>(magnitude);
  return static_cast<std::int64_t>(v < 0 ? -bits : bits);
}

// Decimal digits of |v|, at most one too few.
std::int64_t digits_of(const Big& v) {
  if (v == 0) return 1;
  const auto bits = static_cast<double>(boost::multiprecision::msb(boost::multiprecision::abs(v)));
  return static_cast<std::int64_t>(bits * 0.30102999566398120) + 1;
}

// v * 10^n, unless that does not fit.
std::optional<std::int64_t> scale_up(std::int64_t v, std::int64_t n) {
  if (v == 0) return 0;
  if (n > kMaxInt64Digits) return std::nullopt;
  for (; n > 0; --n)
    if (__builtin_mul_overflow(v, std::int64_t{10}, &v)) return std::nullopt;
  return v;
}

// v / 10^n, rounded away from zero.
std::int64_t scale_down(std::int64_t v, std::int64_t n) {
  const int sign = v > 0 ? 1 : -1;
  bool fraction = false;
  for (; n > 0 && v != 0; --n) {
    fraction |= v % 10 != 0;
    v /= 10;
  }
  return fraction ? v + sign : v;
}

struct Parts {
  bool positive = true;
  std::string_view value, whole, fraction, suffix;  // value: sign, whole, point and fraction
};

std::optional<Parts> split(std::string_view text) {
  const auto is_digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  const std::size_t end = text.size();
  Parts parts;
  std::size_t at = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.positive = text[0] == '+';
    ++at;
  }
  while (at < end && text[at] == '0') ++at;
  // k8s 1.36: nothing but a sign and zeros is zero, so "-" and "+" are too.
  if (at == end) return Parts{parts.positive, "0", "0", "", ""};
  std::size_t from = at;
  while (at < end && is_digit(at)) ++at;
  parts.whole = text.substr(from, at - from);
  if (parts.whole.empty()) parts.whole = "0";
  if (at < end && text[at] == '.') {
    from = ++at;
    while (at < end && is_digit(at)) ++at;
    parts.fraction = text.substr(from, at - from);
  }
  parts.value = text.substr(0, at);
  from = at;
  constexpr std::string_view kLetters = "eEinumkKMGTP";
  while (at < end && kLetters.find(text[at]) != std::string_view::npos) ++at;
  if (at < end && (text[at] == '-' || text[at] == '+')) ++at;
  while (at < end && is_digit(at)) ++at;
  if (at < end) return std::nullopt;
  parts.suffix = text.substr(from);
  return parts;
}

struct Suffix {
  std::string_view text;
  int base;
  std::int32_t exponent;
};
constexpr std::array<Suffix, 16> kSuffixes{{{"m", 10, -3},
                                            {"", 10, 0},
                                            {"Mi", 2, 20},
                                            {"Gi", 2, 30},
                                            {"Ki", 2, 10},
                                            {"k", 10, 3},
                                            {"M", 10, 6},
                                            {"G", 10, 9},
                                            {"n", 10, -9},
                                            {"u", 10, -6},
                                            {"T", 10, 12},
                                            {"P", 10, 15},
                                            {"E", 10, 18},
                                            {"Ti", 2, 40},
                                            {"Pi", 2, 50},
                                            {"Ei", 2, 60}}};

struct Unit {
  Format format;
  std::int32_t exponent;
};

std::optional<Unit> unit_of(std::string_view suffix) {
  for (const Suffix& s : kSuffixes)
    if (s.text == suffix)
      return Unit{s.base == 2 ? Format::kBinarySI : Format::kDecimalSI, s.exponent};
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc() || end != suffix.data() + suffix.size()) return std::nullopt;
  return Unit{Format::kDecimalExponent, wrap(exponent)};
}

// k8s 1.36: an exponent without a unit of its own gets none, so "1000E" prints as "1".
void append_unit(std::string& out, int base, std::int32_t exponent, Format format) {
  if (format == Format::kDecimalExponent) {
    if (exponent != 0) fmt::format_to(std::back_inserter(out), "e{}", exponent);
    return;
  }
  for (const Suffix& s : kSuffixes)
    if (s.base == base && s.exponent == exponent) out += s.text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

template <class Int>
std::int32_t remove_factors(Int& v, int factor) {
  if constexpr (std::is_integral_v<Int>)
    if (v == std::numeric_limits<Int>::min()) return 0;  // k8s 1.36: its negation wraps
  std::int32_t times = 0;
  for (; v != 0 && v % factor == 0; ++times) v /= factor;
  return times;
}

}  // namespace

// unscaled / 10^scale: the scale runs the other way round than a Quantity's.
struct Quantity::Decimal {
  Big unscaled;
  std::int32_t scale = 0;

  // Away from zero, to `digits` after the point. False: too large to write down.
  bool round_up(std::int32_t digits) {
    const std::int64_t shift = std::int64_t{digits} - scale;
    scale = digits;
    if (shift >= 0) {
      if (unscaled == 0) return true;
      if (shift > kMaxDigits) return false;
      unscaled *= power_of_ten(shift);
      return true;
    }
    const int sign = unscaled.sign();
    if (-shift > digits_of(unscaled) + 1) {
      unscaled = sign;
      return true;
    }
    Big rest;
    boost::multiprecision::divide_qr(Big(unscaled), power_of_ten(-shift), unscaled, rest);
    if (rest != 0) unscaled += sign;
    return true;
  }

  // The power of ten it reaches, at most two too low.
  std::int64_t magnitude() const { return digits_of(unscaled) - scale; }

  static int compare(const Decimal& a, const Decimal& b) {
    const int sign = a.unscaled.sign();
    if (sign != b.unscaled.sign()) return sign < b.unscaled.sign() ? -1 : 1;
    if (sign == 0) return 0;
    const std::int64_t gap = a.magnitude() - b.magnitude();
    if (gap > 2) return sign;
    if (gap < -2) return -sign;
    // About equally large, so the digits to be added are not more than those that are there.
    const std::int64_t shift = std::int64_t{a.scale} - b.scale;
    if (shift >= 0) return a.unscaled.compare(Big(b.unscaled * power_of_ten(shift)));
    return Big(a.unscaled * power_of_ten(-shift)).compare(b.unscaled);
  }

  void add(const Decimal& other) {
    const std::int64_t shift = std::int64_t{scale} - other.scale;
    if (shift > kMaxDigits || shift < -kMaxDigits) {
      if (other.unscaled != 0 && (unscaled == 0 || other.magnitude() > magnitude())) *this = other;
    } else if (shift >= 0) {
      unscaled += other.unscaled * power_of_ten(shift);
    } else {
      unscaled = unscaled * power_of_ten(-shift) + other.unscaled;
      scale = other.scale;
    }
  }
};

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return invalid(fmt::format(
        "invalid quantity \"{}\": {}; write a number and a unit, such as 500m, 1.5Gi or 2e3",
        text.substr(0, 64), why));
  };
  if (text.empty()) return refuse(kFormatWrong);
  Quantity q;
  if (text == "0") {
    q.format_ = Format::kDecimalSI;
    q.text_ = text;
    return q;
  }
  const std::optional<Parts> parts = split(text);
  if (!parts) return refuse(kFormatWrong);
  const std::optional<Unit> unit = unit_of(parts->suffix);
  if (!unit) return refuse(kSuffixWrong);
  q.format_ = unit->format;
  const bool binary = unit->format == Format::kBinarySI;
  const auto digits = static_cast<std::int64_t>(parts->whole.size() + parts->fraction.size());

  std::int32_t scale = 0;
  bool small;
  if (binary) {
    // A rough bound on the digits of the product; a fraction always takes the long way.
    small = parts->fraction.empty() && digits + unit->exponent * 3 / 10 <= 14;
  } else {
    small = digits <= kMaxInt64Digits;
    scale = wrap(std::int64_t{unit->exponent} - static_cast<std::int64_t>(parts->fraction.size()));
  }
  if (small && scale >= kNano) {
    std::int64_t number = 0;
    for (const char c : parts->whole) number = number * 10 + (c - '0');
    for (const char c : parts->fraction) number = number * 10 + (c - '0');
    std::int64_t result = number;
    if (!binary || !__builtin_mul_overflow(number, std::int64_t{1} << unit->exponent, &result)) {
      q.value_ = parts->positive ? result : -result;
      q.scale_ = scale;
      // Is it written canonically? k8s 1.36: only looks that way, so "+1.500" is kept as it is.
      const bool kept =
          binary ? (number & 7) != 0
                 : scale % 3 == 0 && parts->whole[0] != '0' && !(number % 1000 == 0 && digits >= 3);
      if (kept) q.text_ = text;
      return q;
    }
  }

  if (text.size() > kMaxDigits) return refuse(kTooLarge);
  std::string all;
  for (const char c : parts->value)
    if (c >= '0' && c <= '9' && (c != '0' || !all.empty())) all += c;
  if (parts->value.find_first_of("0123456789") == std::string_view::npos)
    return refuse(kNumberWrong);
  Decimal d;
  if (!all.empty()) d.unscaled.assign(all);  // without leading zeros, which would mean octal
  d.scale = wrap(static_cast<std::int64_t>(parts->fraction.size()) -
                 (binary ? 0 : std::int64_t{unit->exponent}));
  if (binary) d.unscaled <<= static_cast<unsigned>(unit->exponent);
  if (d.unscaled != 0 && !d.round_up(-kNano)) return refuse(kTooLarge);
  static const Decimal kMost{std::numeric_limits<std::int64_t>::max(), 0}, kOne{1, 0};
  if (binary && Decimal::compare(d, kMost) > 0) d = kMost;
  if (binary && d.unscaled > 0 && Decimal::compare(d, kOne) < 0) q.format_ = Format::kDecimalSI;
  if (!parts->positive) d.unscaled = -d.unscaled;
  q.big_ = std::make_shared<const Decimal>(std::move(d));
  return q;
}

Result<Quantity> Quantity::from_json(json::Slice slice) {
  // k8s 1.36: what stands between the quotes is taken as it is, so escapes are errors.
  std::string_view text = trimmed(slice.raw());
  if (text.empty() || text == "null") return Quantity();
  if (text.size() >= 2 && text.front() == '"') text = trimmed(text.substr(1, text.size() - 2));
  return parse(text);
}

Quantity Quantity::of(std::int64_t value, Format format, std::int32_t scale) {
  Quantity q;
  q.value_ = value;
  q.scale_ = scale;
  q.format_ = format;
  return q;
}

int Quantity::sign() const {
  if (big_) return big_->unscaled.sign();
  return value_ > 0 ? 1 : value_ < 0 ? -1 : 0;
}

Quantity::Decimal Quantity::decimal() const {
  return big_ ? *big_ : Decimal{value_, wrap(-std::int64_t{scale_})};
}

int Quantity::compare(const Quantity& a, const Quantity& b) {
  if (!a.big_ && !b.big_ && a.scale_ == b.scale_)
    return a.value_ < b.value_ ? -1 : a.value_ > b.value_ ? 1 : 0;
  if (const int x = a.sign(), y = b.sign(); x != y || x == 0) return x < y ? -1 : x > y ? 1 : 0;
  if (!a.big_ && !b.big_) {
    const auto low = std::min(a.scale_, b.scale_);
    const auto x = scale_up(a.value_, std::int64_t{a.scale_} - low);
    const auto y = scale_up(b.value_, std::int64_t{b.scale_} - low);
    if (x && y) return *x < *y ? -1 : *x > *y ? 1 : 0;
  }
  return Decimal::compare(a.decimal(), b.decimal());
}

void Quantity::accumulate(const Quantity& other, bool subtract) {
  text_.clear();
  if (is_zero()) format_ = other.format_;
  if (!big_ && !other.big_) {
    const std::int64_t by = subtract ? wrapping_negate(other.value_) : other.value_;
    if (by == 0) return;
    if (value_ == 0) {
      value_ = by;
      scale_ = other.scale_;
      return;
    }
    const std::int32_t low = std::min(scale_, other.scale_);
    const auto a = scale_up(value_, std::int64_t{scale_} - low);
    const auto b = scale_up(by, std::int64_t{other.scale_} - low);
    std::int64_t sum = 0;
    if (a && b && !__builtin_add_overflow(*a, *b, &sum)) {
      value_ = sum;
      scale_ = low;
      return;
    }
  }
  Decimal sum = decimal();
  Decimal by = other.decimal();
  if (subtract) by.unscaled = -by.unscaled;
  sum.add(by);
  big_ = std::make_shared<const Decimal>(std::move(sum));
  value_ = 0;
  scale_ = 0;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  accumulate(other, false);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  accumulate(other, true);
  return *this;
}

void Quantity::negate() {
  text_.clear();
  if (big_)
    big_ = std::make_shared<const Decimal>(Decimal{-big_->unscaled, big_->scale});
  else
    value_ = wrapping_negate(value_);
}

std::int64_t Quantity::scaled_value(std::int32_t scale) const {
  if (!big_) {
    const std::int64_t up = std::int64_t{scale_} - scale;
    if (up < 0) return scale_down(value_, -up);
    if (const auto fits = scale_up(value_, up)) return *fits;
    // k8s 1.36: these powers are multiplied at once and the product wraps; by others it becomes 0.
    const bool at_once = up == 1 || up == 2 || up == 3 || up == 6 || up == 9;
    if (!at_once || value_ == std::numeric_limits<std::int64_t>::min()) return 0;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value_) *
                                     static_cast<std::uint64_t>(*scale_up(1, up)));
  }
  const Big& unscaled = big_->unscaled;
  const std::int64_t down = std::int64_t{big_->scale} + scale;
  if (down == 0) return low_bits(unscaled);
  if (down < 0) {
    // k8s 1.36: the power is taken as a double; one that is too large becomes the least integer,
    // and the product wraps.
    const std::uint64_t power = -down > kMaxInt64Digits
                                    ? std::uint64_t{1} << 63
                                    : static_cast<std::uint64_t>(*scale_up(1, -down));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low_bits(unscaled)) * power);
  }
  if (down <= kMaxInt64Digits && unscaled < std::numeric_limits<std::int64_t>::max()) {
    // k8s 1.36: negative numbers come this way however long they are, and a remainder always adds
    // one, so -1.5 gives 0.
    const std::int64_t divisor = *scale_up(1, down);
    const std::int64_t low = low_bits(unscaled);
    return low / divisor + (low % divisor != 0 ? 1 : 0);
  }
  const int sign = unscaled.sign();
  if (down > digits_of(unscaled) + 1) return sign == 0 ? 0 : sign < 0 ? 0 : 1;
  Big quotient, rest;
  boost::multiprecision::divide_qr(unscaled, power_of_ten(down), quotient, rest);
  if (rest < 0) quotient -= 1;  // Go's DivMod leaves no negative remainder
  const auto low = static_cast<std::uint64_t>(low_bits(quotient));
  return static_cast<std::int64_t>(low + (rest != 0 ? 1 : 0));
}

std::string Quantity::text() const {
  if (!text_.empty()) return text_;
  if (is_zero()) return "0";
  Format format = format_;
  if (format == Format::kBinarySI) {
    static const Quantity kLow = of(-1024), kHigh = of(1024);
    bool decimal_form = *this > kLow && *this < kHigh;
    if (!decimal_form && !big_)
      decimal_form = scale_ < 0 && scale_up(scale_down(value_, -scale_), -scale_) != value_;
    Decimal rounded;
    if (!decimal_form && (big_ || scale_ > 0)) {
      rounded = decimal();
      decimal_form = !rounded.round_up(0) || Decimal::compare(rounded, decimal()) != 0;
    }
    if (!decimal_form) {
      std::string out;
      std::int32_t times = 0;
      if (!big_ && scale_ <= 0) {
        std::int64_t v = scale_down(value_, -scale_);
        times = remove_factors(v, 1024);
        out = std::to_string(v);
      } else {
        times = remove_factors(rounded.unscaled, 1024);
        out = rounded.unscaled.str();
      }
      append_unit(out, 2, times * 10, format);
      return out;
    }
    format = Format::kDecimalSI;
  }

  std::string out;
  std::int32_t exponent = 0;
  std::int64_t small = value_;
  bool fits = !big_;
  if (fits) {
    exponent = wrap(std::int64_t{scale_} + remove_factors(small, 10));
    const int extra = (exponent % 3 + 3) % 3;
    const auto shifted = scale_up(small, extra);
    fits = shifted.has_value();
    if (fits) out = std::to_string(*shifted);
    exponent = wrap(std::int64_t{exponent} - extra);
  }
  if (!fits) {
    Decimal d = decimal();
    exponent = wrap(remove_factors(d.unscaled, 10) - std::int64_t{d.scale});
    for (; exponent % 3 != 0; exponent = wrap(std::int64_t{exponent} - 1)) d.unscaled *= 10;
    out = d.unscaled.str();
  }
  append_unit(out, 10, exponent, format);
  return out;
}

}  // namespace berth::kube
