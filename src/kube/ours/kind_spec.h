// SPDX-License-Identifier: Apache-2.0
// A kind of our own, described once: its CustomResourceDefinition is made from this, and nothing
// about the kind is stated a second time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/schema.h"

namespace berth::kube {

// What a field must obey besides, in CEL: `self` is the field's value.
struct FieldRule {
  std::string rule, message;
  std::string field_path = {};  // the member to blame: ".checkpoint.interval"; "": the field itself
  std::string reason = {};      // FieldValueForbidden …; "": FieldValueInvalid
};

// One field and what may stand in it, as far as a structural schema can say it. A value, made by
// chaining: integer("slot").at_least(0).required().
class Field {
 public:
  Field(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}

  Field& doc(std::string text);
  Field& required();
  Field& otherwise(std::string json);  // the default
  Field& at_least(std::int64_t);
  Field& at_most(std::int64_t);
  Field& max(std::int64_t length);  // of a text, a list, or a map
  Field& min(std::int64_t length);
  Field& pattern(std::string_view);
  Field& format(std::string_view);
  Field& any_of(std::vector<std::string> values);  // an enum
  // Of the members named, exactly one is given, or at least one.
  Field& exactly_one(std::vector<std::string> members);
  Field& at_least_one(std::vector<std::vector<std::string>> groups);
  Field& keyed_by(std::vector<std::string> members);  // a list whose elements differ in these
  Field& as_set();
  Field& atomic();
  Field& nullable();
  Field& rule(FieldRule);

  // A part of it: "template.spec", "template.spec.volumes[]" (of a list or map: what is in it). It
  // must be there.
  Field& at(std::string_view path);

  const std::string& name() const { return name_; }
  bool is_required() const { return required_; }
  std::string schema() const;  // JSON

 private:
  friend Field int_or_string(std::string);
  friend Field anything(std::string);
  friend Field object(std::string, std::vector<Field>);
  friend Field list(std::string, Field);
  friend Field map(std::string, Field);
  friend Field built_in(std::string, const json::Message&);
  Field& fact(std::string_view key, std::string json);
  Field* member(std::string_view name);

  std::string name_, type_, doc_;
  bool required_ = false;
  std::vector<std::pair<std::string, std::string>> facts_;  // what else the schema says, as JSON
  std::vector<FieldRule> rules_;
  std::vector<Field> members_, items_, values_;
};

Field text(std::string name);
Field integer(std::string name);
Field boolean(std::string name);
Field time(std::string name);
Field int_or_string(std::string name);
Field quantity(std::string name);  // "700m", or a bare number
Field anything(std::string name);  // an object whose members are not ours to judge
Field object(std::string name, std::vector<Field> members);
Field list(std::string name, Field item);  // the item's name is not used
Field map(std::string name, Field value);  // by any text
Field reference(std::string name);         // {name, namespace}
Field conditions();                        // metav1.Condition
Field duration(std::string name);          // Go's: "1h30m"
// All that a built-in message may have, by the tables of kube/schema, without descriptions. Of an
// object's metadata only what a template may say.
Field built_in(std::string name, const json::Message&);

// A value, made by chaining.
class KindSpec {
 public:
  KindSpec(std::string group, std::string version, std::string kind, std::string plural)
      : group_(std::move(group)),
        version_(std::move(version)),
        kind_(std::move(kind)),
        plural_(std::move(plural)) {}

  KindSpec& short_name(std::string);
  KindSpec& of_cluster();  // in no namespace
  KindSpec& doc(std::string);
  KindSpec& spec(std::vector<Field> members);
  Field& spec_field() { return spec_; }
  KindSpec& rule(FieldRule);                     // of the whole object
  KindSpec& status(std::vector<Field> members);  // makes it a subresource
  KindSpec& column(std::string name, std::string type, std::string path);
  // The same kind under another group, and version.
  KindSpec in_group(std::string group, std::string version = "") const;

  const std::string& group() const { return group_; }
  const std::string& version() const { return version_; }
  const std::string& kind() const { return kind_; }
  const std::string& plural() const { return plural_; }
  bool namespaced() const { return namespaced_; }
  std::string crd_name() const { return plural_ + "." + group_; }
  std::string crd() const;  // the manifest of its CustomResourceDefinition, as JSON

 private:
  struct Column {
    std::string name, type, path;
  };
  std::string group_, version_, kind_, plural_, doc_;
  std::vector<std::string> short_names_;
  Field spec_{"spec", "object"};
  Field status_{"status", "object"};
  bool has_status_ = false, namespaced_ = true;
  std::vector<FieldRule> rules_;
  std::vector<Column> columns_;
};

}  // namespace berth::kube
