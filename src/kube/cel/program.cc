// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/program.h"

#include "kube/cel/functions.h"

namespace berth::cel {

struct Program::Parts {
  std::string text;
  std::vector<Variable> variables;
  ExprPtr root;
};

namespace {

Value no_overload() { return Value::error("no such overload"); }

bool uses_root(const Expr& e, std::size_t which) {
  if (e.kind == Expr::Kind::kName && e.local < 0 && e.root == which) return true;
  for (const ExprPtr& each : e.args)
    if (uses_root(*each, which)) return true;
  return false;
}

class Evaluation {
 public:
  Evaluation(std::span<const Variable> variables, std::span<const Node> nodes, Meter& meter)
      : meter_(meter) {
    for (std::size_t i = 0; i < variables.size(); ++i)
      roots_.push_back(i < nodes.size() ? Value::of(nodes[i], *variables[i].type) : Value());
  }

  Value value(const Expr& e) {
    if (!meter_.spend(1)) return out_of_budget();
    switch (e.kind) {
      case Expr::Kind::kLiteral:
        return e.literal;
      case Expr::Kind::kName:
        return e.local >= 0 ? bound_[static_cast<std::size_t>(e.local)] : roots_[e.root];
      case Expr::Kind::kSelect:
      case Expr::Kind::kHas: {
        const Value of = value(*e.args[0]);
        if (of.is_error()) return of;
        if (of.kind() != Kind::kMap) return no_overload();
        const Value found = of.member(Value::text_of({e.name}));
        return e.kind == Expr::Kind::kHas ? Value::boolean(!found.is_error()) : found;
      }
      case Expr::Kind::kList: {
        Values out;
        for (const ExprPtr& each : e.args) {
          out.push_back(value(*each));
          if (out.back().is_error()) return out.back();
        }
        return Value::list(std::move(out));
      }
      case Expr::Kind::kMap:
        return map(e);
      case Expr::Kind::kLoop:
        return loop(e);
      case Expr::Kind::kCall:
        return call(e);
    }
    return no_overload();
  }

 private:
  static Value out_of_budget() {
    return Value::error("operation cancelled: actual cost limit exceeded");
  }

  Value map(const Expr& e) {
    Entries out;
    for (std::size_t i = 0; i + 1 < e.args.size(); i += 2) {
      Value key = value(*e.args[i]);
      if (key.is_error()) return key;
      if (key.kind() != Kind::kString) return Value::error("unsupported key type");
      std::uint64_t cost = 0;
      for (const auto& [other, unused] : out)
        if (equal(other, key, cost)) return Value::error("Failed with repeated key");
      if (!meter_.spend(cost)) return out_of_budget();
      Value each = value(*e.args[i + 1]);
      if (each.is_error()) return each;
      out.emplace_back(std::move(key), std::move(each));
    }
    return Value::map(std::move(out));
  }

  // The value that ends it (false of &&, true of ||) wins over errors, wherever it stands.
  Value junction(const Expr& e, bool ends) {
    std::optional<Value> error;
    for (const ExprPtr& each : e.args) {
      const Value found = value(*each);
      if (found.kind() == Kind::kBool && found.boolean() == ends) return found;
      if (meter_.exhausted()) return out_of_budget();
      if (found.kind() != Kind::kBool && !error) error = found.is_error() ? found : no_overload();
    }
    return error.value_or(Value::boolean(!ends));
  }

  Value loop(const Expr& e) {
    const Value range = value(*e.args[0]);
    if (range.is_error()) return range;
    if (range.kind() != Kind::kList && range.kind() != Kind::kMap) return no_overload();
    const bool all = e.name == "all", any = e.name == "exists", one = e.name == "exists_one";
    std::optional<Value> error, answer;
    std::size_t count = 0;
    Values out;
    range.each([&](const Value& element) {
      bound_.push_back(element);
      const auto in_loop = [&](const ExprPtr& part) { return value(*part); };
      if (e.name == "map") {
        const Value keep = e.args.size() == 3 ? in_loop(e.args[2]) : Value::boolean(true);
        if (keep.is_true()) {
          out.push_back(in_loop(e.args[1]));
          if (out.back().is_error()) answer = out.back();
        } else if (!keep.is_false()) {
          answer = keep.is_error() ? keep : no_overload();
        }
      } else {
        const Value found = in_loop(e.args[1]);
        if (found.kind() != Kind::kBool) {
          error = found.is_error() ? found : no_overload();
          if (!all && !any) answer = error;
        } else if (all && !found.boolean()) {
          answer = found;
        } else if (any && found.boolean()) {
          answer = found;
        } else if (found.boolean()) {
          ++count;
          if (e.name == "filter") out.push_back(element);
        }
      }
      bound_.pop_back();
      return !answer && meter_.spend(1);
    });
    if (meter_.exhausted()) return out_of_budget();
    if (answer) return *answer;
    if (error) return *error;
    if (all || any) return Value::boolean(all);
    return one ? Value::boolean(count == 1) : Value::list(std::move(out));
  }

