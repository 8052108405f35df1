// SPDX-License-Identifier: Apache-2.0
#include "kube/ours/kind_spec.h"

#include "base/check.h"
#include "json/writer.h"

namespace berth::kube {
namespace {

std::string texts(const std::vector<std::string>& values) {
  json::Writer w;
  w.array();
  for (const std::string& value : values) w.string(value);
  return w.end().take();
}

void write_required(json::Writer& w, const std::vector<std::string>& members) {
  w.object().member("required").raw(texts(members)).end();
}

void write_rule(json::Writer& w, const FieldRule& rule) {
  w.object().member("rule").string(rule.rule).member("message").string(rule.message);
  if (!rule.field_path.empty()) w.member("fieldPath").string(rule.field_path);
  if (!rule.reason.empty()) w.member("reason").string(rule.reason);
  w.end();
}

}  // namespace

Field& Field::fact(std::string_view key, std::string json) {
  facts_.emplace_back(key, std::move(json));
  return *this;
}
Field& Field::doc(std::string text) {
  doc_ = std::move(text);
  return *this;
}
Field& Field::required() {
  required_ = true;
  return *this;
}
Field& Field::otherwise(std::string json) { return fact("default", std::move(json)); }
Field& Field::at_least(std::int64_t least) { return fact("minimum", std::to_string(least)); }
Field& Field::at_most(std::int64_t most) { return fact("maximum", std::to_string(most)); }
Field& Field::max(std::int64_t length) {
  return fact(type_ == "array"    ? "maxItems"
              : type_ == "object" ? "maxProperties"
                                  : "maxLength",
              std::to_string(length));
}
Field& Field::min(std::int64_t length) {
  return fact(type_ == "array" ? "minItems" : "minLength", std::to_string(length));
}
Field& Field::pattern(std::string_view text) { return fact("pattern", json::quoted(text)); }
Field& Field::format(std::string_view text) { return fact("format", json::quoted(text)); }
Field& Field::any_of(std::vector<std::string> values) { return fact("enum", texts(values)); }
Field& Field::exactly_one(std::vector<std::string> members) {
  json::Writer w;
  w.array();
  for (std::string& member : members) write_required(w, {std::move(member)});
  return fact("oneOf", w.end().take());
}
Field& Field::at_least_one(std::vector<std::vector<std::string>> groups) {
  json::Writer w;
  w.array();
  for (const std::vector<std::string>& group : groups) write_required(w, group);
  return fact("anyOf", w.end().take());
}
Field& Field::keyed_by(std::vector<std::string> members) {
  return fact("x-kubernetes-list-type", "\"map\"")
      .fact("x-kubernetes-list-map-keys", texts(members));
}
Field& Field::as_set() { return fact("x-kubernetes-list-type", "\"set\""); }
Field& Field::atomic() { return fact("x-kubernetes-list-type", "\"atomic\""); }
Field& Field::nullable() { return fact("nullable", "true"); }
Field& Field::rule(FieldRule rule) {
  rules_.push_back(std::move(rule));
  return *this;
}

Field* Field::member(std::string_view name) {
  for (Field& each : members_)
    if (each.name_ == name) return &each;
  return nullptr;
}
Field& Field::at(std::string_view path) {
  if (path.empty()) return *this;
  const std::size_t dot = path.find('.');
  std::string_view first = path.substr(0, dot);
  const bool inside = first.ends_with("[]");
  if (inside) first.remove_suffix(2);
  Field* found = member(first);
  BERTH_CHECK(found != nullptr, "a part of a kind's description that is there");
  if (inside) found = found->items_.empty() ? &found->values_.at(0) : &found->items_.at(0);
  return found->at(dot == std::string_view::npos ? "" : path.substr(dot + 1));
}

std::string Field::schema() const {
  json::Writer w;
  w.object();
  if (!doc_.empty()) w.member("description").string(doc_);
  if (!type_.empty()) w.member("type").string(type_);
  for (const auto& [key, json] : facts_) w.member(key).raw(json);
  if (!members_.empty()) {
    w.member("properties").object();
    for (const Field& member : members_) w.member(member.name()).raw(member.schema());
    w.end();
    std::vector<std::string> must;
    for (const Field& member : members_)
      if (member.is_required()) must.push_back(member.name());
    if (!must.empty()) w.member("required").raw(texts(must));
  }
  for (const Field& item : items_) w.member("items").raw(item.schema());
  for (const Field& value : values_) w.member("additionalProperties").raw(value.schema());
  if (!rules_.empty()) {
    w.member("x-kubernetes-validations").array();
    for (const FieldRule& each : rules_) write_rule(w, each);
    w.end();
  }
  return w.end().take();
}

Field text(std::string name) { return {std::move(name), "string"}; }
Field integer(std::string name) { return Field(std::move(name), "integer").format("int64"); }
Field boolean(std::string name) { return {std::move(name), "boolean"}; }
Field time(std::string name) { return Field(std::move(name), "string").format("date-time"); }
Field int_or_string(std::string name) {
  Field field(std::move(name), "");
  return field.fact("x-kubernetes-int-or-string", "true")
      .fact("anyOf", R"([{"type":"integer"},{"type":"string"}])");
}
Field quantity(std::string name) {
  return int_or_string(std::move(name))
      .pattern(
          R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)");
}
Field anything(std::string name) {
  Field field(std::move(name), "object");
  return field.fact("x-kubernetes-preserve-unknown-fields", "true");
}
Field object(std::string name, std::vector<Field> members) {
  Field field(std::move(name), "object");
  field.members_ = std::move(members);
  return field;
}
Field list(std::string name, Field item) {
  Field field(std::move(name), "array");
  field.items_.push_back(std::move(item));
  return field;
}
Field map(std::string name, Field value) {
  Field field(std::move(name), "object");
  field.values_.push_back(std::move(value));
  return field;
}
Field reference(std::string name) {
  return object(std::move(name),
                {text("name").min(1).max(253).required(),
                 text("namespace").max(63).doc("Where it is not given: that of this object.")});
}
Field conditions() {
  return list(
             "conditions",
             object("", {text("type").max(316).required(),
                         text("status").any_of({"True", "False", "Unknown"}).required(),
                         text("reason").max(1024).required(), text("message").max(32768).required(),
                         time("lastTransitionTime").required(),
                         integer("observedGeneration").at_least(0)}))
      .keyed_by({"type"});
}

Field duration(std::string name) {
  return text(std::move(name)).pattern("^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$").max(32);
}

KindSpec& KindSpec::of_cluster() {
  namespaced_ = false;
  return *this;
}
KindSpec& KindSpec::short_name(std::string name) {
  short_names_.push_back(std::move(name));
  return *this;
}
KindSpec& KindSpec::doc(std::string text) {
  doc_ = std::move(text);
  return *this;
}
KindSpec& KindSpec::rule(FieldRule rule) {
  rules_.push_back(std::move(rule));
  return *this;
}
KindSpec& KindSpec::spec(std::vector<Field> members) {
  spec_ = object("spec", std::move(members));
  return *this;
}
KindSpec& KindSpec::status(std::vector<Field> members) {
  status_ = object("status", std::move(members));
  has_status_ = true;
  return *this;
}
KindSpec& KindSpec::column(std::string name, std::string type, std::string path) {
  columns_.push_back({std::move(name), std::move(type), std::move(path)});
  return *this;
}
KindSpec KindSpec::in_group(std::string group, std::string version) const {
  KindSpec other = *this;
  other.group_ = std::move(group);
  if (!version.empty()) other.version_ = std::move(version);
  other.short_names_.clear();  // kubectl warns of one that two kinds have
  return other;
}

std::string KindSpec::crd() const {
  std::vector<Field> members = {text("apiVersion"), text("kind"), Field("metadata", "object"),
                                Field(spec_).required()};
  if (has_status_) members.push_back(status_);
  Field root = object("", std::move(members)).doc(doc_);
  for (const FieldRule& each : rules_) root.rule(each);

  json::Writer w;
  w.object().member("apiVersion").string("apiextensions.k8s.io/v1");
  w.member("kind").string("CustomResourceDefinition");
  w.member("metadata").object().member("name").string(crd_name()).end();
  w.member("spec").object().member("group").string(group_);
  w.member("names").object().member("kind").string(kind_).member("listKind").string(kind_ + "List");
  w.member("plural").string(plural_);
  w.member("shortNames").raw(texts(short_names_));
  std::string singular = kind_;
  for (char& c : singular) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  w.member("singular").string(singular).end();
  w.member("scope")
      .string(namespaced_ ? "Namespaced" : "Cluster")
      .member("versions")
      .array()
      .object();
  w.member("name").string(version_).member("served").boolean(true).member("storage").boolean(true);
  w.member("additionalPrinterColumns").array();
  for (const Column& column : columns_)
    w.object()
        .member("name")
        .string(column.name)
        .member("type")
        .string(column.type)
        .member("jsonPath")
        .string(column.path)
        .end();
  w.end();
  w.member("schema").object().member("openAPIV3Schema").raw(root.schema()).end();
  if (has_status_) w.member("subresources").object().member("status").object().end().end();
  w.end().end().end();
  return w.end().take();
}

}  // namespace berth::kube
