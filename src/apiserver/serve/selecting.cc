// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/selecting.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/serve/convert.h"
#include "apiserver/serve/errors.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

const FieldLabel* label_named(const KindRow& row, std::string_view field) {
  const auto found = std::find_if(row.field_labels.begin(), row.field_labels.end(),
                                  [&](const FieldLabel& label) { return label.label == field; });
  return found == row.field_labels.end() ? nullptr : &*found;
}

bool is_identity(std::string_view field) {
  return field == "metadata.name" || field == "metadata.namespace";
}

Error unsupported(const KindRow& row, std::string_view field) {
  // k8s 1.36: kinds with fields of their own say it shorter.
  if (row.custom || !row.field_labels.empty())
    return bad_request(fmt::format("field label not supported: {}", field));
  return bad_request(
      fmt::format("{} is not a known field selector: only \"metadata.name\", "
                  "\"metadata.namespace\"",
                  json::quoted(field)));
}

// The selector's own words, without ours around them.
std::string inner(const Error& error) {
  const std::size_t at = error.message.find("\": ");
  return at == std::string::npos ? error.message : error.message.substr(at + 3);
}

// k8s 1.36: what stands between two requirements is told without saying that it belongs to one.
std::string told(std::string why) {
  constexpr std::string_view kEnd = "',' or end of string";
  if (why.ends_with(kEnd))
    return why.substr(0, why.size() - kEnd.size()) + "',' or 'end of string'";
  if (why.ends_with("identifier after ','")) return why;
  if (why.ends_with("!, identifier, or end of string"))
    return why.substr(0, why.size() - 13) + "'end of string'";
  // k8s 1.36: one of the sentences lacks the comma of the others.
  constexpr std::string_view kOpening = ", expected: '('";
  if (why.ends_with(kOpening)) why = why.substr(0, why.size() - kOpening.size()) + " expected: '('";
  // k8s 1.36: the place of a key is told as Go prints none.
  constexpr std::string_view kKey = "key: Invalid value";
  if (why.starts_with(kKey)) why.replace(0, 3, "<nil>");
  return "unable to parse requirement: " + why;
}

}  // namespace

Result<Selector> selector_of(const KindRow& row, const kube::Options& options) {
  Selector selector;
  if (!options.label_selector.empty()) {
    auto labels = kube::LabelSelector::parse(options.label_selector);
    if (!labels) return tl::unexpected(bad_request(told(inner(labels.error()))));
    selector.labels = std::move(*labels);
  }
  if (options.field_selector.empty()) return selector;
  auto fields = kube::FieldSelector::parse(options.field_selector);
  if (!fields) {
    const std::string why = inner(fields.error());
    if (why.starts_with("unescaped character") || why.starts_with("invalid escape sequence"))
      return tl::unexpected(bad_request("invalid field selector: " + why));
    return tl::unexpected(bad_request(fmt::format(
        "invalid selector: '{}'; {}", options.field_selector, why.substr(0, why.find(';')))));
  }
  for (const kube::FieldSelector::Term& term : fields->terms())
    if (!is_identity(term.field) && label_named(row, term.field) == nullptr)
      return tl::unexpected(unsupported(row, term.field));
  selector.fields = std::move(*fields);
  selector.read = [&row](const kube::Object& stored, std::string_view field) -> std::string {
    const FieldLabel* label = label_named(row, field);
    if (label == nullptr) return "";
    if (!row.stored_as) return label->value(stored);
    const Result<kube::Object> own = as_asked(row, stored);
    return own ? label->value(*own) : "";
  };
  return selector;
}

}  // namespace berth::apiserver
