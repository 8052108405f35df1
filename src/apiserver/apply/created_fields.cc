// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/created_fields.h"

#include <algorithm>
#include <vector>

#include "apiserver/apply/layout.h"
#include "apiserver/apply/walk.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::ListType;
using json::Value;
using Form = Type::Form;

// Appends members of fieldsV1 to a text that ends in '{' or in the member before.
class Collector {
 public:
  explicit Collector(std::string& out) : out_(out) {}
  bool fine = true;  // false: what was appended is not the answer

  // A member of a map or struct.
  void field(std::string_view name, const Value* before, const Value& after, const Type& type,
             bool itself = true) {
    const std::size_t start = open();
    key_.assign("f:").append(name);
    json::append_quoted(out_, key_);
    below(start, before, after, type, itself);
  }

  void members(const Dict* before, const Dict& after, const Type& type,
               bool (*skip)(std::string_view) = nullptr) {
    std::vector<const boost::json::key_value_pair*> sorted;
    sorted.reserve(after.size());
    for (const auto& member : after) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return sv(a->key()) < sv(b->key()); });
    for (const auto* member : sorted) {
      const std::string_view name = sv(member->key());
      if (skip != nullptr && skip(name)) continue;
      field(name, before == nullptr ? nullptr : before->if_contains(member->key()), member->value(),
            type.member(name));
    }
  }

 private:
  std::size_t open() {
    const std::size_t start = out_.size();
    if (out_.back() != '{') out_ += ',';
    return start;
  }

  // After the step: the node itself and what is below it, or nothing at all.
  void below(std::size_t start, const Value* before, const Value& after, const Type& type,
             bool itself) {
    out_ += ":{";
    const std::size_t inside = out_.size();
    bool member = false;
    if (is_leaf(before, after, type)) {
      member = before == nullptr || !equal_values(*before, after);
    } else {
      member = itself && before == nullptr;
      if (member) out_ += "\".\":{}";
      const std::size_t children = out_.size();
      if (after.is_object())
        members(before != nullptr && before->is_object() ? &before->get_object() : nullptr,
                after.get_object(), type);
      else
        elements(after.as_array(), type);
      if (out_.size() == children) out_.resize(inside);
    }
    if (!member && out_.size() == inside) return out_.resize(start);
    out_ += '}';
  }

  bool is_leaf(const Value* before, const Value& after, const Type& type) {
    const bool empty_before = before == nullptr || before->is_null();
    const Form form = type.form_of(&after);
    // Rare enough: whatever was there is of another form.
    if (!empty_before && type.form_of(before) != form) fine = false;
    if (form == Form::kMap && after.is_object()) {
      const bool none = empty_before || !before->is_object() || before->get_object().empty();
      return type.atomic_map() || (after.get_object().empty() && none);
    }
    if (form == Form::kList && after.is_array()) {
      const bool none = empty_before || !before->is_array() || before->get_array().empty();
      if (!none) fine = false;
      return type.list_type() == ListType::kAtomic || (after.get_array().empty() && none);
    }
    if (after.is_object() || after.is_array()) fine = false;
    return true;
  }

  void elements(const json::List& after, const Type& type) {
    std::vector<std::pair<PathElement, const Value*>> sorted;
    sorted.reserve(after.size());
    for (const Value& each : after)
      if (Result<PathElement> step = element_step(each, type))
        sorted.emplace_back(std::move(*step), &each);
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(sorted.begin(), sorted.end(), less))
      std::sort(sorted.begin(), sorted.end(), less);
    const Type items = type.items();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0 && sorted[i].first == sorted[i - 1].first) fine = false;
      const std::size_t start = open();
      json::append_quoted(out_, sorted[i].first.text());
      below(start, nullptr, *sorted[i].second, items, true);
    }
  }

  std::string& out_;
  std::string key_;
};

bool never_managed(std::string_view name) {
  return std::find(kNeverManagedMetadata.begin(), kNeverManagedMetadata.end(), name) !=
         kNeverManagedMetadata.end();
}

}  // namespace

std::optional<std::string> created_fields(const KindRow& row, Edit& edit, const Value& empty,
                                          const FieldSet& ignored) {
  for (const auto& [step, node] : ignored.nodes())
    if (!node.member) return std::nullopt;
  const Type type = Type::of(row);
  const Dict& before = empty.as_object();
  const auto was = [&](std::string_view name) { return before.if_contains(bj(name)); };
  std::vector<std::pair<std::string_view, const Value*>> tops;
  for (const auto& member : edit.body()) tops.emplace_back(sv(member.key()), &member.value());
  if (!edit.status().is_null()) tops.emplace_back("status", &edit.status());
  tops.emplace_back("metadata", nullptr);
  std::sort(tops.begin(), tops.end());

  std::string out = "{";
  Collector collector(out);
  for (const auto& [name, value] : tops) {
    if (value != nullptr) {
      if (!ignored.has(PathElement::field(name)))
        collector.field(name, was(name), *value, type.member(name));
      continue;
    }
    // k8s 1.36: nobody manages metadata as such.
    const std::size_t start = out.size();
    if (out.back() != '{') out += ',';
    out += "\"f:metadata\":{";
    const std::size_t inside = out.size();
    const Value* metadata = was(name);
    collector.members(
        metadata != nullptr && metadata->is_object() ? &metadata->get_object() : nullptr,
        edit.metadata(), type.member(name), &never_managed);
    if (out.size() == inside)
      out.resize(start);
    else
      out += '}';
  }
  if (!collector.fine) return std::nullopt;
  if (out.size() == 1) return "";
  return out + "}";
}

}  // namespace berth::apiserver
