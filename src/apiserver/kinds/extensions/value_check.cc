// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/value_check.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/formats.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using json::Value;

// One complaint, before it is known whether it counts.
struct Complaint {
  enum class Kind : unsigned char {
    kInvalid,
    kType,
    kRequired,
    kEnum,
    kTooLong,
    kTooMany,
    kWhole  // about no field in particular
  };
  Kind kind = Kind::kInvalid;
  std::string at;     // ".spec.x" or "spec.x"
  std::string text;   // what it says
  std::string shown;  // the value, as JSON
  std::int64_t found = 0, most = 0;
  const Structural* schema = nullptr;  // kEnum
  std::size_t listed = 0;              // bytes of what it allows
};

// As kube-openapi collects results: `matched` decides which branch of anyOf came closest.
struct Outcome {
  std::vector<Complaint> complaints;
  std::size_t bytes = 0;  // that they will take in the answer
  int matched = 0;
  bool good() const { return complaints.empty(); }
  bool full() const {
    constexpr std::size_t kMost = 1'000, kMostBytes = std::size_t{1} << 20;
    return complaints.size() >= kMost || bytes >= kMostBytes;
  }
  void add(Complaint complaint) {
    if (full()) return;
    for (const Complaint& each : complaints)
      if (each.text == complaint.text) return;
    bytes += complaint.text.size() + complaint.shown.size() + complaint.listed;
    complaints.push_back(std::move(complaint));
  }
  void merge(Outcome other) {
    for (Complaint& each : other.complaints) add(std::move(each));
    matched += other.matched;
  }
};

bool is_number(const Value& value) { return value.is_int64() || value.is_double(); }
double as_double(const Value& value) {
  return value.is_int64() ? static_cast<double>(value.get_int64()) : value.get_double();
}
bool whole(double number) { return std::isfinite(number) && number == std::floor(number); }

// Go's %v of a float64.
std::string go_number(double number) {
  if (whole(number) && std::fabs(number) < 1e21) return fmt::format("{:.0f}", number);
  std::string out;
  json::append_double(out, number);
  return out;
}

std::string_view type_of(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_int64()) return "integer";
  if (value.is_double()) return "number";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "null";
}

std::size_t characters(std::string_view text) {
  std::size_t out = 0;
  for (const char c : text) out += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return out;
}

class Checker {
 public:
  bool exhausted = false;

  Outcome check(const Value& value, const Structural& schema, const std::string& at,
                const Value* old) {
    Outcome out = look(value, schema, at, old);
    // What was wrong already is not the fault of this write.
    if (!out.good() && old != nullptr && json::equal(value, *old)) out.complaints.clear();
    return out;
  }

 private:
  // Looks at values through schemas; a schema of n branches over a document of m values could ask
  // for n times m. A step is worth about a microsecond, and nobody else is served meanwhile.
  static constexpr std::size_t kMostSteps = 1'000'000;
  static constexpr std::size_t kTextPerStep = 100, kLookupsPerStep = 8, kStepsPerComplaint = 4;

  bool spend(std::size_t steps) {
    steps_ += std::min(steps, kMostSteps);
    if (steps_ > kMostSteps) exhausted = true;
    return !exhausted;
  }
  static std::size_t steps_for(const Value& value, const Structural& schema) {
    std::size_t steps = 1 + schema.allowed.size() / kLookupsPerStep;
    if (value.is_string() &&
        (schema.pattern || !schema.format.empty() || schema.max_length || schema.min_length))
      steps += value.get_string().size() / kTextPerStep;
    if (value.is_object())
      steps += (schema.properties.size() + schema.required.size()) / kLookupsPerStep;
    return steps;
  }

  Outcome look(const Value& value, const Structural& schema, const std::string& at,
               const Value* old) {
    Outcome out;
    if (!spend(steps_for(value, schema))) return out;
    if (value.is_null()) {
      out.merge(type(value, schema, at));
      out.merge(allowed(value, schema, at));
      return out;
    }
    const auto run = [&](Outcome each) {
      out.merge(std::move(each));
      ++out.matched;
    };
    if (!schema.type.empty() || schema.int_or_string || !schema.format.empty())
      run(type(value, schema, at));
    run(junctors(value, schema, at));
    if (value.is_string()) {
      run(text(value, schema, at));
      if (!schema.format.empty()) run(format(value, schema, at));
    }
    if (is_number(value)) run(number(value, schema, at));
    if (value.is_array()) run(list(value, schema, at, old));
    run(allowed(value, schema, at));
    if (value.is_object()) run(map(value, schema, at, old));
    if (!out.good()) spend(kStepsPerComplaint * out.complaints.size() + out.bytes / kTextPerStep);
    ++out.matched;
    return out;
  }

