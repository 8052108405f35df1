// SPDX-License-Identifier: Apache-2.0
// A kind of our own, described once: its CustomResourceDefinition is made from this, and nothing
// about the kind is stated a second time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::kube {

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
  Field& max(std::int64_t length);  // of a text, or of a list
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

  const std::string& name() const { return name_; }
  bool is_required() const { return required_; }
  std::string schema() const;  // JSON

 private:
  friend Field quantity(std::string);
  friend Field anything(std::string);
  friend Field object(std::string, std::vector<Field>);
  friend Field list(std::string, Field);
  friend Field map(std::string, Field);
  Field& fact(std::string_view key, std::string json);

  std::string name_, type_, doc_;
  bool required_ = false;
  std::vector<std::pair<std::string, std::string>> facts_;  // what else the schema says, as JSON
  std::vector<Field> members_, items_, values_;
};

Field text(std::string name);
Field integer(std::string name);
Field boolean(std::string name);
Field time(std::string name);
Field quantity(std::string name);  // "700m", or a bare number
Field anything(std::string name);  // an object whose members are not ours to judge
Field object(std::string name, std::vector<Field> members);
Field list(std::string name, Field item);  // the item's name is not used
Field map(std::string name, Field value);  // by any text
Field reference(std::string name);         // {name, namespace}
Field conditions();                        // metav1.Condition

// A value, made by chaining.
class KindSpec {
 public:
  KindSpec(std::string group, std::string version, std::string kind, std::string plural)
      : group_(std::move(group)),
        version_(std::move(version)),
        kind_(std::move(kind)),
        plural_(std::move(plural)) {}

  KindSpec& short_name(std::string);
  KindSpec& doc(std::string);
  KindSpec& spec(std::vector<Field> members);
  Field& spec_field() { return spec_; }
  KindSpec& status(std::vector<Field> members);  // makes it a subresource
  KindSpec& column(std::string name, std::string type, std::string path);
  KindSpec in_group(std::string group) const;  // the same kind under another group

  const std::string& group() const { return group_; }
  const std::string& version() const { return version_; }
  const std::string& kind() const { return kind_; }
  const std::string& plural() const { return plural_; }
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
  bool has_status_ = false;
  std::vector<Column> columns_;
};

}  // namespace berth::kube
