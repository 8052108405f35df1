// SPDX-License-Identifier: Apache-2.0
// x-kubernetes-validations: what a schema says in CEL, compiled with the definition and asked of
// every object.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/findings.h"
#include "kube/cel/program.h"

namespace berth::apiserver {

struct CompiledRule {
  WrittenRule written;
  cel::Program program;
  std::optional<cel::Program> message;  // messageExpression
  std::string blamed;                   // fieldPath, as paths are shown
  bool transition = false;              // asks for oldSelf
};

struct RuleTree;
using RuleTreePtr = std::shared_ptr<const RuleTree>;

// The places of a schema that have rules, or lead to some. Immutable.
struct RuleTree {
  StructuralPtr schema;
  std::vector<CompiledRule> rules = {};
  std::map<std::string, RuleTreePtr, std::less<>> properties = {};
  RuleTreePtr others = {}, items = {};
};

// Null where there are no rules. What cannot be compiled is left out; check_rule_texts() has said
// so before. `root`: the schema is that of a whole object.
RuleTreePtr compile_rules(const StructuralPtr&, bool root);

// Whether the rules themselves are good; `at` is where the schema stands.
void check_rule_texts(const StructuralPtr&, const std::string& at, Findings&);

// `old`: what stood there before; null: nothing.
void check_rules(const json::Value&, const RuleTree&, const std::string& at, Findings&,
                 const json::Value* old);

// A tree as expressions see it.
cel::Node node_of(const json::Value&);

}  // namespace berth::apiserver
