// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/conform.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "apiserver/edit/peek.h"
#include "base/base64.h"
#include "json/slice.h"
#include "kube/quantity.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::Field;
using json::FieldType;
using json::List;
using json::Message;
using json::Shape;
using json::Value;

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "v1.Container" of "io.k8s.api.core.v1.Container".
std::string_view go_name(std::string_view message) {
  const std::size_t last = message.rfind('.');
  const std::size_t before = message.rfind('.', last - 1);
  return message.substr(before + 1);
}

std::string go_element(const Field& field) {
  if (!field.go_type.empty()) return std::string(field.go_type);
  switch (field.type) {
    case FieldType::kString:
      return "string";
    case FieldType::kBytes:
      return "[]uint8";
    case FieldType::kBool:
      return "bool";
    case FieldType::kInteger:
      return "int32";
    case FieldType::kNumber:
      return "float64";
    case FieldType::kMessage:
      return std::string(go_name(field.message->name));
    default:
      return "string";
  }
}

std::string go_type(const Field& field) {
  const std::string element = go_element(field);
  if (field.shape == Shape::kList) return "[]" + element;
  if (field.shape == Shape::kMap) return "map[string]" + element;
  return element;
}

std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::bool_:
      return "bool";
    case boost::json::kind::string:
      return "string";
    case boost::json::kind::array:
      return "array";
    case boost::json::kind::object:
      return "object";
    default:
      return "number";
  }
}

bool fits(std::int64_t number, std::string_view type) {
  if (type.empty() || type == "int32" || type == "v1.StatusReason")
    return number >= std::numeric_limits<std::int32_t>::min() &&
           number <= std::numeric_limits<std::int32_t>::max();
  return true;
}

// Without the help around it that our own commands give: the reason alone.
std::string as_decoded(const std::string& message) {
  const std::size_t from = message.find("\": ");
  const std::size_t to = message.rfind("; write");
  if (from == std::string::npos || to == std::string::npos) return message;
  return message.substr(from + 3, to - from - 3);
}

class Walker {
 public:
  explicit Walker(boost::json::storage_ptr storage) : storage_(std::move(storage)) {}

  std::vector<std::string> unknown;
  std::string problem;

  void message(Value& value, const Message& type, bool top) {
    if (!value.is_object()) {
      problem = fmt::format("json: cannot unmarshal {} into Go value of type {}", kind_name(value),
                            go_name(type.name));
      return;
    }
    Dict& dict = value.as_object();
    std::vector<std::string> gone;
    for (auto& member : dict) {
      const std::string_view key = sv(member.key());
      if (top && (key == "kind" || key == "apiVersion")) continue;
      const Field* field = type.find(key);
      if (field == nullptr) {
        unknown.push_back(path_ + std::string(key));
        gone.emplace_back(key);
        continue;
      }
      const std::size_t path_before = path_.size(), plain_before = plain_.size();
      path_ += key;
      plain_ += key;
      owner_ = last_word(type.name);
      if (!shaped(member.value(), *field)) gone.emplace_back(key);
      path_.resize(path_before);
      plain_.resize(plain_before);
      if (!problem.empty()) return;
    }
    for (const std::string& key : gone) json::erase(dict, key);
    write_empty(dict, type, top);
  }

  // What is written although it is not there.
  void write_empty(Dict& dict, const Message& type, bool top) {
    for (const Field& field : type.fields) {
      if (field.omit_empty || (top && (field.name == "kind" || field.name == "apiVersion")))
        continue;
      if (dict.contains(bj(field.name))) continue;
      if (top && field.name == "metadata") continue;
      dict.emplace(bj(field.name), empty(field));
    }
  }

  Value empty(const Field& field) {
    if (field.optional || field.shape != Shape::kSingle) return Value(nullptr, storage_);
    switch (field.type) {
      case FieldType::kString:
        return Value("", storage_);
      case FieldType::kBool:
        return Value(false, storage_);
      case FieldType::kInteger:
        return Value(0, storage_);
      case FieldType::kNumber:
        return Value(0.0, storage_);
      case FieldType::kQuantity:
        return Value("0", storage_);
      case FieldType::kDuration:
        return Value("0s", storage_);
      case FieldType::kIntOrString:
        return Value(0, storage_);
      case FieldType::kMessage: {
        Dict dict(storage_);
        write_empty(dict, *field.message, false);
        return dict;
      }
      default:
        return Value(nullptr, storage_);
    }
  }

