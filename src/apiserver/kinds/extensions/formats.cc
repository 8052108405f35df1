// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/formats.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "apiserver/kinds/extensions/pattern.h"
#include "base/check.h"
#include "base/lower.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string without_dashes(std::string_view text) {
  std::string out(text);
  std::erase(out, '-');
  return out;
}

bool is_ipv4(std::string_view text) {
  int parts = 0;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || part.size() > 3 || !std::all_of(part.begin(), part.end(), digit))
      return false;
    if (part.size() > 1 && part[0] == '0') return false;
    if (std::stoi(std::string(part)) > 255) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts == 4;
    text.remove_prefix(dot + 1);
  }
}

bool is_ipv6(std::string_view text) {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
    if (text.empty()) return true;
  }
  while (true) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (colon == std::string_view::npos && part.find('.') != std::string_view::npos) {
      if (!is_ipv4(part)) return false;
      groups += 2;
      break;
    }
    if (part.empty() || part.size() > 4 || !std::all_of(part.begin(), part.end(), hex))
      return false;
    ++groups;
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
    if (text.starts_with(':')) {
      if (gap) return false;
      gap = true;
      text.remove_prefix(1);
      if (text.empty()) break;
    } else if (text.empty()) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 3 || !std::all_of(bits.begin(), bits.end(), digit))
    return false;
  const int count = std::stoi(std::string(bits));
  const std::string_view address = text.substr(0, slash);
  return (is_ipv4(address) && count <= 32) || (is_ipv6(address) && count <= 128);
}

bool is_mac(std::string_view text) {
  const auto grouped = [&](char separator, std::size_t group) {
    std::size_t bytes = 0;
    std::string_view rest = text;
    while (true) {
      const std::size_t at = rest.find(separator);
      const std::string_view part = rest.substr(0, at);
      if (part.size() != group || !std::all_of(part.begin(), part.end(), hex)) return false;
      bytes += group / 2;
      if (at == std::string_view::npos) return bytes == 6 || bytes == 8 || bytes == 20;
      rest.remove_prefix(at + 1);
    }
  };
  return grouped(':', 2) || grouped('-', 2) || grouped('.', 4);
}

// As Go's url.ParseRequestURI reads it.
bool is_uri(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  if (text == "*") return true;
  std::string_view rest = text;
  bool scheme = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) continue;
    if (digit(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) break;
      continue;
    }
    if (c == ':') {
      if (i == 0) return false;
      scheme = true;
      rest = text.substr(i + 1);
    }
    break;
  }
  if (!rest.starts_with('/')) return scheme;
  std::string_view path = rest;
  if (scheme && rest.starts_with("//")) {
    const std::size_t end = rest.find('/', 2);
    std::string_view authority = rest.substr(2, end == std::string_view::npos ? end : end - 2);
    path = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos)
      authority.remove_prefix(at + 1);
    if (authority.find_first_of(" <>\"\\^`{|}") != std::string_view::npos) return false;
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
      const std::string_view port = authority.substr(colon + 1);
      if (!std::all_of(port.begin(), port.end(), digit)) return false;
    }
  }
  const std::string_view until_query = path.substr(0, path.find('?'));
  for (std::size_t i = 0; i < until_query.size(); ++i)
    if (until_query[i] == '%' &&
        (i + 2 >= until_query.size() || !hex(until_query[i + 1]) || !hex(until_query[i + 2])))
      return false;
  return true;
}

// An address as Go's net/mail reads it, without comments and routes.
bool is_email(std::string_view text) {
  if (const std::size_t open = text.find('<'); open != std::string_view::npos) {
    if (!text.ends_with('>')) return false;
    text = text.substr(open + 1, text.size() - open - 2);
  }
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return false;
  const auto atoms = [](std::string_view dotted) {
    if (dotted.empty() || dotted.starts_with('.') || dotted.ends_with('.')) return false;
    if (dotted.find("..") != std::string_view::npos) return false;
    return std::all_of(dotted.begin(), dotted.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("!#$%&'*+-/=?^_`{|}~.").find(c) != std::string_view::npos ||
             static_cast<unsigned char>(c) >= 0x80;
    });
  };
  std::string_view local = text.substr(0, at);
  const std::string_view domain = text.substr(at + 1);
  const bool quoted = local.size() >= 2 && local.starts_with('"') && local.ends_with('"');
  if (!quoted && !atoms(local)) return false;
  if (domain.starts_with('[') && domain.ends_with(']')) return domain.size() > 2;
  return atoms(domain);
}

bool is_isbn10(std::string_view text) {
  const std::string plain = [&] {
    std::string out;
    for (const char c : text)
      if (c != '-' && c != ' ') out += c;
    return out;
  }();
  if (plain.size() != 10) return false;
  int sum = 0;
  for (int i = 0; i < 9; ++i) {
    if (!digit(plain[static_cast<std::size_t>(i)])) return false;
    sum += (i + 1) * (plain[static_cast<std::size_t>(i)] - '0');
  }
  if (plain[9] == 'X')
    sum += 100;
  else if (digit(plain[9]))
    sum += 10 * (plain[9] - '0');
  else
    return false;
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != '-' && c != ' ') plain += c;
  if (plain.size() != 13 || !std::all_of(plain.begin(), plain.end(), digit)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 12; ++i) sum += (i % 2 == 0 ? 1 : 3) * (plain[i] - '0');
  return (plain[12] - '0' - (10 - sum % 10) % 10) == 0;
}

