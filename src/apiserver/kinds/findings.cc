// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/findings.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {
namespace {

// ": why", or nothing.
std::string because(std::string_view detail) {
  return detail.empty() ? std::string() : fmt::format(": {}", detail);
}

}  // namespace

std::string Path::text() const {
  std::string out;
  for (std::size_t i = 0; i < size_; ++i) {
    const Step& step = steps_[i];
    if (step.index == kName) {
      if (!out.empty()) out += '.';
      out += step.word;
    } else if (step.index == kKey) {
      out += fmt::format("[{}]", step.word);
    } else {
      out += fmt::format("[{}]", step.index);
    }
  }
  return out;
}

Shown::Shown(std::string_view text) : text_(json::quoted(text)) {}
Shown::Shown(std::int64_t number) : text_(std::to_string(number)) {}
Shown::Shown(bool value) : text_(value ? "true" : "false") {}
Shown Shown::raw(std::string text) {
  Shown shown;
  shown.text_ = std::move(text);
  return shown;
}

void Findings::add(std::string_view reason, const Path& at, std::string message) {
  causes_.push_back({std::string(reason), std::move(message), at.text()});
}

void Findings::required(const Path& at, std::string_view detail) {
  add("FieldValueRequired", at, "Required value" + because(detail));
}
void Findings::invalid(const Path& at, const Shown& value, std::string_view detail) {
  add("FieldValueInvalid", at, fmt::format("Invalid value: {}{}", value.text(), because(detail)));
}
void Findings::invalid_unshown(const Path& at, std::string_view detail) {
  add("FieldValueInvalid", at, "Invalid value" + because(detail));
}
void Findings::not_supported(const Path& at, const Shown& value,
                             std::span<const std::string_view> allowed) {
  std::string list;
  for (const std::string_view word : allowed)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", json::quoted(word));
  add("FieldValueNotSupported", at,
      fmt::format("Unsupported value: {}{}", value.text(),
                  because(list.empty() ? "" : "supported values: " + list)));
}
void Findings::duplicate(const Path& at, const Shown& value) {
  add("FieldValueDuplicate", at, fmt::format("Duplicate value: {}", value.text()));
}
void Findings::not_found(const Path& at, const Shown& value, std::string_view detail) {
  add("FieldValueNotFound", at, fmt::format("Not found: {}{}", value.text(), because(detail)));
}
void Findings::forbidden(const Path& at, std::string_view detail) {
  add("FieldValueForbidden", at, "Forbidden" + because(detail));
}
void Findings::too_long(const Path& at, std::size_t most) {
  add("FieldValueTooLong", at, fmt::format("Too long: may not be more than {} bytes", most));
}
void Findings::too_many(const Path& at, std::int64_t found, std::int64_t most) {
  add("FieldValueTooMany", at,
      fmt::format("Too many: {}: must have at most {} items", found, most));
}

void Findings::type_invalid(const Path& at, const Shown& value, std::string_view detail) {
  add("FieldValueTypeInvalid", at,
      fmt::format("Invalid value: {}{}", value.text(), because(detail)));
}

Findings Findings::sorted() const {
  Findings out = *this;
  std::stable_sort(out.causes_.begin(), out.causes_.end(), [](const Cause& a, const Cause& b) {
    return a.field + ": " + a.message < b.field + ": " + b.message;
  });
  return out;
}

Error Findings::error(const kube::Kind& kind, std::string_view name) const {
  std::vector<std::string> texts;
  for (const Cause& cause : causes_) {
    std::string text = fmt::format("{}: {}", cause.field, cause.message);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  const std::string all =
      texts.size() == 1 ? texts[0] : fmt::format("[{}]", fmt::join(texts, ", "));
  Error error;
  error.reason = Reason::kInvalid;
  error.message = fmt::format("{}{}{} {} is invalid: {}", kind.kind, kind.group.empty() ? "" : ".",
                              kind.group, json::quoted(name), all);
  error.causes = causes_;
  return error;
}

}  // namespace berth::apiserver