 private:
  void mismatch(const Value& value, const Field& field, const std::string& type) {
    std::string shown(kind_name(value));
    if (field.type == FieldType::kInteger && (value.is_int64() || value.is_double()))
      shown += " " + json::print(value);
    problem = fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", shown,
                          owner_, plain_, type);
  }

  // False: leave the member out.
  bool shaped(Value& value, const Field& field) {
    const bool bare = !field.omit_empty && !field.optional;
    if (value.is_null()) {
      if (field.omit_empty) return false;
      value = empty(field);
      return true;
    }
    if (field.shape == Shape::kList && field.type != FieldType::kAny) {
      if (!value.is_array()) {
        mismatch(value, field, go_type(field));
        return true;
      }
      List& list = value.as_array();
      if (list.empty() && field.omit_empty && !field.optional) return false;
      plain_ += '.';
      for (std::size_t i = 0; i < list.size() && problem.empty(); ++i) {
        const std::size_t before = path_.size();
        path_ += fmt::format("[{}]", i);
        element(list[i], field);
        path_.resize(before);
      }
      return true;
    }
    if (field.shape == Shape::kMap) {
      if (!value.is_object()) {
        mismatch(value, field, go_type(field));
        return true;
      }
      Dict& dict = value.as_object();
      if (dict.empty() && field.omit_empty && !field.optional) return false;
      for (auto& member : dict) {
        const std::size_t before = path_.size();
        path_ += '.';
        path_ += sv(member.key());
        element(member.value(), field);
        path_.resize(before);
        if (!problem.empty()) break;
      }
      return true;
    }
    if (field.shape == Shape::kList) return true;
    scalar(value, field);
    if (bare || field.optional || !problem.empty()) return true;
    return !is_empty(value, field);
  }

  void element(Value& value, const Field& field) {
    if (value.is_null()) {
      Field single = field;
      single.shape = Shape::kSingle;
      single.optional = false;
      value = empty(single);
      return;
    }
    scalar(value, field);
  }

  static bool is_empty(const Value& value, const Field& field) {
    switch (field.type) {
      case FieldType::kString:
      case FieldType::kBytes:
        return value.is_string() && value.get_string().empty();
      case FieldType::kBool:
        return value.is_bool() && !value.get_bool();
      case FieldType::kInteger:
        return value.is_int64() && value.get_int64() == 0;
      case FieldType::kNumber:
        return (value.is_double() && value.get_double() == 0) ||
               (value.is_int64() && value.get_int64() == 0);
      case FieldType::kMessage:
        return value.is_object() && value.get_object().empty();
      default:
        return false;
    }
  }

  void scalar(Value& value, const Field& field) {
    switch (field.type) {
      case FieldType::kString:
        if (!value.is_string()) mismatch(value, field, go_element(field));
        return;
      case FieldType::kBytes:
        if (!value.is_string())
          mismatch(value, field, "[]uint8");
        else if (!from_base64(sv(value.get_string())))
          problem = "illegal base64 data at input byte 0";
        return;
      case FieldType::kBool:
        if (!value.is_bool()) mismatch(value, field, go_element(field));
        return;
      case FieldType::kInteger:
        if (!value.is_int64() || !fits(value.get_int64(), field.go_type))
          mismatch(value, field, go_element(field));
        return;
      case FieldType::kNumber:
        if (!value.is_int64() && !value.is_double()) mismatch(value, field, go_element(field));
        return;
      case FieldType::kMessage: {
        if (!value.is_object()) return mismatch(value, field, go_element(field));
        const std::size_t path_before = path_.size(), plain_before = plain_.size();
        path_ += '.';
        if (plain_.empty() || plain_.back() != '.') plain_ += '.';
        message(value, *field.message, false);
        path_.resize(path_before);
        plain_.resize(plain_before);
        return;
      }
      case FieldType::kQuantity:
        return quantity(value);
      case FieldType::kIntOrString:
        if (!value.is_string() && !value.is_int64()) mismatch(value, field, "int32");
        return;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        return time(value, field);
      case FieldType::kDuration:
        if (value.is_string()) {
          const std::string text(sv(value.get_string()));
          if (const auto read = kube::parse_duration(text))
            value = Value(bj(kube::duration_text(*read)), storage_);
          else
            problem = fmt::format("time: invalid duration \"{}\"", text);
        } else {
          mismatch(value, field, "string");
        }
        return;
      case FieldType::kAny:
        return schema_in_its_place(value, field);
      case FieldType::kFieldsV1:
        return;
    }
  }

  // A schema where there may be a boolean or a list of schemas instead: JSONSchemaPropsOrBool.
  void schema_in_its_place(Value& value, const Field& field) {
    const Field* schema = field.message == nullptr ? nullptr : field.message->find("schema");
    if (schema == nullptr || schema->message == nullptr) return;
    if (value.is_object()) {
      const std::size_t path_before = path_.size(), plain_before = plain_.size();
      path_ += '.';
      plain_ += '.';
      message(value, *schema->message, false);
      path_.resize(path_before);
      plain_.resize(plain_before);
    } else if (value.is_array()) {
      for (Value& each : value.get_array())
        if (each.is_object()) schema_in_its_place(each, field);
    }
  }

  void quantity(Value& value) {
    const std::string text = json::print(value);
    const Result<kube::Quantity> read = kube::Quantity::from_json(json::Slice(text));
    if (!read) {
      problem = as_decoded(read.error().message);
      return;
    }
    value = Value(bj(read->text()), storage_);
  }

  // Of a good time. k8s 1.36: Go reads exactly the six digits that its layout has.
  bool six_digits(std::string_view text) {
    constexpr std::size_t kWhole = 7;
    const std::string_view digits = "0123456789";
    const std::size_t zone = text.find_first_of("Z+-", text.find('T'));
    std::string_view rest = text.substr(text.rfind(':', zone) + 3);  // what follows the seconds
    std::string_view wanted = ".000000";
    if (rest.size() >= kWhole && (rest[0] == '.' || rest[0] == ',') &&
        rest.substr(1, kWhole - 1).find_first_not_of(digits) == std::string_view::npos) {
      rest.remove_prefix(kWhole);
      if (digits.find(rest.empty() ? 'Z' : rest[0]) == std::string_view::npos) return true;
      wanted = "Z07:00";
    }
    problem = fmt::format(
        "parsing time \"{}\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"{}\" as "
        "\"{}\"",
        text, rest, wanted);
    return false;
  }

  void time(Value& value, const Field& field) {
    if (!value.is_string()) return mismatch(value, field, "string");
    const std::string text(sv(value.get_string()));
    const std::optional<WallTime> read = kube::parse_time(text);
    if (!read) {
      problem = fmt::format(
          "parsing time \"{}\" as \"2006-01-02T15:04:05{}Z07:00\": cannot parse \"{}\" as \"2006\"",
          text, field.type == FieldType::kMicroTime ? ".000000" : "", text);
      return;
    }
    if (field.type == FieldType::kMicroTime && !six_digits(text)) return;
    const std::string canonical =
        field.type == FieldType::kMicroTime ? kube::micro_time_text(*read) : kube::time_text(*read);
    value = Value(bj(canonical), storage_);
  }

  boost::json::storage_ptr storage_;
  std::string path_;   // with indices: "spec.containers[0]."
  std::string plain_;  // without: "spec.containers."
  std::string_view owner_;
};

}  // namespace

Result<Conformed> conform(json::Value& document, const json::Message& type) {
  Walker walker(document.storage());
  walker.message(document, type, true);
  if (!walker.problem.empty()) return fail(Reason::kBadRequest, walker.problem);
  return Conformed{std::move(walker.unknown)};
}

json::Value zero_of(const json::Message& type, json::Arena& arena) {
  Walker walker(arena.storage());
  Dict dict(arena.storage());
  walker.write_empty(dict, type, false);
  return dict;
}

}  // namespace berth::apiserver
