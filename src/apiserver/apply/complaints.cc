// SPDX-License-Identifier: Apache-2.0
// What does not fit a type, in the words of structured-merge-diff.
#include <fmt/format.h>

#include "apiserver/apply/walk.h"
#include "apiserver/edit/peek.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::List;
using json::ListType;
using json::Value;
using Form = Type::Form;

// Go's %v of a value behind a pointer to a struct that holds it.
std::string go_shown(const Value& value) {
  if (value.is_string()) return std::string(sv(value.get_string()));
  if (value.is_array()) {
    std::string out = "[";
    for (const Value& each : value.get_array()) {
      if (out.size() > 1) out += ' ';
      out += go_shown(each);
    }
    return out + "]";
  }
  if (value.is_object()) {
    std::map<std::string_view, const Value*> sorted;
    for (const auto& member : value.get_object()) sorted[sv(member.key())] = &member.value();
    std::string out = "map[";
    for (const auto& [key, each] : sorted) {
      if (out.size() > 4) out += ' ';
      out += fmt::format("{}:{}", key, go_shown(*each));
    }
    return out + "]";
  }
  return value.is_null() ? "<nil>" : json::print(value);
}

std::string go_type(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_array()) return "[]interface {}";
  return value.is_object() ? "map[string]interface {}" : "int64";
}

class Checker {
 public:
  explicit Checker(bool allow_duplicates) : allow_duplicates_(allow_duplicates) {}
  std::vector<std::string> found;

  void check(const Value& value, const Type& type) {
    if (value.is_null()) return;
    switch (type.form_of(&value)) {
      case Form::kScalar:
        return scalar(value, type);
      case Form::kList:
        if (!value.is_array())
          return add(fmt::format("expected list, got &{{{}}}", go_shown(value)));
        return list(value.get_array(), type);
      case Form::kMap:
        if (!value.is_object())
          return add(fmt::format("expected map, got &{{{}}}", go_shown(value)));
        return map(value.get_object(), type);
      case Form::kNone:
        return;
    }
  }

 private:
  static constexpr std::size_t kMost = 100;

  void add(const std::string& what) {
    if (found.size() < kMost) found.push_back(path_.empty() ? what : path_ + ": " + what);
  }

  void scalar(const Value& value, const Type& type) {
    const bool number = value.is_int64() || value.is_double();
    const bool structured = value.is_object() || value.is_array();
    switch (type.scalar_type()) {
      case ScalarType::kNumber:
        if (!number) add("expected numeric (int or float), got " + go_type(value));
        return;
      case ScalarType::kText:
        if (!value.is_string())
          add(fmt::format("expected string, got &value.valueUnstructured{{Value:{}}}",
                          structured ? go_type(value) + go_shown(value) : go_shown(value)));
        return;
      case ScalarType::kBool:
        if (!value.is_bool()) add(fmt::format("expected boolean, got &{{{}}}", go_shown(value)));
        return;
      case ScalarType::kAny:
        if (structured) add(fmt::format("expected any scalar, got &{{{}}}", go_shown(value)));
        return;
    }
  }

  void list(const List& list, const Type& type) {
    const bool atomic = type.list_type() == ListType::kAtomic;
    const Type items = type.items();
    std::map<PathElement, bool> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::string step = fmt::format("[{}]", i);
      if (!atomic) {
        const Result<PathElement> key = element_step(list[i], type);
        if (!key) return add(fmt::format("element {}: {}", i, key.error().message));
        step = key->shown();
        if (!seen.emplace(*key, true).second && !allow_duplicates_)
          add(fmt::format("duplicate entries for key {}", step));
      }
      below(step, list[i], items);
    }
  }

  void map(const Dict& dict, const Type& type) {
    for (const auto& member : dict) {
      const std::string_view key = sv(member.key());
      const Type below_type = type.member(key);
      if (!below_type.allowed()) {
        const std::size_t before = path_.size();
        path_ += fmt::format(".{}", key);
        add("field not declared in schema");
        path_.resize(before);
        return;
      }
      below(fmt::format(".{}", key), member.value(), below_type);
    }
  }

  void below(const std::string& step, const Value& value, const Type& type) {
    const std::size_t before = path_.size();
    path_ += step;
    check(value, type);
    path_.resize(before);
  }

  bool allow_duplicates_;
  std::string path_;
};

}  // namespace

std::string complaints_about(const Value& document, const Type& type, bool allow_duplicates) {
  Checker checker(allow_duplicates);
  checker.check(document, type);
  if (checker.found.empty()) return "";
  if (checker.found.size() == 1) return checker.found.front();
  std::string out = "errors:";
  for (const std::string& each : checker.found) out += "\n  " + each;
  return out;
}

}  // namespace berth::apiserver
