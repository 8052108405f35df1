// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/rules.h"

#include <algorithm>
#include <map>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "apiserver/kinds/object_meta.h"
#include "kube/label_selector.h"

namespace berth::apiserver {
namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

kube::Complaints check_port_number(std::int64_t port) {
  if (port >= 1 && port <= 65535) return {};
  return {"must be between 1 and 65535, inclusive"};
}

kube::Complaints check_port_name(std::string_view name) {
  kube::Complaints out;
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.size() > 15) out.emplace_back("must be no more than 15 characters");
  if (name.empty() || !std::all_of(name.begin(), name.end(),
                                   [&](char c) { return lower(c) || digit(c) || c == '-'; }))
    out.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (std::none_of(name.begin(), name.end(), lower))
    out.emplace_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos)
    out.emplace_back("must not contain consecutive hyphens");
  if (!name.empty() && (name.front() == '-' || name.back() == '-'))
    out.emplace_back("must not begin or end with a hyphen");
  return out;
}

kube::Complaints check_env_name(std::string_view name) {
  if (std::all_of(name.begin(), name.end(),
                  [](char c) { return c >= ' ' && c <= '~' && c != '='; }))
    return {};
  return {
      "a valid environment variable name must consist only of printable ASCII characters other "
      "than '='"};
}

kube::Complaints check_config_key(std::string_view key) {
  kube::Complaints out;
  if (key.size() > 253) out.emplace_back("must be no more than 253 characters");
  if (key.empty() || !std::all_of(key.begin(), key.end(), [](char c) {
        return letter(c) || digit(c) || c == '-' || c == '_' || c == '.';
      }))
    out.emplace_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')");
  if (key == "." || key == "..")
    out.push_back(fmt::format("must not be '{}'", key));
  else if (key.starts_with(".."))
    out.emplace_back("must not start with '..'");
  return out;
}

kube::Complaints check_header_name(std::string_view name) {
  if (!name.empty() && std::all_of(name.begin(), name.end(),
                                   [](char c) { return letter(c) || digit(c) || c == '-'; }))
    return {};
  return {
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
      "regex used for validation is '[-A-Za-z0-9]+')"};
}

kube::Complaints check_user_id(std::int64_t id) {
  if (id >= 0 && id <= 2147483647) return {};
  return {"must be between 0 and 2147483647, inclusive"};
}

kube::Complaints check_ip(std::string_view text) {
  const std::string value(text);
  unsigned char bytes[16];
  // inet_pton wants four parts and takes no leading zeros, as the strict rule of 1.36 does.
  if (inet_pton(AF_INET, value.c_str(), bytes) == 1) return {};
  if (inet_pton(AF_INET6, value.c_str(), bytes) == 1) {
    static constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::equal(kMapped, kMapped + 12, bytes))
      return {"must not be an IPv4-mapped IPv6 address"};
    return {};
  }
  std::string trimmed;
  bool fresh = true;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool padding = fresh && value[i] == '0' && i + 1 < value.size() && digit(value[i + 1]);
    if (!padding) trimmed += value[i];
    fresh = padding || value[i] == '.';
  }
  if (trimmed != value && inet_pton(AF_INET, trimmed.c_str(), bytes) == 1)
    return {"must not have leading 0s"};
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

void complain(const kube::Complaints& complaints, const Shown& value, const Path& at,
              Findings& findings) {
  for (const std::string& why : complaints) findings.invalid(at, value, why);
}

void must_not_be_negative(std::int64_t value, const Path& at, Findings& findings) {
  if (value < 0) findings.invalid(at, value, "must be greater than or equal to 0");
}

bool must_be_one_of(std::string_view value, std::initializer_list<std::string_view> words,
                    const Path& at, Findings& findings) {
  if (value.empty()) {
    findings.required(at);
    return false;
  }
  if (one_of(value, words)) return true;
  findings.not_supported(at, value, words);
  return false;
}

