// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/match_conditions.h"

#include <set>

#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/kinds/extensions/cel_rules.h"
#include "json/value.h"
#include "kube/names.h"

namespace berth::apiserver {
namespace {

cel::TypePtr object_of(std::initializer_list<std::pair<const char*, cel::TypePtr>> members) {
  cel::Type out{.kind = cel::Kind::kObject};
  for (const auto& [name, type] : members) out.members[name] = {name, type};
  return std::make_shared<const cel::Type>(std::move(out));
}

// What an AdmissionRequest has besides the objects.
const cel::TypePtr& request_type() {
  static const cel::TypePtr type = [] {
    const cel::TypePtr text = cel::simple(cel::Kind::kString);
    const cel::TypePtr kind = object_of({{"group", text}, {"version", text}, {"kind", text}});
    const cel::TypePtr resource =
        object_of({{"group", text}, {"version", text}, {"resource", text}});
    const cel::TypePtr user = object_of({{"username", text},
                                         {"uid", text},
                                         {"groups", cel::list_of(text)},
                                         {"extra", cel::map_of(cel::list_of(text))}});
    return object_of({{"kind", kind},
                      {"resource", resource},
                      {"subResource", text},
                      {"requestKind", kind},
                      {"requestResource", resource},
                      {"requestSubResource", text},
                      {"name", text},
                      {"namespace", text},
                      {"operation", text},
                      {"userInfo", user},
                      {"dryRun", cel::simple(cel::Kind::kBool)},
                      {"options", cel::simple(cel::Kind::kDyn)}});
  }();
  return type;
}

}  // namespace

Result<cel::Program> compile_condition(std::string_view expression) {
  auto program = cel::Program::compile(expression, {{"object", cel::simple(cel::Kind::kDyn)},
                                                    {"oldObject", cel::simple(cel::Kind::kDyn)},
                                                    {"request", request_type()}});
  if (!program) return invalid("compilation failed: " + program.error().message);
  if (program->kind() != cel::Kind::kBool) return invalid("must evaluate to bool");
  return program;
}

std::optional<bool> all_match(const std::vector<MatchCondition>& conditions,
                              std::string_view review, std::string& why) {
  json::Arena arena;
  const json::Value tree = json::parse_good(review, arena);
  const Peek request = Peek(tree)["request"];
  const auto node = [](Peek part) {
    return part.value() == nullptr ? cel::Node() : node_of(*part.value());
  };
  const cel::Node nodes[] = {node(request["object"]), node(request["oldObject"]), node(request)};
  std::vector<std::string> errors;
  // k8s 1.36: one that is false counts, whatever becomes of the others.
  std::uint64_t left = cel::Program::kMostCost;
  for (const MatchCondition& each : conditions) {
    const auto answer = each.program.evaluate(nodes, left);
    left -= std::min(left - 1, answer.cost);
    if (answer.value.is_false()) return false;
    if (!answer.value.is_true())
      errors.push_back(
          fmt::format("expression '{}' resulted in error: {}", each.expression,
                      answer.value.is_error() ? answer.value.text() : "it is no boolean"));
  }
  if (errors.empty()) return true;
  why = aggregate_text(errors);
  return std::nullopt;
}

void check_conditions(json::Slice conditions, const std::string& at, Findings& findings) {
  constexpr std::size_t kMost = 64;
  if (conditions.size() > kMost)
    return findings.too_many(Path(at), static_cast<std::int64_t>(conditions.size()), kMost);
  std::set<std::string> names;
  std::size_t i = 0;
  for (const json::Slice each : conditions.elements()) {
    const std::string name_at = fmt::format("{}[{}].name", at, i);
    const std::string expression_at = fmt::format("{}[{}].expression", at, i++);
    const std::string name = each["name"].text(), expression = each["expression"].text();
    if (expression.find_first_not_of(" \t\r\n") == std::string::npos)
      findings.required(Path(expression_at));
    else if (const auto program = compile_condition(expression); !program)
      findings.invalid(Path(expression_at), expression, program.error().message);
    if (name.empty())
      findings.required(Path(name_at));
    else
      for (const std::string& complaint : kube::check_qualified_name(name))
        findings.invalid(Path(name_at), name, complaint);
    if (!name.empty() && !names.insert(name).second) findings.duplicate(Path(name_at), name);
  }
}

}  // namespace berth::apiserver
