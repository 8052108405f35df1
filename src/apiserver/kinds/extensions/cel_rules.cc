// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/cel_rules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/cel_types.h"
#include "apiserver/kinds/rules.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using json::Value;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\r\v\f";
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}
bool has_line_breaks(std::string_view text) { return text.find('\n') != std::string_view::npos; }

std::string below(const std::string& at, std::string_view name) {
  return at.empty() ? std::string(name) : fmt::format("{}.{}", at, name);
}

// Of a property. Its part of what is known already, where there is one: a definition has many.
cel::TypePtr property_type(const cel::TypePtr& of, const std::string& key,
                           const Structural& property) {
  if (of != nullptr)
    if (const auto found = of->members.find(cel::member_name(key)); found != of->members.end())
      return found->second.type;
  return cel_type_of(property, false);
}

std::vector<cel::Variable> variables_of(const cel::TypePtr& type) {
  return {{"self", type}, {"oldSelf", type}};
}

// ".a['b.c']" as paths show it; nullopt: there is no such place.
std::optional<std::string> blamed_path(std::string_view path, const Structural& schema) {
  std::string out;
  const Structural* at = &schema;
  while (!path.empty()) {
    std::string name;
    if (path[0] == '.') {
      path.remove_prefix(1);
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      name = path.substr(0, end);
      path.remove_prefix(end);
      if (name.empty()) return std::nullopt;
    } else if (path.starts_with("['")) {
      const std::size_t end = path.find("']", 2);
      if (end == std::string_view::npos) return std::nullopt;
      name = path.substr(2, end - 2);
      path.remove_prefix(end + 2);
    } else {
      return std::nullopt;
    }
    if (!at->properties.empty()) {
      const Structural* member = at->property(name);
      if (member == nullptr) return std::nullopt;
      out = below(out, name);
      at = member;
    } else if (at->others != nullptr) {
      out += fmt::format("[{}]", name);
      at = at->others.get();
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// The rule as Go prints the struct that holds it.
Shown shown(const WrittenRule& rule) {
  json::Writer w;
  w.object().member("Rule").string(rule.rule).member("Message").string(rule.message);
  w.member("MessageExpression").string(rule.message_expression).member("Reason");
  if (rule.has_reason)
    w.string(rule.reason);
  else
    w.null();
  w.member("FieldPath").string(rule.field_path).member("OptionalOldSelf");
  if (rule.optional_old_self)
    w.boolean(true);
  else
    w.null();
  // As Go's encoder writes it.
  std::string out;
  for (const char c : w.end().take())
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  return Shown::raw(std::move(out));
}

class Texts {
 public:
  // k8s 1.36: what is wrong with the expressions is told where nothing else is wrong.
  Findings expressions;

  explicit Texts(Findings& findings) : findings_(findings) {}

  // `apart`: where values stop having a counterpart in what was there before; "": nowhere yet.
  void check(const Structural& schema, const cel::TypePtr& type, const std::string& at,
             const std::string& apart) {
    if (!schema.rules_below) return;
    for (std::size_t i = 0; i < schema.rules.size(); ++i)
      rule(schema, schema.rules[i], type, fmt::format("{}.x-kubernetes-validations[{}]", at, i),
           apart);
    if (schema.items != nullptr)
      check(*schema.items, type == nullptr ? nullptr : type->element, at + ".items",
            !apart.empty() || schema.list_type == "map" ? apart : at);
    const std::string& in_members = !apart.empty() || !schema.atomic_map ? apart : at;
    if (schema.others != nullptr)
      check(*schema.others, type == nullptr ? nullptr : type->element, at + ".additionalProperties",
            in_members);
    for (const auto& [key, property] : schema.properties)
      check(*property, property_type(type, key, *property),
            fmt::format("{}.properties[{}]", at, key), in_members);
  }

 private:
  void rule(const Structural& schema, const WrittenRule& written, const cel::TypePtr& type,
            const std::string& at, const std::string& apart) {
    const auto in = [&](std::string_view word) { return fmt::format("{}.{}", at, word); };
    const std::string place = in("rule"), message = in("message"),
                      expression = in("messageExpression"), path = in("fieldPath");
    if (trimmed(written.rule).empty())
      return findings_.required(Path(place), "rule is not specified");
    if (!written.message.empty() && trimmed(written.message).empty())
      findings_.invalid(Path(message), written.message, "must be non-empty if specified");
    else if (has_line_breaks(trimmed(written.message)))
      findings_.invalid(Path(message), written.message, "message must not contain line breaks");
    else if (has_line_breaks(trimmed(written.rule)) && trimmed(written.message).empty())
      findings_.required(Path(message), "message must be specified if rule contains line breaks");
    if (!written.message_expression.empty() && trimmed(written.message_expression).empty())
      findings_.required(Path(expression), "messageExpression must be non-empty if specified");
    if (written.has_reason && !one_of(written.reason, {"FieldValueDuplicate", "FieldValueForbidden",
                                                       "FieldValueInvalid", "FieldValueRequired"}))
      findings_.not_supported(Path(in("reason")), written.reason,
                              {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                               "FieldValueRequired"});
    if (!written.field_path.empty())
      if (!blamed_path(trimmed(written.field_path), schema))
        findings_.invalid(Path(path), written.field_path, "must be a valid path");
    if (written.optional_old_self)
      findings_.forbidden(Path(in("optionalOldSelf")), "is not supported by this server");
    if (type == nullptr)
      return expressions.invalid(
          Path(place), shown(written),
          fmt::format("rule declared on schema that does not support validation rules type: '{}' "
                      "x-kubernetes-preserve-unknown-fields: '{}'",
                      schema.type, schema.keeps_unknown));
    const auto program = cel::Program::compile(written.rule, variables_of(type));
    if (!program)
      return expressions.invalid(Path(place), shown(written),
                                 "compilation failed: " + program.error().message);
    if (program->kind() != cel::Kind::kBool)
      return expressions.invalid(Path(place), shown(written),
                                 "cel expression must evaluate to a bool");
    if (program->uses("oldSelf") && !apart.empty())
      findings_.invalid(
          Path(place), written.rule,
          fmt::format(
              "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
              apart));
    if (trimmed(written.message_expression).empty()) return;
    const auto text = cel::Program::compile(written.message_expression, variables_of(type));
    if (!text)
      expressions.invalid(Path(expression), shown(written),
                          "messageExpression compilation failed: " + text.error().message);
    else if (text->kind() != cel::Kind::kString)
      expressions.invalid(Path(expression), shown(written),
                          "messageExpression must evaluate to a string");
  }

  Findings& findings_;
};

RuleTreePtr compiled(const StructuralPtr& schema, const cel::TypePtr& type) {
  if (schema == nullptr || !schema->rules_below || type == nullptr) return nullptr;
  auto out = std::make_shared<RuleTree>();
  out->schema = schema;
  for (const WrittenRule& each : schema->rules) {
    auto program = cel::Program::compile(each.rule, variables_of(type));
    if (!program || program->kind() != cel::Kind::kBool) continue;
    CompiledRule rule{.written = each,
                      .program = *program,
                      .message = {},
                      .blamed = blamed_path(trimmed(each.field_path), *schema).value_or(""),
                      .transition = program->uses("oldSelf")};
    if (!trimmed(each.message_expression).empty())
      if (auto text = cel::Program::compile(each.message_expression, variables_of(type)))
        rule.message = std::move(*text);
    out->rules.push_back(std::move(rule));
  }
  for (const auto& [key, property] : schema->properties)
    if (property->rules_below)
      if (RuleTreePtr below_it = compiled(property, property_type(type, key, *property)))
        out->properties.emplace(key, std::move(below_it));
  out->others = compiled(schema->others, type->element);
  out->items = compiled(schema->items, type->element);
  return out;
}

class Asking {
 public:
  explicit Asking(Findings& findings) : findings_(findings) {}

  // False: nothing more can be asked.
  bool ask(const Value& value, const RuleTree& tree, const std::string& at, const Value* old,
           bool in_unchanged) {
    if (value.is_null()) return true;
    std::optional<bool> same;
    const auto has_not_changed = [&] {
      if (!same) same = in_unchanged || (old != nullptr && json::equal(value, *old));
      return *same;
    };
    for (const CompiledRule& rule : tree.rules) {
      if (rule.transition && (old == nullptr || old->is_null())) continue;
      if (!ask(value, rule, tree, at, old, has_not_changed)) return false;
    }
    // Parts without a counterpart of their own have not changed where the whole has not.
    const bool unchanged =
        tree.schema->list_type == "map" || (value.is_object() && !tree.schema->atomic_map)
            ? in_unchanged
            : has_not_changed();
    if (value.is_array() && tree.items != nullptr) return elements(value, tree, at, old, unchanged);
    if (!value.is_object()) return true;
    const auto before = [&](std::string_view key) -> const Value* {
      if (old == nullptr || !old->is_object() || tree.schema->atomic_map) return nullptr;
      return old->get_object().if_contains(bj(key));
    };
    if (tree.others != nullptr)
      for (const auto& member : value.get_object()) {
        const std::string_view key = sv(member.key());
        if (!ask(member.value(), *tree.others, fmt::format("{}[{}]", at, key), before(key),
                 unchanged))
          return false;
      }
    for (const auto& [key, below_it] : tree.properties)
      if (const Value* member = value.get_object().if_contains(bj(key)))
        if (!ask(*member, *below_it, below(at, key), before(key), unchanged)) return false;
    return true;
  }

 private:
  // k8s 1.36 allows an object ten times this; nobody else is served meanwhile.
  static constexpr std::uint64_t kMostCost = cel::Program::kMostCost;

  bool elements(const Value& value, const RuleTree& tree, const std::string& at, const Value* old,
                bool unchanged) {
    std::map<std::string, const Value*> before;
    const auto keys_of = [&](const Value& element) {
      std::string out;
      for (const std::string& key : tree.schema->list_keys) {
        const Value* found = Peek(element)[key].value();
        out += found == nullptr ? "-" : json::print(*found);
        out += ',';
      }
      return out;
    };
    if (tree.schema->list_type == "map" && old != nullptr && old->is_array())
      for (const Value& each : old->get_array()) before.emplace(keys_of(each), &each);
    std::size_t i = 0;
    for (const Value& each : value.get_array()) {
      const Value* was = nullptr;
      if (!before.empty())
        if (const auto found = before.find(keys_of(each)); found != before.end())
          was = found->second;
      if (!ask(each, *tree.items, fmt::format("{}[{}]", at, i++), was, unchanged)) return false;
    }
    return true;
  }

  template <class Same>
  bool ask(const Value& value, const CompiledRule& rule, const RuleTree& tree,
           const std::string& at, const Value* old, const Same& has_not_changed) {
    const std::string here = at.empty() ? "<nil>" : at;
    const std::string& type = tree.schema->type;
    const cel::Node nodes[] = {node_of(value), old == nullptr ? cel::Node() : node_of(*old)};
    const std::string named(
        trimmed(rule.written.message.empty() ? rule.written.rule : rule.written.message));
    const auto answer = rule.program.evaluate(nodes, kMostCost - cost_);
    cost_ += answer.cost;
    if (answer.exhausted || cost_ >= kMostCost) {
      findings_.invalid(Path(here), type,
                        "validation failed due to running out of cost budget, no further "
                        "validation rules will be run");
      return false;
    }
    if (answer.value.is_true()) return true;
    if (answer.value.is_error()) {
      const std::string why(answer.value.text());
      findings_.invalid(
          Path(here), type,
          why.starts_with("no such overload")
              ? fmt::format("'{}': call arguments did not match a supported operator, function or "
                            "macro signature for rule: {}",
                            why, named)
              : fmt::format("{} evaluating rule: {}", why, named));
      return true;
    }
    // What was wrong already is not the fault of this write.
    if (!rule.transition && has_not_changed()) return true;
    refuse(rule, value, type, rule.blamed.empty() ? here : below(at, rule.blamed), nodes);
    return true;
  }

  void refuse(const CompiledRule& rule, const Value& value, const std::string& type,
              const std::string& at, std::span<const cel::Node> nodes) {
    std::string why;
    if (rule.message) {
      const auto said = rule.message->evaluate(nodes, kMostCost - cost_);
      cost_ += said.cost;
      constexpr std::size_t kMostText = 5 << 10;
      if (said.value.kind() == cel::Kind::kString) why = trimmed(said.value.text());
      if (why.size() > kMostText || has_line_breaks(why)) why.clear();
    }
    if (why.empty())
      why = rule.written.message.empty()
                ? fmt::format("failed rule: {}", trimmed(rule.written.rule))
                : std::string(trimmed(rule.written.message));
    if (rule.written.reason == "FieldValueForbidden") return findings_.forbidden(Path(at), why);
    if (rule.written.reason == "FieldValueRequired") return findings_.required(Path(at), why);
    // k8s 1.36: of lists and objects nothing is shown.
    const bool scalar = !value.is_object() && !value.is_array();
    if (rule.written.reason == "FieldValueDuplicate")
      return findings_.duplicate(Path(at), scalar ? Shown::raw(go_json(value)) : Shown(type));
    if (scalar)
      findings_.invalid(Path(at), Shown::raw(go_json(value)), why);
    else
      findings_.invalid_unshown(Path(at), why);
  }

  Findings& findings_;
  std::uint64_t cost_ = 0;
};

}  // namespace

RuleTreePtr compile_rules(const StructuralPtr& schema, bool root) {
  if (!schema->rules_below) return nullptr;
  return compiled(schema, cel_type_of(*schema, root));
}

void check_rule_texts(const StructuralPtr& schema, const std::string& at, Findings& findings) {
  if (!schema->rules_below) return;
  Texts texts(findings);
  texts.check(*schema, cel_type_of(*schema, true), at, "");
  if (findings.empty()) findings.add(texts.expressions);
}

void check_rules(const json::Value& value, const RuleTree& tree, const std::string& at,
                 Findings& findings, const json::Value* old) {
  Asking(findings).ask(value, tree, at, old, false);
}

}  // namespace berth::apiserver