void must_be_port(Peek port, const Path& at, Findings& findings) {
  if (port.is_text())
    complain(check_port_name(port.text()), port.text(), at, findings);
  else
    complain(check_port_number(port.integer_or(0)), port.integer_or(0), at, findings);
}

void must_not_step_back(std::string_view path, const Path& at, Findings& findings) {
  for (std::string_view rest = path;;) {
    const std::size_t slash = rest.find('/');
    if (rest.substr(0, slash) == "..") {
      findings.invalid(at, path, "must not contain '..'");
      return;
    }
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
}

void must_descend(std::string_view path, const Path& at, Findings& findings) {
  if (path.starts_with('/')) findings.invalid(at, path, "must be a relative path");
  must_not_step_back(path, at, findings);
}

void must_be_local_path(std::string_view path, const Path& at, Findings& findings) {
  must_descend(path, at, findings);
  if (path.starts_with("..") && !path.starts_with("../"))
    findings.invalid(at, path, "must not start with '..'");
}

void must_be_mode(Peek mode, const Path& at, Findings& findings) {
  const std::int64_t bits = mode.integer_or(0);
  if (bits < 0 || bits > 0777)
    findings.invalid(at, bits, "must be a number between 0 and 0777 (octal), both inclusive");
}

void check_label_selector(Peek selector, const Path& at, Findings& findings) {
  check_labels(selector["matchLabels"], at / "matchLabels", findings);
  std::size_t i = 0;
  for (const json::Value& each : selector["matchExpressions"].elements()) {
    const Path here = (at / "matchExpressions")[i++];
    const Peek expression(each), values = expression["values"];
    const std::string_view op = expression["operator"].text();
    if (op == "In" || op == "NotIn") {
      if (values.size() == 0)
        findings.required(here / "values", "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (values.size() > 0)
        findings.forbidden(here / "values",
                           "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
      findings.invalid(here / "operator", op, "not a valid selector operator");
    }
    must_be(&kube::check_qualified_name, expression["key"].text(), here / "key", findings);
    for (std::size_t v = 0; v < values.size(); ++v)
      must_be(&kube::check_label_value, values[v].text(), (here / "values")[v], findings);
  }
}

kube::Quantity quantity(Peek value) {
  const Result<kube::Quantity> read = kube::Quantity::parse(value.text());
  return read ? *read : kube::Quantity();
}

void must_be_positive(std::int64_t value, const Path& at, Findings& findings) {
  if (value <= 0) findings.invalid(at, value, "must be greater than zero");
}

Shown shown_map(const Peek& map) {
  if (!map) return Shown::raw("null");
  std::map<std::string_view, const json::Value*> sorted;
  for (const auto& member : map.members()) sorted.emplace(sv(member.key()), &member.value());
  std::string out = "{";
  for (const auto& [key, value] : sorted)
    out +=
        fmt::format("{}{}:{}", out.size() > 1 ? "," : "", Shown(key).text(), json::print(*value));
  return Shown::raw(out + "}");
}

Shown shown_selector(const Peek& selector) {
  if (!selector) return Shown::raw("null");
  std::string out = "{";
  if (selector["matchLabels"].size() > 0)
    out += "\"matchLabels\":" + shown_map(selector["matchLabels"]).text();
  if (selector["matchExpressions"].size() > 0)
    out += fmt::format("{}\"matchExpressions\":{}", out.size() > 1 ? "," : "",
                       as_shown(selector["matchExpressions"]).text());
  return Shown::raw(out + "}");
}

bool is_readable(Peek label_selector) {
  if (!label_selector) return true;
  const std::string text = json::print(*label_selector.value());
  return kube::LabelSelector::from_json(json::Slice(text)).has_value();
}

Shown as_shown(const Peek& value) {
  if (value.value() != nullptr) return Shown::raw(json::print(*value.value()));
  return Shown::raw("null");
}

}  // namespace berth::apiserver