  Value call(const Expr& e) {
    if (e.name == "_&&_") return junction(e, false);
    if (e.name == "_||_") return junction(e, true);
    if (e.name == "_?_:_") {
      const Value condition = value(*e.args[0]);
      if (condition.is_error()) return condition;
      if (condition.kind() != Kind::kBool) return no_overload();
      return value(*e.args[condition.boolean() ? 1 : 2]);
    }
    Values args;
    args.reserve(e.args.size());
    for (const ExprPtr& each : e.args) {
      args.push_back(value(*each));
      if (args.back().is_error()) return args.back();
    }
    if (!e.method && e.name.find_first_of("_@") != std::string::npos) return operate(e.name, args);
    if (e.compiled != nullptr && args[0].kind() == Kind::kString)
      return matches(args[0].text(), *static_cast<const re2::RE2*>(e.compiled.get()), meter_);
    for (const Function* each : e.functions) {
      bool fits = true;
      for (std::size_t i = 0; i < args.size() && fits; ++i)
        fits = each->takes[i] == Kind::kDyn || each->takes[i] == args[i].kind();
      if (fits) return each->run(args, meter_);
    }
    return no_overload();
  }

  Value operate(const std::string& op, const Values& a) {
    if (op == "!_")
      return a[0].kind() == Kind::kBool ? Value::boolean(!a[0].boolean()) : no_overload();
    if (op == "-_") {
      if (a[0].kind() == Kind::kDouble) return Value::number(-a[0].number());
      if (a[0].kind() != Kind::kInt) return no_overload();
      return arithmetic("_-_", Value::integer(0), a[0], meter_);
    }
    if (op == "_==_" || op == "_!=_") return Value::boolean(same(a[0], a[1]) == (op == "_==_"));
    if (op == "@in") return contains(a[0], a[1]);
    if (op == "_[_]") return index(a[0], a[1]);
    if (op.find_first_of("<>") == std::string::npos) return arithmetic(op, a[0], a[1], meter_);
    if (!comparable(a[0].kind(), a[1].kind())) return no_overload();
    const auto found = order(a[0], a[1]);
    if (!found) return Value::boolean(false);
    const bool or_equal = op.find('=') != std::string::npos;
    if (or_equal && *found == 0) return Value::boolean(true);
    return Value::boolean(op[1] == '<' ? *found < 0 : *found > 0);
  }

  bool same(const Value& a, const Value& b) {
    std::uint64_t cost = 0;
    const bool out = equal(a, b, cost);
    meter_.spend(cost);
    return out;
  }

  Value contains(const Value& element, const Value& in) {
    if (in.kind() == Kind::kMap) {
      const Part* part = in.part();
      if (part != nullptr && element.kind() != Kind::kString) return Value::boolean(false);
      return Value::boolean(in.has(element));
    }
    if (in.kind() != Kind::kList) return no_overload();
    bool found = false;
    in.each([&](const Value& each) {
      found = same(element, each);
      return !found && meter_.spend(1);
    });
    return meter_.exhausted() ? out_of_budget() : Value::boolean(found);
  }

  Value index(const Value& of, const Value& at) {
    if (of.kind() == Kind::kMap) return of.member(at);
    if (of.kind() != Kind::kList) return no_overload();
    if (at.kind() != Kind::kInt) return Value::error("invalid_argument");
    if (at.integer() < 0 || static_cast<std::uint64_t>(at.integer()) >= of.size())
      return Value::error("index out of bounds: " + std::to_string(at.integer()));
    return of.element(static_cast<std::size_t>(at.integer()));
  }

  Meter& meter_;
  Values roots_, bound_;
};

}  // namespace

Result<Program> Program::compile(std::string_view text, std::vector<Variable> variables) {
  constexpr std::size_t kMostText = 64 << 10;
  if (text.size() > kMostText) return invalid("the expression is too long");
  auto parts = std::make_shared<Parts>();
  parts->text = text;
  parts->variables = std::move(variables);
  auto root = parse_expression(parts->text);
  if (!root) return tl::unexpected(root.error());
  parts->root = std::move(*root);
  if (std::string problem = check(*parts->root, parts->text, parts->variables); !problem.empty())
    return invalid(std::move(problem));
  Program out;
  out.parts_ = std::move(parts);
  return out;
}

Kind Program::kind() const { return parts_->root->type->kind; }

bool Program::uses(std::string_view variable) const {
  for (std::size_t i = 0; i < parts_->variables.size(); ++i)
    if (parts_->variables[i].name == variable) return uses_root(*parts_->root, i);
  return false;
}

Program::Answer Program::evaluate(std::span<const Node> variables, std::uint64_t most) const {
  Meter meter(most);
  Value value = Evaluation(parts_->variables, variables, meter).value(*parts_->root);
  if (meter.exhausted()) value = Value::error("operation cancelled: actual cost limit exceeded");
  return {std::move(value), meter.spent(), meter.exhausted()};
}

}  // namespace berth::cel