bool is_credit_card(std::string_view text) {
  static const Pattern form = *Pattern::compile(
      "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-"
      "9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{"
      "11}|(?:2131|1800|35\\d{3})\\d{11}|6[27][0-9]{14})$");
  std::string plain;
  for (const char c : text)
    if (digit(c)) plain += c;
  if (!form.found_in(plain)) return false;
  int sum = 0;
  bool twice = false;
  for (auto at = plain.rbegin(); at != plain.rend(); ++at, twice = !twice) {
    int value = *at - '0';
    if (twice) value = value * 2 > 9 ? value * 2 - 9 : value * 2;
    sum += value;
  }
  return sum % 10 == 0;
}

bool is_date(std::string_view text) {
  if (text.size() != 10) return false;
  return kube::parse_time(std::string(text) + "T00:00:00Z").has_value() && text[4] == '-';
}

bool is_date_time(std::string_view text) {
  static const Pattern form =
      *Pattern::compile("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");
  const std::string low = lower(text);
  const std::size_t t = low.find('t');
  if (low.size() < 4 || t == std::string::npos || !is_date(low.substr(0, t))) return false;
  const std::string rest = low.substr(t + 1);
  if (!form.found_in(rest)) return false;
  return rest.substr(0, 2) <= "23" && rest.substr(3, 2) <= "59" && rest.substr(6, 2) <= "59";
}

// Go's own durations, or Scala's: "2 days".
bool is_duration(std::string_view text) {
  if (kube::parse_duration(text)) return true;
  static const Pattern form = *Pattern::compile(
      "(?i)\\d+\\s*(ns|nano[a-zµ]*|us|µs|micro[a-zµ]*|ms|milli[a-zµ]*|s|sec[a-zµ]*|m|min[a-zµ]*|h|"
      "hr|hour[a-zµ]*|d|day[a-zµ]*|w|wk|week[a-zµ]*)([^a-zµ]|$)");
  return form.found_in(text);
}

bool matches(const Pattern& pattern, std::string_view text) { return pattern.found_in(text); }

using Check = bool (*)(std::string_view);

template <const char* const* Text>
bool by_pattern(std::string_view text) {
  static const Pattern pattern = *Pattern::compile(*Text);
  return matches(pattern, text);
}

const char* const kUuid = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const char* const kUuid3 =
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const char* const kUuid4 =
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const char* const kUuid5 =
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const char* const kHostname =
    R"(^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$)";
const char* const kSsn = R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)";
const char* const kHexColor = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
const char* const kRgbColor =
    R"(^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$)";
const char* const kBase64 =
    "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$";
const char* const kShortName = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const char* const kLongName = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const char* const kBson = "^[0-9a-fA-F]{24}$";

bool is_hostname(std::string_view text) {
  if (!by_pattern<&kHostname>(text) || text.size() > 255) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (text.substr(0, dot).size() > 63) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

const std::map<std::string_view, Check>& formats() {
  static const std::map<std::string_view, Check> all = {
      {"bsonobjectid", &by_pattern<&kBson>},
      {"uri", &is_uri},
      {"email", &is_email},
      {"hostname", &is_hostname},
      {"ipv4", &is_ipv4},
      {"ipv6", &is_ipv6},
      {"cidr", &is_cidr},
      {"mac", &is_mac},
      {"uuid", &by_pattern<&kUuid>},
      {"uuid3", &by_pattern<&kUuid3>},
      {"uuid4", &by_pattern<&kUuid4>},
      {"uuid5", &by_pattern<&kUuid5>},
      {"isbn", [](std::string_view t) { return is_isbn10(t) || is_isbn13(t); }},
      {"isbn10", &is_isbn10},
      {"isbn13", &is_isbn13},
      {"creditcard", &is_credit_card},
      {"ssn", &by_pattern<&kSsn>},
      {"hexcolor", &by_pattern<&kHexColor>},
      {"rgbcolor", &by_pattern<&kRgbColor>},
      {"byte", &by_pattern<&kBase64>},
      {"password", [](std::string_view) { return true; }},
      {"date", &is_date},
      {"duration", &is_duration},
      {"datetime", &is_date_time},
      {"k8sshortname",
       [](std::string_view t) { return t.size() <= 63 && by_pattern<&kShortName>(t); }},
      {"k8slongname",
       [](std::string_view t) { return t.size() <= 253 && by_pattern<&kLongName>(t); }},
  };
  return all;
}

}  // namespace

std::string checked_format(std::string_view format, std::string_view type) {
  const auto one_of = [&](std::string_view a, std::string_view b) {
    return format == a || format == b ? std::string(format) : std::string();
  };
  if (format.empty()) return "";
  if (type.empty() || type == "string" || type == "many")
    return formats().contains(without_dashes(format)) ? std::string(format) : std::string();
  if (type == "integer") return one_of("int32", "int64");
  if (type == "number") return one_of("float", "double");
  return "";
}

bool has_format(std::string_view text, std::string_view format) {
  const auto found = formats().find(without_dashes(format));
  return found == formats().end() || found->second(text);
}

}  // namespace berth::apiserver