  static Complaint about(Complaint::Kind kind, const std::string& at, std::string text,
                         std::string shown) {
    return {.kind = kind, .at = at, .text = std::move(text), .shown = std::move(shown)};
  }

  Outcome type(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    const std::string wanted = schema.int_or_string ? "integer,string" : schema.type;
    const auto accepts = [&](std::string_view name) {
      return schema.int_or_string ? name == "integer" || name == "string" : schema.type == name;
    };
    const std::string_view found = type_of(value);
    const auto refuse = [&](std::string_view type_wanted, std::string_view type_found) {
      out.add(
          about(Complaint::Kind::kType, at,
                fmt::format("{} in body must be of type {}: \"{}\"", at, type_wanted, type_found),
                fmt::format("\"{}\"", type_found)));
      return std::move(out);
    };
    if (value.is_null()) {
      if (!wanted.empty() && !schema.nullable) return refuse(wanted, "null");
      ++out.matched;
      return out;
    }
    const bool whole_float = value.is_double() && whole(value.get_double()) && accepts("integer");
    const bool int_as_float = value.is_int64() && accepts("number");
    const bool textual = value.is_string() || value.is_array();
    if (!(accepts("number") || accepts("integer")) && !schema.format.empty() && textual) {
      ++out.matched;
      return out;
    }
    if (!accepts(found) && !whole_float && !int_as_float) return refuse(wanted, found);
    ++out.matched;
    return out;
  }

  Outcome junctors(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    const auto note = [&](std::string text) {
      out.add(about(Complaint::Kind::kWhole, "", std::move(text), "\"\""));
    };
    if (!schema.any_of.empty()) {
      std::optional<Outcome> best;
      bool good = false;
      for (const StructuralPtr& branch : schema.any_of) {
        Outcome each = look(value, *branch, at, nullptr);
        if (each.good()) {
          good = true;
          out.matched += each.matched;
          break;
        }
        if (!best || each.matched > best->matched) best = std::move(each);
      }
      if (!good) {
        note(fmt::format("{} must validate at least one schema (anyOf)", json::quoted(at)));
        if (best) out.merge(std::move(*best));
      }
    }
    if (!schema.one_of.empty()) {
      std::optional<Outcome> best;
      int good = 0, matched = 0;
      for (const StructuralPtr& branch : schema.one_of) {
        Outcome each = look(value, *branch, at, nullptr);
        if (each.good()) {
          if (good++ == 0) matched = each.matched;
          best.reset();
        } else if (good == 0 && (!best || each.matched > best->matched)) {
          best = std::move(each);
        }
      }
      if (good == 1) {
        out.matched += matched;
      } else {
        note(fmt::format(
            "{} must validate one and only one schema (oneOf). {}", json::quoted(at),
            good == 0 ? "Found none valid" : fmt::format("Found {} valid alternatives", good)));
        if (best) out.merge(std::move(*best));
      }
    }
    if (!schema.all_of.empty()) {
      std::size_t good = 0;
      for (const StructuralPtr& branch : schema.all_of) {
        Outcome each = look(value, *branch, at, nullptr);
        good += each.good() ? 1 : 0;
        out.merge(std::move(each));
      }
      if (good != schema.all_of.size())
        note(fmt::format("{} must validate all the schemas (allOf){}", json::quoted(at),
                         good == 0 ? ". None validated" : ""));
    }
    if (schema.negated != nullptr && look(value, *schema.negated, at, nullptr).good())
      note(fmt::format("{} must not validate the schema (not)", json::quoted(at)));
    ++out.matched;
    return out;
  }

  static Outcome text(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    const std::string_view text = sv(value.get_string());
    const auto length = static_cast<std::int64_t>(characters(text));
    if (schema.max_length && length > *schema.max_length) {
      Complaint complaint = about(
          Complaint::Kind::kTooLong, at,
          fmt::format("{} in body should be at most {} chars long", at, *schema.max_length), "");
      complaint.most = *schema.max_length;
      out.add(std::move(complaint));
    } else if (schema.min_length && length < *schema.min_length) {
      out.add(
          about(Complaint::Kind::kInvalid, at,
                fmt::format("{} in body should be at least {} chars long", at, *schema.min_length),
                json::print(value)));
    } else if (schema.pattern && !schema.pattern->found_in(text)) {
      out.add(about(Complaint::Kind::kInvalid, at,
                    fmt::format("{} in body should match '{}'", at, schema.pattern->text()),
                    json::print(value)));
    }
    return out;
  }

  static Outcome format(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    const std::string_view text = sv(value.get_string());
    if (!has_format(text, schema.format))
      out.add(about(
          Complaint::Kind::kType, at,
          fmt::format("{} in body must be of type {}: {}", at, schema.format, json::quoted(text)),
          json::print(value)));
    return out;
  }

