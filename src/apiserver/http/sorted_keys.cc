// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/sorted_keys.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "json/slice.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Of other scripts all count as letters, which is what most of them are.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
int compare_bytes(char a, char b) {
  return static_cast<int>(static_cast<unsigned char>(a)) -
         static_cast<int>(static_cast<unsigned char>(b));
}

// Where two keys differ and one of them has a digit: by the numbers that begin there, if a zero is
// in the middle of one then as its next digits.
struct Number {
  std::uint64_t value = 0;
  std::size_t end = 0;
};
Number number_at(std::string_view text, std::size_t from, bool inside) {
  Number out{inside ? 1U : 0U, from};
  while (out.end < text.size() && is_digit(text[out.end]))
    out.value = out.value * 10 + static_cast<std::uint64_t>(text[out.end++] - '0');
  return out;
}
bool has_value_before(std::string_view text, std::size_t at) {
  while (at > 0 && is_digit(text[at - 1]))
    if (text[--at] != '0') return true;
  return false;
}

void write(json::Slice value, json::Writer& out) {
  if (value.is_array()) {
    out.array();
    for (const json::Slice each : value.elements()) write(each, out);
    out.end();
    return;
  }
  if (!value.is_object()) {
    out.raw(value.raw());
    return;
  }
  std::vector<std::pair<std::string, json::Slice>> members;
  for (auto at = value.members().begin(); at != nullptr; ++at)
    members.emplace_back(std::string((*at).key), (*at).value);
  // Go's order is none between some keys, and with this way to sort that does no harm.
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return yaml_key_before(a.first, b.first); });
  out.object();
  for (const auto& [key, each] : members) {
    out.member(key);
    write(each, out);
  }
  out.end();
}

}  // namespace

bool yaml_key_before(std::string_view a, std::string_view b) {
  const std::size_t both = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at < both && a[at] == b[at]) ++at;
  if (at == both) return a.size() < b.size();
  const bool letter_a = is_letter(a[at]), letter_b = is_letter(b[at]);
  if (letter_a && letter_b) return compare_bytes(a[at], b[at]) < 0;
  // After a digit a letter comes before what else there is, elsewhere after it.
  if (letter_a || letter_b) return at > 0 && is_digit(a[at - 1]) ? letter_a : letter_b;
  const bool inside = (a[at] == '0' || b[at] == '0') && has_value_before(a, at);
  const Number number_a = number_at(a, at, inside), number_b = number_at(b, at, inside);
  if (number_a.value != number_b.value) return number_a.value < number_b.value;
  if (number_a.end != number_b.end) return number_a.end < number_b.end;
  return compare_bytes(a[at], b[at]) < 0;
}

std::string with_sorted_keys(std::string_view good_json) {
  json::Writer out;
  write(json::Slice(good_json), out);
  return out.take();
}

}  // namespace berth::apiserver
