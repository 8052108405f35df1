// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/last_applied.h"

#include <algorithm>
#include <array>
#include <vector>

#include "apiserver/apply/walk.h"
#include "apiserver/edit/peek.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kMostAnnotations = std::size_t{256} << 10;

std::string_view annotation(const json::Value& document) {
  return Peek(document)["metadata"]["annotations"][kAnnotation].text();
}

// As Go's encoder writes: members in order, and what HTML could misread escaped.
void append_go_json(std::string& out, const json::Value& value) {
  if (value.is_object()) {
    std::vector<std::pair<std::string_view, const json::Value*>> sorted;
    for (const auto& member : value.get_object())
      sorted.emplace_back(sv(member.key()), &member.value());
    std::sort(sorted.begin(), sorted.end());
    out += '{';
    for (const auto& [key, each] : sorted) {
      if (out.back() != '{') out += ',';
      append_go_json(out, json::Value(bj(key)));
      out += ':';
      append_go_json(out, *each);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool comma = false;
    for (const json::Value& each : value.get_array()) {
      if (comma) out += ',';
      comma = true;
      append_go_json(out, each);
    }
    out += ']';
  } else if (value.is_string()) {
    std::string text;
    json::append_quoted(text, sv(value.get_string()));
    for (const char c : text) {
      if (c == '<')
        out += "\\u003c";
      else if (c == '>')
        out += "\\u003e";
      else if (c == '&')
        out += "\\u0026";
      else
        out += c;
    }
  } else {
    json::append_value(out, value);
  }
}

// The fields of `all` that are in `own` or hold something that is.
FieldSet own_and_around(const FieldSet& all, const FieldSet& own) {
  FieldSet out;
  for (const auto& [step, node] : all.nodes()) {
    const FieldSet* below = own.below(step);
    const bool member = node.member && (below != nullptr || own.has(step));
    FieldSet inner = below == nullptr ? FieldSet() : own_and_around(node.below, *below);
    if (!member && inner.empty()) continue;
    FieldSet::Node& mine = out.node(step);
    mine.member = member;
    mine.below = std::move(inner);
  }
  return out;
}

}  // namespace

std::optional<FieldSet> last_applied_fields(const KindRow& row, const json::Value& live,
                                            const Type& type) {
  const std::string_view text = annotation(live);
  if (text.empty()) return std::nullopt;
  json::Arena arena;
  Result<json::Value> last = json::parse(text, arena);
  if (!last || !last->is_object()) return std::nullopt;
  if (Peek(*last)["apiVersion"].text() != row.kind.api_version()) return std::nullopt;
  for (const std::string_view head : {"apiVersion", "kind"}) json::erase(last->as_object(), head);
  if (!complaints_about(*last, type, false).empty()) return std::nullopt;
  const Comparison compare = compared(*last, live, type);
  return fields_of(*last, type) - compare.modified - compare.added - compare.removed;
}

void give_to_kubectl(const KindRow& row, const json::Value& live, const Type& type,
                     Managers& managers) {
  std::optional<FieldSet> own = last_applied_fields(row, live, type);
  if (!own || managers.size() != 1) return;
  own->insert(std::array{PathElement::field("metadata"), PathElement::field("annotations"),
                         PathElement::field(kAnnotation)});
  const Manager first = managers.begin()->second;
  Manager kubectl = first, rest = first;
  kubectl.name = "kubectl-client-side-apply";
  kubectl.fields = own_and_around(first.fields, *own);
  rest.fields = first.fields - kubectl.fields;
  managers.clear();
  for (Manager* manager : {&kubectl, &rest})
    if (!manager->fields.empty()) managers.emplace(manager->id(), *manager);
}

void renew_last_applied(json::Value& document, const json::Value& applied) {
  if (annotation(document).empty()) return;
  json::Value own(applied, boost::json::storage_ptr());
  if (json::Dict* metadata = dict_in(own.as_object(), "metadata"))
    if (json::Dict* annotations = dict_in(*metadata, "annotations"))
      json::erase(*annotations, kAnnotation);
  std::string text;
  append_go_json(text, own);
  text += '\n';
  json::Dict& annotations = *dict_in(*dict_in(document.as_object(), "metadata"), "annotations");
  annotations[bj(kAnnotation)] = text;
  std::size_t size = 0;
  for (const auto& member : annotations)
    size += member.key().size() + Peek(member.value()).text().size();
  if (size > kMostAnnotations) json::erase(annotations, kAnnotation);
}

}  // namespace berth::apiserver