  static Outcome number(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    const bool integer = value.is_int64();
    const double found = as_double(value);
    const std::string shown = json::print(value);
    const auto refuse = [&](std::string_view how, double bound) {
      const std::string limit =
          integer ? fmt::format("{}", static_cast<std::int64_t>(bound)) : go_number(bound);
      out.add(about(Complaint::Kind::kInvalid, at,
                    fmt::format("{} in body should be {} {}", at, how, limit), shown));
    };
    const auto in_range = [&](double checked, std::string_view what) {
      const bool integral = schema.type == "integer";
      const bool narrow = integral && schema.format == "int32" &&
                          (checked > std::numeric_limits<std::int32_t>::max() ||
                           checked < std::numeric_limits<std::int32_t>::min());
      const bool wide = schema.type == "number" && schema.format == "float" &&
                        std::fabs(checked) > static_cast<double>(std::numeric_limits<float>::max());
      if (!narrow && !wide && (!integral || whole(checked))) return;
      const std::string form =
          schema.format.empty() ? "(default format)" : "with format " + schema.format;
      out.add(
          about(Complaint::Kind::kWhole, "",
                fmt::format("{} value must be of type {} {} in {}", what, schema.type, form, at),
                "\"\""));
    };
    in_range(found, "Checked");
    if (schema.multiple_of) {
      in_range(*schema.multiple_of, "MultipleOf");
      // k8s 1.36: of an integer, only the whole part of the factor counts.
      const double factor = integer ? std::trunc(*schema.multiple_of) : *schema.multiple_of;
      const double times = factor < 1 ? 1 / factor * found : found / factor;
      if (factor <= 0)
        out.add(about(Complaint::Kind::kInvalid, at,
                      fmt::format("factor MultipleOf declared for {} must be positive: {}", at,
                                  go_number(factor)),
                      go_number(factor)));
      else if (!whole(times))
        refuse("a multiple of", factor);
    }
    if (schema.minimum) {
      in_range(*schema.minimum, "Minimum boundary");
      const double bound = integer ? std::trunc(*schema.minimum) : *schema.minimum;
      if (schema.above_minimum ? found <= bound : found < bound)
        refuse(schema.above_minimum ? "greater than" : "greater than or equal to", bound);
    }
    if (schema.maximum) {
      in_range(*schema.maximum, "Maximum boundary");
      const double bound = integer ? std::trunc(*schema.maximum) : *schema.maximum;
      if (schema.below_maximum ? found >= bound : found > bound)
        refuse(schema.below_maximum ? "less than" : "less than or equal to", bound);
    }
    ++out.matched;
    return out;
  }

  Outcome list(const Value& value, const Structural& schema, const std::string& at,
               const Value* old) {
    Outcome out;
    const json::List& elements = value.get_array();
    const Counterparts before = counterparts(schema, old);
    const auto counterpart = [&](const Value& element) -> const Value* {
      if (before.empty() || !element.is_object()) return nullptr;
      const auto found = before.find(keys_of(element, schema));
      return found == before.end() ? nullptr : found->second;
    };
    if (schema.items != nullptr)
      for (std::size_t i = 0; i < elements.size() && !exhausted; ++i)
        out.merge(check(elements[i], *schema.items, fmt::format("{}[{}]", at, i),
                        counterpart(elements[i])));
    const auto size = static_cast<std::int64_t>(elements.size());
    if (schema.min_items && size < *schema.min_items)
      out.add(about(Complaint::Kind::kInvalid, at,
                    fmt::format("{} in body should have at least {} items", at, *schema.min_items),
                    std::to_string(size)));
    if (schema.max_items && size > *schema.max_items)
      out.add(too_many(at, "items", size, *schema.max_items));
    ++out.matched;
    return out;
  }

  static Complaint too_many(const std::string& at, std::string_view of, std::int64_t found,
                            std::int64_t most) {
    Complaint out = about(Complaint::Kind::kTooMany, at,
                          fmt::format("{} in body should have at most {} {}", at, most, of), "");
    out.found = found;
    out.most = most;
    return out;
  }

  // The elements of what was there by their keys; only lists with keys have them. Null: two have
  // the same.
  using Counterparts = std::unordered_map<std::string, const Value*>;
  static Counterparts counterparts(const Structural& schema, const Value* old) {
    Counterparts out;
    if (old == nullptr || !old->is_array() || schema.list_type != "map") return out;
    for (const Value& each : old->get_array())
      if (each.is_object())
        if (const auto [at, added] = out.try_emplace(keys_of(each, schema), &each); !added)
          at->second = nullptr;
    return out;
  }
  static std::string keys_of(const Value& element, const Structural& schema) {
    std::string out;
    for (const std::string& key : schema.list_keys) {
      const Value* value = Peek(element)[key].value();
      out += value == nullptr ? "-" : json::print(*value);
      out += ',';
    }
    return out;
  }

