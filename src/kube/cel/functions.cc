// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/functions.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <re2/re2.h>

#include "json/writer.h"
#include "kube/time.h"

namespace berth::cel {
namespace {

using enum Kind;

std::uint64_t traversal(std::string_view text) { return 1 + text.size() / 10; }
Value no_overload() { return Value::error("no such overload"); }

std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// RFC 3339 with the fraction that is there, as Go prints it.
std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t part = ns % kSecond;
  if (part < 0) part += kSecond;
  std::string out = kube::time_text(WallTime{ns - part});
  if (part == 0) return out;
  std::string fraction = fmt::format(".{:09}", part);
  while (fraction.back() == '0') fraction.pop_back();
  out.insert(out.size() - 1, fraction);
  return out;
}
std::string seconds_text(std::int64_t ns) {
  std::string out;
  json::append_double(out, static_cast<double>(ns) / 1e9);
  return out + "s";
}

Value to_int(const Value& from) {
  switch (from.kind()) {
    case kInt:
      return from;
    case kUint:
      if (from.unsigned_integer() >> 63) return Value::error("integer overflow");
      return Value::integer(static_cast<std::int64_t>(from.unsigned_integer()));
    case kDouble:
      if (!(from.number() > -9.223372036854775e18 && from.number() < 9.223372036854775e18))
        return Value::error("integer overflow");
      return Value::integer(static_cast<std::int64_t>(from.number()));
    case kTimestamp:
      return Value::integer(from.integer() / 1'000'000'000);
    default:
      break;
  }
  std::int64_t out = 0;
  const std::string_view text = from.text();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    return Value::error(fmt::format("type conversion error from 'string' to 'int'"));
  return Value::integer(out);
}

Value to_uint(const Value& from) {
  switch (from.kind()) {
    case kUint:
      return from;
    case kInt:
      if (from.integer() < 0) return Value::error("unsigned integer overflow");
      return Value::unsigned_integer(static_cast<std::uint64_t>(from.integer()));
    case kDouble:
      if (!(from.number() >= 0 && from.number() < 1.8446744073709550e19))
        return Value::error("unsigned integer overflow");
      return Value::unsigned_integer(static_cast<std::uint64_t>(from.number()));
    default:
      break;
  }
  std::uint64_t out = 0;
  const std::string_view text = from.text();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    return Value::error(fmt::format("type conversion error from 'string' to 'uint'"));
  return Value::unsigned_integer(out);
}

Value to_double(const Value& from) {
  switch (from.kind()) {
    case kDouble:
      return from;
    case kInt:
      return Value::number(static_cast<double>(from.integer()));
    case kUint:
      return Value::number(static_cast<double>(from.unsigned_integer()));
    default:
      break;
  }
  double out = 0;
  const std::string_view text = from.text();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    return Value::error(fmt::format("type conversion error from 'string' to 'double'"));
  return Value::number(out);
}

Value to_text(const Value& from) {
  switch (from.kind()) {
    case kString:
      return from;
    case kInt:
      return Value::text(std::to_string(from.integer()));
    case kUint:
      return Value::text(std::to_string(from.unsigned_integer()));
    case kBool:
      return Value::text(from.boolean() ? "true" : "false");
    case kTimestamp:
      return Value::text(time_text(from.integer()));
    case kDuration:
      return Value::text(seconds_text(from.integer()));
    default: {
      std::string out;
      if (std::isfinite(from.number()))
        json::append_double(out, from.number());
      else
        out = std::isnan(from.number()) ? "NaN" : from.number() < 0 ? "-Inf" : "+Inf";
      return Value::text(std::move(out));
    }
  }
}

Value to_quantity(const Value& from) {
  const auto amount = kube::Quantity::parse(from.text());
  if (amount) return Value::quantity(*amount);
  return Value::error(amount.error().message);
}

template <class F>
Value texts(Arguments a, Meter& meter, F test) {
  meter.spend(traversal(a[0].text()));
  return Value::boolean(test(a[0].text(), a[1].text()));
}

double approximate(const kube::Quantity& amount) {
  // Whole units where they are many, nano-units where they are few.
  const std::int64_t whole = amount.value();
  if (whole > 1'000'000'000 || whole < -1'000'000'000) return static_cast<double>(whole);
  return static_cast<double>(amount.scaled_value(-9)) / 1e9;
}
bool is_whole(const kube::Quantity& amount) { return amount == kube::Quantity::of(amount.value()); }
Value summed(const Value& a, const Value& b, bool less) {
  kube::Quantity out = a.quantity();
  const kube::Quantity other = b.kind() == kInt ? kube::Quantity::of(b.integer()) : b.quantity();
  if (less)
    out -= other;
  else
    out += other;
  return Value::quantity(std::move(out));
}

std::vector<Function> all_functions() {
  std::vector<Function> out;
  const auto add = [&](std::string_view name, bool method, std::vector<Kind> takes, Kind gives,
                       Value (*run)(Arguments, Meter&)) {
    out.push_back({name, method, std::move(takes), gives, run});
  };
  for (const bool method : {false, true}) {
    for (const Kind kind : {kList, kMap})
      add("size", method, {kind}, kInt, [](Arguments a, Meter&) {
        return Value::integer(static_cast<std::int64_t>(a[0].size()));
      });
    add("size", method, {kBytes}, kInt, [](Arguments a, Meter&) {
      return Value::integer(static_cast<std::int64_t>(a[0].text().size()));
    });
    add("size", method, {kString}, kInt, [](Arguments a, Meter& meter) {
      meter.spend(traversal(a[0].text()));
      return Value::integer(characters(a[0].text()));
    });
    add("matches", method, {kString, kString}, kBool, [](Arguments a, Meter& meter) {
      // Made anew each time: what a pattern's program takes goes with the square of its length.
      const std::size_t length = a[1].text().size();
      if (length > 1'000 || !meter.spend(100 + 10 * length))
        return Value::error("a pattern that is not constant is too long");
      std::string why;
      const auto pattern = compile_pattern(a[1].text(), why);
      return pattern == nullptr ? Value::error(why) : matches(a[0].text(), *pattern, meter);
    });
  }
  add("contains", true, {kString, kString}, kBool, [](Arguments a, Meter& meter) {
    meter.spend(traversal(a[0].text()) * traversal(a[1].text()));
    return Value::boolean(a[0].text().find(a[1].text()) != std::string_view::npos);
  });
  add("startsWith", true, {kString, kString}, kBool, [](Arguments a, Meter& meter) {
    return texts(a, meter, [](auto text, auto part) { return text.starts_with(part); });
  });
  add("endsWith", true, {kString, kString}, kBool, [](Arguments a, Meter& meter) {
    return texts(a, meter, [](auto text, auto part) { return text.ends_with(part); });
  });

  for (const Kind from : {kInt, kUint, kDouble, kString, kTimestamp})
    add("int", false, {from}, kInt, [](Arguments a, Meter&) { return to_int(a[0]); });
  for (const Kind from : {kInt, kUint, kDouble, kString})
    add("uint", false, {from}, kUint, [](Arguments a, Meter&) { return to_uint(a[0]); });
  for (const Kind from : {kInt, kUint, kDouble, kString})
    add("double", false, {from}, kDouble, [](Arguments a, Meter&) { return to_double(a[0]); });
  for (const Kind from : {kString, kInt, kUint, kDouble, kBool, kTimestamp, kDuration})
    add("string", false, {from}, kString, [](Arguments a, Meter&) { return to_text(a[0]); });
  add("dyn", false, {kDyn}, kDyn, [](Arguments a, Meter&) { return a[0]; });
  add("type", false, {kDyn}, kType, [](Arguments a, Meter&) { return Value::type(a[0].kind()); });

  add("duration", false, {kDuration}, kDuration, [](Arguments a, Meter&) { return a[0]; });
  add("duration", false, {kString}, kDuration, [](Arguments a, Meter&) {
    const auto read = kube::parse_duration(a[0].text());
    return read ? Value::duration(*read)
                : Value::error("type conversion error from 'string' to 'google.protobuf.Duration'");
  });
  add("timestamp", false, {kTimestamp}, kTimestamp, [](Arguments a, Meter&) { return a[0]; });
  add("timestamp", false, {kString}, kTimestamp, [](Arguments a, Meter&) {
    const auto read = kube::parse_time(a[0].text());
    return read
               ? Value::timestamp(*read)
               : Value::error("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  });

  add("quantity", false, {kString}, kQuantity, [](Arguments a, Meter& meter) {
    meter.spend(traversal(a[0].text()));
    return to_quantity(a[0]);
  });
  add("isQuantity", false, {kString}, kBool, [](Arguments a, Meter& meter) {
    meter.spend(traversal(a[0].text()));
    return Value::boolean(!to_quantity(a[0]).is_error());
  });
  add("isLessThan", true, {kQuantity, kQuantity}, kBool,
      [](Arguments a, Meter&) { return Value::boolean(a[0].quantity() < a[1].quantity()); });
  add("isGreaterThan", true, {kQuantity, kQuantity}, kBool,
      [](Arguments a, Meter&) { return Value::boolean(a[0].quantity() > a[1].quantity()); });
  add("compareTo", true, {kQuantity, kQuantity}, kInt, [](Arguments a, Meter&) {
    const auto found = a[0].quantity() <=> a[1].quantity();
    return Value::integer(found < 0 ? -1 : found > 0 ? 1 : 0);
  });
  add("sign", true, {kQuantity}, kInt,
      [](Arguments a, Meter&) { return Value::integer(a[0].quantity().sign()); });
  add("isInteger", true, {kQuantity}, kBool,
      [](Arguments a, Meter&) { return Value::boolean(is_whole(a[0].quantity())); });
  add("asInteger", true, {kQuantity}, kInt, [](Arguments a, Meter&) {
    return is_whole(a[0].quantity()) ? Value::integer(a[0].quantity().value())
                                     : Value::error("cannot convert value to integer");
  });
  add("asApproximateFloat", true, {kQuantity}, kDouble,
      [](Arguments a, Meter&) { return Value::number(approximate(a[0].quantity())); });
  for (const Kind other : {kQuantity, kInt}) {
    add("add", true, {kQuantity, other}, kQuantity,
        [](Arguments a, Meter&) { return summed(a[0], a[1], false); });
    add("sub", true, {kQuantity, other}, kQuantity,
        [](Arguments a, Meter&) { return summed(a[0], a[1], true); });
  }
  return out;
}

// Of two integers, with what the processor says of overflow.
Value integers(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  const Value overflow = Value::error("integer overflow");
  switch (op[1]) {
    case '+':
      return __builtin_add_overflow(a, b, &out) ? overflow : Value::integer(out);
    case '-':
      return __builtin_sub_overflow(a, b, &out) ? overflow : Value::integer(out);
    case '*':
      return __builtin_mul_overflow(a, b, &out) ? overflow : Value::integer(out);
    case '/':
      if (b == 0) return Value::error("division by zero");
      return b == -1 && a == INT64_MIN ? overflow : Value::integer(a / b);
    default:
      if (b == 0) return Value::error("modulus by zero");
      return b == -1 ? Value::integer(0) : Value::integer(a % b);
  }
}
Value unsigned_integers(std::string_view op, std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  const Value overflow = Value::error("unsigned integer overflow");
  switch (op[1]) {
    case '+':
      return __builtin_add_overflow(a, b, &out) ? overflow : Value::unsigned_integer(out);
    case '-':
      return __builtin_sub_overflow(a, b, &out) ? overflow : Value::unsigned_integer(out);
    case '*':
      return __builtin_mul_overflow(a, b, &out) ? overflow : Value::unsigned_integer(out);
    case '/':
      return b == 0 ? Value::error("division by zero") : Value::unsigned_integer(a / b);
    default:
      return b == 0 ? Value::error("modulus by zero") : Value::unsigned_integer(a % b);
  }
}
Value times(std::string_view op, const Value& a, const Value& b, Kind gives) {
  const Value sum = integers(op, a.integer(), b.integer());
  if (sum.is_error()) return sum;
  return gives == kDuration ? Value::duration(Duration(sum.integer()))
                            : Value::timestamp(WallTime{sum.integer()});
}
bool is_number(Kind kind) { return kind == kInt || kind == kUint || kind == kDouble; }

}  // namespace

std::span<const Function> functions() {
  static const std::vector<Function> all = all_functions();
  return all;
}

bool is_foreign_function(std::string_view name) {
  static constexpr std::string_view kForeign[] = {"all",
                                                  "allowed",
                                                  "authorizer",
                                                  "bool",
                                                  "bytes",
                                                  "charAt",
                                                  "check",
                                                  "cidr",
                                                  "containsCIDR",
                                                  "containsIP",
                                                  "distinct",
                                                  "errored",
                                                  "family",
                                                  "find",
                                                  "findAll",
                                                  "flatten",
                                                  "format",
                                                  "getDate",
                                                  "getDayOfMonth",
                                                  "getDayOfWeek",
                                                  "getDayOfYear",
                                                  "getEscapedPath",
                                                  "getFullYear",
                                                  "getHost",
                                                  "getHostname",
                                                  "getHours",
                                                  "getMilliseconds",
                                                  "getMinutes",
                                                  "getMonth",
                                                  "getPort",
                                                  "getQuery",
                                                  "getScheme",
                                                  "getSeconds",
                                                  "hasValue",
                                                  "indexOf",
                                                  "ip",
                                                  "isCIDR",
                                                  "isIP",
                                                  "isSemver",
                                                  "isSorted",
                                                  "isURL",
                                                  "join",
                                                  "lastIndexOf",
                                                  "lowerAscii",
                                                  "major",
                                                  "max",
                                                  "min",
                                                  "minor",
                                                  "orValue",
                                                  "patch",
                                                  "prefixLength",
                                                  "quote",
                                                  "range",
                                                  "replace",
                                                  "reverse",
                                                  "semver",
                                                  "slice",
                                                  "sort",
                                                  "sortBy",
                                                  "split",
                                                  "strings",
                                                  "substring",
                                                  "sum",
                                                  "transformList",
                                                  "transformMap",
                                                  "trim",
                                                  "upperAscii",
                                                  "url",
                                                  "validate",
                                                  "value"};
  return std::find(std::begin(kForeign), std::end(kForeign), name) != std::end(kForeign);
}

std::optional<Kind> arithmetic_kind(std::string_view op, Kind a, Kind b) {
  const char mark = op[1];
  if (a == b && (a == kInt || a == kUint)) return a;
  if (a == b && a == kDouble && mark != '%') return a;
  if (mark == '+') {
    if (a == b && (a == kString || a == kBytes || a == kList || a == kDuration)) return a;
    if ((a == kTimestamp && b == kDuration) || (a == kDuration && b == kTimestamp))
      return kTimestamp;
  }
  if (mark == '-') {
    if (a == b && (a == kDuration || a == kTimestamp)) return kDuration;
    if (a == kTimestamp && b == kDuration) return kTimestamp;
  }
  return std::nullopt;
}

Value arithmetic(std::string_view op, const Value& a, const Value& b, Meter& meter) {
  const auto gives = arithmetic_kind(op, a.kind(), b.kind());
  if (!gives) return no_overload();
  switch (*gives) {
    case kInt:
      return integers(op, a.integer(), b.integer());
    case kUint:
      return unsigned_integers(op, a.unsigned_integer(), b.unsigned_integer());
    case kDouble:
      switch (op[1]) {
        case '+':
          return Value::number(a.number() + b.number());
        case '-':
          return Value::number(a.number() - b.number());
        case '*':
          return Value::number(a.number() * b.number());
        default:
          return Value::number(a.number() / b.number());
      }
    case kDuration:
    case kTimestamp:
      return times(op, a, b, *gives);
    case kList: {
      Values out;
      if (!meter.spend(a.size() + b.size())) return Value::error("");
      out.reserve(a.size() + b.size());
      for (const Value* each : {&a, &b})
        each->each([&](const Value& value) { return out.push_back(value), true; });
      return Value::list(std::move(out));
    }
    default: {
      if (!meter.spend(traversal(a.text()) + traversal(b.text()))) return Value::error("");
      std::string out;
      out.reserve(a.text().size() + b.text().size());
      out.append(a.text()).append(b.text());
      if (*gives == kString) return Value::text(std::move(out));
      auto own = std::make_shared<const std::string>(std::move(out));
      return Value::text_of({*own, own}, kBytes);
    }
  }
}

bool comparable(Kind a, Kind b) {
  if (is_number(a) && is_number(b)) return true;
  return a == b && (a == kBool || a == kString || a == kBytes || a == kTimestamp || a == kDuration);
}

std::optional<int> order(const Value& a, const Value& b) {
  const auto of = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.kind() != b.kind() || a.kind() == kDouble) {
    const auto real = [](const Value& value) {
      return value.kind() == kDouble ? value.number()
             : value.kind() == kInt  ? static_cast<double>(value.integer())
                                     : static_cast<double>(value.unsigned_integer());
    };
    if (a.kind() == kInt && b.kind() == kUint)
      return a.integer() < 0 ? -1
                             : of(static_cast<std::uint64_t>(a.integer()), b.unsigned_integer());
    if (a.kind() == kUint && b.kind() == kInt)
      return b.integer() < 0 ? 1
                             : of(a.unsigned_integer(), static_cast<std::uint64_t>(b.integer()));
    if (std::isnan(real(a)) || std::isnan(real(b))) return std::nullopt;
    return of(real(a), real(b));
  }
  switch (a.kind()) {
    case kBool:
      return of(a.boolean(), b.boolean());
    case kUint:
      return of(a.unsigned_integer(), b.unsigned_integer());
    case kString:
    case kBytes:
      return of(a.text(), b.text());
    default:
      return of(a.integer(), b.integer());
  }
}

std::shared_ptr<const re2::RE2> compile_pattern(std::string_view text, std::string& why) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{4} << 20);
  auto out = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (out->ok()) return out;
  why = fmt::format("error parsing regexp: {}", out->error());
  return nullptr;
}

Value matches(std::string_view text, const re2::RE2& pattern, Meter& meter) {
  const auto size = static_cast<std::uint64_t>(std::max(1, pattern.ProgramSize()));
  if (!meter.spend(traversal(text) * (1 + size / 4))) return Value::error("");
  return Value::boolean(
      re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern));
}

}  // namespace berth::cel
