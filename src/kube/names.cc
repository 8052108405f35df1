// SPDX-License-Identifier: Apache-2.0
#include "kube/names.h"

#include <fmt/format.h>

namespace berth::kube {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }

bool is_dns_label(std::string_view s) {
  if (s.empty() || s.front() == '-' || s.back() == '-') return false;
  for (const char c : s)
    if (!is_lower(c) && !is_digit(c) && c != '-') return false;
  return true;
}

bool is_dns_subdomain(std::string_view s) {
  while (true) {
    const std::size_t dot = s.find('.');
    if (!is_dns_label(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool is_name_part(std::string_view s) {
  if (s.empty() || !is_alnum(s.front()) || !is_alnum(s.back())) return false;
  for (const char c : s)
    if (!is_alnum(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

// k8s 1.36: the older rules count characters and the newer ones bytes; both mean bytes.
std::string too_long(int most, std::string_view unit) {
  return fmt::format("must be no more than {} {}", most, unit);
}

Complaints subdomain(std::string_view s, std::string_view unit) {
  Complaints out;
  if (s.size() > 253) out.push_back(too_long(253, unit));
  if (!is_dns_subdomain(s))
    out.emplace_back(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
  return out;
}

constexpr std::string_view kNamePart =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

}  // namespace

Complaints check_dns_label(std::string_view s) {
  Complaints out;
  if (s.size() > 63) out.push_back(too_long(63, "characters"));
  if (is_dns_label(s)) return out;
  if (is_dns_subdomain(s))
    out.emplace_back("must not contain dots");
  else
    out.emplace_back(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  return out;
}

Complaints check_dns_subdomain(std::string_view s) { return subdomain(s, "characters"); }

Complaints check_dns_1035_label(std::string_view s) {
  Complaints out;
  if (s.size() > 63) out.push_back(too_long(63, "characters"));
  if (!is_dns_label(s) || !is_lower(s.front()))
    out.emplace_back(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
  return out;
}

Complaints check_qualified_name(std::string_view s) {
  Complaints out;
  std::string_view name = s;
  if (const std::size_t slash = s.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = s.substr(0, slash);
    name = s.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      out.push_back(
          fmt::format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
                      "'example.com/MyName')",
                      kNamePart));
      return out;
    }
    if (prefix.empty()) out.emplace_back("prefix part must be non-empty");
    if (!prefix.empty())
      for (const std::string& why : subdomain(prefix, "bytes")) out.push_back("prefix part " + why);
  }
  if (name.empty())
    out.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    out.push_back("name part " + too_long(63, "bytes"));
  if (!is_name_part(name)) out.push_back(fmt::format("name part {}", kNamePart));
  return out;
}

Complaints check_label_value(std::string_view s) {
  Complaints out;
  if (s.size() > 63) out.push_back(too_long(63, "bytes"));
  if (!s.empty() && !is_name_part(s))
    out.emplace_back(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  return out;
}

std::string joined(const Complaints& complaints) {
  return fmt::format("{}", fmt::join(complaints, "; "));
}

}  // namespace berth::kube
