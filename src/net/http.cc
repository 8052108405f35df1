// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace berth::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The parameters of that item of the list.
std::optional<std::string_view> find_item(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t name_end = std::min(item.find(';'), item.size());
    if (same_token(trim(item.substr(0, name_end)), token)) return item.substr(name_end);
  }
  return {};
}

}  // namespace

bool same_token(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool lists_token(std::string_view list, std::string_view token) {
  return find_item(list, token).has_value();
}

bool accepts_gzip(const Headers& headers) {
  for (const std::string_view list : headers.all("Accept-Encoding")) {
    const auto parameters = find_item(list, "gzip");
    if (!parameters) continue;
    // "q=0", "q=0.0": anything but gzip.
    return parameters->find("q=") == std::string_view::npos ||
           parameters->find_first_of("123456789", parameters->find("q=")) != std::string_view::npos;
  }
  return false;
}

std::string http_date(WallTime time) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  using std::chrono::days;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::nanoseconds>(Duration(time.unix_nanos)));
  const auto day = std::chrono::floor<days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(all_, [&](const auto& header) { return same_token(header.first, name); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& [key, value] : all_)
    if (same_token(key, name)) return value;
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& header) { return same_token(header.first, name); });
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : all_)
    if (same_token(key, name)) values.push_back(value);
  return values;
}

std::string percent_encode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return {};
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace berth::net