  static Outcome allowed(const Value& value, const Structural& schema, const std::string& at) {
    Outcome out;
    if (schema.allowed.empty()) return out;
    for (const Value& each : schema.allowed) {
      if (json::equal(each, value)) return out;
      if (is_number(each) && is_number(value) && as_double(each) == as_double(value)) return out;
    }
    std::string words;
    for (const Value& each : schema.allowed)
      words +=
          fmt::format("{}{}", words.empty() ? "" : " ",
                      each.is_string() ? std::string(sv(each.get_string())) : json::print(each));
    Complaint complaint =
        about(Complaint::Kind::kEnum, at,
              fmt::format("{} in body should be one of [{}]", at, words), go_json(value));
    complaint.schema = &schema;
    complaint.listed = words.size();
    out.add(std::move(complaint));
    return out;
  }

  Outcome map(const Value& value, const Structural& schema, const std::string& at,
              const Value* old) {
    Outcome out;
    const json::Dict& members = value.get_object();
    const auto size = static_cast<std::int64_t>(members.size());
    if (schema.min_properties && size < *schema.min_properties)
      out.add(about(
          Complaint::Kind::kInvalid, at,
          fmt::format("{} in body should have at least {} properties", at, *schema.min_properties),
          std::to_string(size)));
    if (schema.max_properties && size > *schema.max_properties)
      out.add(too_many(at, "properties", size, *schema.max_properties));
    const auto before = [&](std::string_view key) -> const Value* {
      if (old == nullptr || !old->is_object()) return nullptr;
      return old->get_object().if_contains(bj(key));
    };
    for (const auto& member : members) {
      const std::string_view key = sv(member.key());
      if (schema.property(key) != nullptr) continue;
      if (schema.no_other_properties)
        out.add(about(Complaint::Kind::kInvalid, at,
                      fmt::format("{}.{} in body is a forbidden property", at, key),
                      json::quoted(key)));
      else if (schema.others != nullptr)
        out.merge(
            check(member.value(), *schema.others, fmt::format("{}.{}", at, key), before(key)));
    }
    for (const auto& [key, property] : schema.properties) {
      const Value* found = members.if_contains(bj(key));
      if (found == nullptr) continue;
      const std::string below = at.empty() ? key : fmt::format("{}.{}", at, key);
      out.merge(check(*found, *property, below, before(key)));
    }
    for (const std::string& key : schema.required)
      if (!out.full() && !members.contains(bj(key))) {
        const std::string below = fmt::format("{}.{}", at, key);
        out.add(about(Complaint::Kind::kRequired, below,
                      fmt::format("{} in body is required", below), ""));
      }
    return out;
  }

  std::size_t steps_ = 0;
};

}  // namespace

void check_value(const json::Value& value, const Structural& schema, const std::string& at,
                 Findings& findings, const json::Value* old) {
  Checker checker;
  const Outcome outcome = checker.check(value, schema, "", old);
  for (const Complaint& each : outcome.complaints) {
    std::string_view below = each.at;
    if (below.starts_with('.')) below.remove_prefix(1);
    const std::string place = at.empty() ? std::string(below)
                              : below.empty() || below.starts_with('[')
                                  ? fmt::format("{}{}", at, below)
                                  : fmt::format("{}.{}", at, below);
    // k8s 1.36: a complaint about no field is shown with Go's word for nothing.
    const std::string whole_place = at.empty() ? "<nil>" : at;
    const Path path(each.kind == Complaint::Kind::kWhole ? whole_place
                    : place.empty()                      ? whole_place
                                                         : place);
    switch (each.kind) {
      case Complaint::Kind::kRequired:
        findings.required(path);
        break;
      case Complaint::Kind::kEnum: {
        std::vector<std::string> texts;
        for (const json::Value& allowed : each.schema->allowed)
          texts.push_back(allowed.is_string() ? std::string(sv(allowed.get_string()))
                                              : go_json(allowed));
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        findings.not_supported(path, Shown::raw(each.shown), std::span(views));
        break;
      }
      case Complaint::Kind::kTooLong:
        findings.too_long(path, static_cast<std::size_t>(each.most));
        break;
      case Complaint::Kind::kTooMany:
        findings.too_many(path, each.found, each.most);
        break;
      case Complaint::Kind::kType:
        findings.type_invalid(path, Shown::raw(each.shown), each.text);
        break;
      default:
        findings.invalid(path, Shown::raw(each.shown), each.text);
    }
  }
  if (checker.exhausted)
    findings.invalid(Path(at.empty() ? "<nil>" : at), "",
                     "checking it against the schema takes more steps than are allowed");
}

}  // namespace berth::apiserver
