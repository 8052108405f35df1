// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/layout.h"

#include <algorithm>
#include <array>

namespace berth::apiserver {

using json::Field;
using json::FieldType;
using json::ListType;
using json::Shape;

namespace {

// Structs that are owned as a whole where they are elements of lists; as members of structs the
// tables tell.
bool atomic_element(const json::Message& message) {
  static constexpr std::array kNames = {
      std::string_view("io.k8s.api.admissionregistration.v1.Variable"),
      std::string_view("io.k8s.api.core.v1.LocalObjectReference"),
      std::string_view("io.k8s.api.core.v1.ObjectReference"),
      std::string_view("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"),
  };
  return std::find(kNames.begin(), kNames.end(), message.name) != kNames.end();
}

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    out.push_back(words.substr(0, comma));
    if (comma == std::string_view::npos) break;
    words.remove_prefix(comma + 1);
  }
  return out;
}

}  // namespace

Type Type::of(const json::Message& message) {
  Type out;
  out.from_ = From::kMessage;
  out.message_ = &message;
  return out;
}

Type Type::told_by_values() {
  Type out;
  out.from_ = From::kValues;
  return out;
}

Type Type::tree(const Layout* layout) {
  if (layout == nullptr) return told_by_values();
  if (layout->message != nullptr) return of(*layout->message);
  Type out;
  out.from_ = From::kTree;
  out.tree_ = layout;
  return out;
}

Type Type::of(const KindRow& row) {
  if (row.layout != nullptr) return tree(row.layout.get());
  return row.schema != nullptr ? of(*row.schema) : told_by_values();
}

bool Type::may_be(Form form) const {
  switch (from_) {
    case From::kNothing:
      return false;
    case From::kValues:
    case From::kUntyped:
      return form != Form::kNone;
    case From::kMessage:
      return form == Form::kMap;
    case From::kField:
      if (field_->shape != Shape::kSingle)
        return form == (field_->shape == Shape::kList ? Form::kList : Form::kMap);
      [[fallthrough]];
    case From::kElement:
      return form == (field_->type == FieldType::kMessage || field_->type == FieldType::kFieldsV1
                          ? Form::kMap
                          : Form::kScalar);
    case From::kTree:
      return (form == Form::kScalar && tree_->scalar) || (form == Form::kList && tree_->list) ||
             (form == Form::kMap && tree_->map);
  }
  return false;
}

Type::Form Type::form_of(const json::Value* value) const {
  Form own = Form::kNone;
  if (value != nullptr && !value->is_null())
    own = value->is_object() ? Form::kMap : value->is_array() ? Form::kList : Form::kScalar;
  if (own != Form::kNone && may_be(own)) return own;
  for (const Form form : {Form::kMap, Form::kScalar, Form::kList})
    if (may_be(form)) return form;
  return Form::kNone;
}

ScalarType Type::scalar_type() const {
  if (from_ == From::kTree) return tree_->scalar_type;
  if (from_ != From::kField && from_ != From::kElement) return ScalarType::kAny;
  switch (field_->type) {
    case FieldType::kString:
    case FieldType::kBytes:
      return ScalarType::kText;
    case FieldType::kBool:
      return ScalarType::kBool;
    case FieldType::kInteger:
    case FieldType::kNumber:
      return ScalarType::kNumber;
    default:
      return ScalarType::kAny;
  }
}

json::ListType Type::list_type() const {
  if (from_ == From::kTree) return tree_->list_type;
  if (from_ != From::kField || field_->type == FieldType::kAny) return ListType::kAtomic;
  if (field_->list_type != ListType::kUnstated) return field_->list_type;
  if (!field_->patch_merge) return ListType::kAtomic;
  return field_->merge_key.empty() ? ListType::kSet : ListType::kMap;
}

std::vector<std::string_view> Type::list_keys() const {
  if (from_ == From::kTree) return {tree_->list_keys.begin(), tree_->list_keys.end()};
  return split(field_->list_map_keys.empty() ? field_->merge_key : field_->list_map_keys);
}

Type Type::items() const {
  Type out;
  out.from_ = From::kUntyped;
  if (from_ == From::kTree) return tree_->items == nullptr ? out : tree(tree_->items.get());
  if (from_ != From::kField || field_->type == FieldType::kAny) return out;
  if (field_->type == FieldType::kMessage) {
    out = of(*field_->message);
    out.atomic_ = atomic_element(*field_->message);
    return out;
  }
  out.from_ = From::kElement;
  out.field_ = field_;
  return out;
}

bool Type::atomic_map() const {
  switch (from_) {
    case From::kUntyped:
      return true;
    case From::kMessage:
      return atomic_;
    case From::kField:
      return field_->list_type == ListType::kAtomic;
    case From::kTree:
      return tree_->atomic_map;
    default:
      return false;
  }
}

bool Type::declares(std::string_view name) const {
  if (from_ == From::kMessage) return message_->find(name) != nullptr;
  return from_ == From::kTree && tree_->members.contains(name);
}

Type Type::member(std::string_view name) const {
  Type out;
  switch (from_) {
    case From::kNothing:
    case From::kElement:
      return out;
    case From::kValues:
    case From::kUntyped:
      return *this;
    case From::kField: {  // a map: its values
      if (field_->type == FieldType::kMessage) return of(*field_->message);
      out.from_ = field_->type == FieldType::kAny ? From::kUntyped : From::kElement;
      out.field_ = field_;
      return out;
    }
    case From::kMessage: {
      const Field* field = message_->find(name);
      if (field == nullptr) return out;
      if (field->shape == Shape::kSingle && field->type == FieldType::kMessage) {
        out = of(*field->message);
        out.atomic_ = field->list_type == ListType::kAtomic;
        return out;
      }
      out.from_ = field->type == FieldType::kAny ? From::kUntyped : From::kField;
      out.field_ = field;
      return out;
    }
    case From::kTree:
      if (const auto found = tree_->members.find(name); found != tree_->members.end())
        return tree(found->second.layout.get());
      return tree_->other_members ? tree(tree_->others.get()) : out;
  }
  return out;
}

std::optional<json::Value> Type::preset_of(std::string_view name) const {
  if (from_ == From::kTree) {
    const auto found = tree_->members.find(name);
    if (found == tree_->members.end() || found->second.preset.empty()) return std::nullopt;
    json::Arena arena;
    return json::Value(json::parse_good(found->second.preset, arena), boost::json::storage_ptr());
  }
  if (from_ != From::kMessage) return std::nullopt;
  const Field* field = message_->find(name);
  if (field == nullptr) return std::nullopt;
  if (name == "protocol" && (message_->name == "io.k8s.api.core.v1.ContainerPort" ||
                             message_->name == "io.k8s.api.core.v1.ServicePort"))
    return json::Value("TCP");
  if (field->omit_empty || field->optional) return std::nullopt;
  switch (field->type) {
    case FieldType::kString:
      return json::Value("");
    case FieldType::kInteger:
      return json::Value(0);
    case FieldType::kBool:
      return json::Value(false);
    default:
      return std::nullopt;
  }
}

}  // namespace berth::apiserver
