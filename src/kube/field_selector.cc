// SPDX-License-Identifier: Apache-2.0
#include "kube/field_selector.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::kube {
namespace {

// Cuts at commas that no backslash escapes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      parts.push_back(text.substr(from, i - from));
      from = i + 1;
    }
  }
  parts.push_back(text.substr(from));
  return parts;
}

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // k8s 1.36: the character's number is told, not the character.
    if (c == ',' || c == '=')
      return invalid(fmt::format("unescaped character in value: {}", static_cast<int>(c)));
    if (c != '\\') {
      out += c;
      continue;
    }
    if (++i == text.size() || (text[i] != '\\' && text[i] != ',' && text[i] != '='))
      return invalid(fmt::format("invalid escape sequence: {}", text.substr(i - 1, 2)));
    out += text[i];
  }
  return out;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return invalid(fmt::format("invalid field selector \"{}\": {}", text, why));
  };
  std::vector<std::string_view> parts = split(text);
  std::sort(parts.begin(), parts.end());
  FieldSelector selector;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return refuse(fmt::format("can't understand '{}'; write field=value or field!=value", part));
    const bool negated = equals > 0 && part[equals - 1] == '!';
    const std::size_t value =
        equals + (!negated && part.substr(equals + 1).starts_with('=') ? 2 : 1);
    Result<std::string> unescaped = unescape(part.substr(value));
    if (!unescaped) return refuse(unescaped.error().message);
    Term term{std::string(part.substr(0, equals - (negated ? 1 : 0))), std::move(*unescaped),
              !negated};
    // k8s 1.36: a term without field and value is dropped.
    if (term.field.empty() && term.value.empty()) continue;
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::matches(
    const std::function<std::string(std::string_view field)>& value_of) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return (value_of(term.field) == term.value) == term.equal;
  });
}

std::optional<std::string> FieldSelector::required(std::string_view field) const {
  for (const Term& term : terms_)
    if (term.equal && term.field == field) return term.value;
  return std::nullopt;
}

std::string FieldSelector::text() const {
  std::string out;
  for (const Term& term : terms_) {
    if (!out.empty()) out += ',';
    out += term.field;
    out += term.equal ? "=" : "!=";
    for (const char c : term.value) {
      if (c == '\\' || c == ',' || c == '=') out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace berth::kube
