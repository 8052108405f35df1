// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/check.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kube/cel/functions.h"

namespace berth::cel {
namespace {

bool is_dyn(const TypePtr& type) { return type->kind == Kind::kDyn; }

// Whether values of the two may be compared, or stand in one list.
bool compatible(const TypePtr& a, const TypePtr& b, int depth = 0) {
  if (a == b || is_dyn(a) || is_dyn(b) || depth > 32) return true;
  if (a->kind == Kind::kNull || b->kind == Kind::kNull) return true;
  if (a->kind != b->kind) return false;
  if (a->kind != Kind::kList && a->kind != Kind::kMap) return true;
  return a->element == nullptr || b->element == nullptr ||
         compatible(a->element, b->element, depth + 1);
}

class Checker {
 public:
  Checker(std::string_view text, std::span<const Variable> variables)
      : text_(text), variables_(variables) {}

  std::string problem;

  bool check(Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kLiteral:
        e.type = simple(e.literal.kind());
        return true;
      case Expr::Kind::kName:
        return name(e);
      case Expr::Kind::kSelect:
      case Expr::Kind::kHas:
        return select(e);
      case Expr::Kind::kList:
        return list(e);
      case Expr::Kind::kMap:
        return map(e);
      case Expr::Kind::kLoop:
        return loop(e);
      case Expr::Kind::kCall:
        break;
    }
    for (const ExprPtr& each : e.args)
      if (!check(*each)) return false;
    return call(e);
  }

 private:
  bool wrong(std::size_t at, std::string_view what) {
    problem = complaint(text_, at, what);
    return false;
  }
  bool gives(Expr& e, TypePtr type) {
    e.type = std::move(type);
    return true;
  }
  bool gives(Expr& e, Kind kind) { return gives(e, simple(kind)); }

  bool name(Expr& e) {
    for (std::size_t i = bound_.size(); i-- > 0;)
      if (bound_[i].name == e.name) {
        e.local = static_cast<int>(i);
        return gives(e, bound_[i].type);
      }
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].name == e.name) {
        e.root = i;
        return gives(e, variables_[i].type);
      }
    // Types are values, too.
    for (const Kind kind : {Kind::kInt, Kind::kUint, Kind::kDouble, Kind::kBool, Kind::kString,
                            Kind::kBytes, Kind::kList, Kind::kMap, Kind::kNull, Kind::kType})
      if (name_of(kind) == e.name) {
        e.kind = Expr::Kind::kLiteral;
        e.literal = Value::type(kind);
        return gives(e, Kind::kType);
      }
    return wrong(e.at, fmt::format("undeclared reference to '{}' (in container '')", e.name));
  }

  bool select(Expr& e) {
    if (!check(*e.args[0])) return false;
    const TypePtr of = e.args[0]->type;
    const auto member = [&](TypePtr type) {
      return e.kind == Expr::Kind::kHas ? gives(e, Kind::kBool) : gives(e, std::move(type));
    };
    switch (of->kind) {
      case Kind::kDyn:
        return member(of);
      case Kind::kMap:
        return member(of->element == nullptr ? simple(Kind::kDyn) : of->element);
      case Kind::kObject: {
        const auto found = of->members.find(e.name);
        if (found != of->members.end()) return member(found->second.type);
        return wrong(e.at, fmt::format("undefined field '{}'", e.name));
      }
      default:
        return wrong(e.at, fmt::format("type '{}' does not support field selection", of->text()));
    }
  }

  // k8s 1.36: what stands in one list or map is of one type.
  bool same(const ExprPtr& next, std::optional<TypePtr>& type) {
    if (!check(*next)) return false;
    if (!type || is_dyn(*type)) type = next->type;
    if (compatible(*type, next->type)) return true;
    return wrong(next->at, fmt::format("expected type '{}' but found '{}'", (*type)->text(),
                                       next->type->text()));
  }
  bool list(Expr& e) {
    std::optional<TypePtr> type;
    for (const ExprPtr& each : e.args)
      if (!same(each, type)) return false;
    return gives(e, list_of(type.value_or(simple(Kind::kDyn))));
  }
  bool map(Expr& e) {
    std::optional<TypePtr> keys, values;
    for (std::size_t i = 0; i < e.args.size(); ++i)
      if (!same(e.args[i], i % 2 == 0 ? keys : values)) return false;
    if (keys && (*keys)->kind != Kind::kString && !is_dyn(*keys))
      return wrong(e.at, "maps with keys that are no texts are not supported by this server");
    return gives(e, map_of(values.value_or(simple(Kind::kDyn))));
  }

  bool loop(Expr& e) {
    if (!check(*e.args[0])) return false;
    const TypePtr range = e.args[0]->type;
    TypePtr element = simple(Kind::kDyn);
    if (range->kind == Kind::kList)
      element = range->element == nullptr ? element : range->element;
    else if (range->kind == Kind::kMap)
      element = simple(Kind::kString);
    else if (!is_dyn(range))
      return wrong(e.at, fmt::format("expression of type '{}' cannot be range of a comprehension "
                                     "(must be list, map, or dynamic)",
                                     range->text()));
    bound_.push_back({e.variable, element});
    for (std::size_t i = 1; i < e.args.size(); ++i)
      if (!check(*e.args[i])) return false;
    bound_.pop_back();
    const bool maps = e.name == "map";
    const ExprPtr& condition = maps ? e.args.back() : e.args[1];
    if ((!maps || e.args.size() == 3) && condition->type->kind != Kind::kBool &&
        !is_dyn(condition->type))
      return wrong(condition->at,
                   fmt::format("expected type 'bool' but found '{}'", condition->type->text()));
    if (maps) return gives(e, list_of(e.args[1]->type));
    return e.name == "filter" ? gives(e, list_of(element)) : gives(e, Kind::kBool);
  }

  bool no_overload(const Expr& e) {
    std::string types;
    for (std::size_t i = e.method ? 1 : 0; i < e.args.size(); ++i)
      types += fmt::format("{}{}", types.empty() ? "" : ", ", e.args[i]->type->text());
    return wrong(e.at, e.method
                           ? fmt::format("found no matching overload for '{}' applied to '{}.({})'",
                                         e.name, e.args[0]->type->text(), types)
                           : fmt::format("found no matching overload for '{}' applied to '({})'",
                                         e.name, types));
  }

  bool call(Expr& e) {
    const auto type = [&](std::size_t i) -> const TypePtr& { return e.args[i]->type; };
    const auto is = [&](std::size_t i, Kind kind) {
      return type(i)->kind == kind || is_dyn(type(i));
    };
    // Operators are told from names by what no name may have.
    if (e.method || e.name.find_first_of("&|!-?=@[<>+*/%") == std::string::npos) return function(e);
    if (e.name == "_&&_" || e.name == "_||_") {
      for (std::size_t i = 0; i < e.args.size(); ++i)
        if (!is(i, Kind::kBool)) return no_overload(e);
      return gives(e, Kind::kBool);
    }
    if (e.name == "!_") return is(0, Kind::kBool) ? gives(e, Kind::kBool) : no_overload(e);
    if (e.name == "-_") {
      if (is_dyn(type(0)) || type(0)->kind == Kind::kInt || type(0)->kind == Kind::kDouble)
        return gives(e, type(0));
      return no_overload(e);
    }
    if (e.name == "_?_:_") {
      if (!is(0, Kind::kBool) || !compatible(type(1), type(2))) return no_overload(e);
      return gives(e, is_dyn(type(1)) || is_dyn(type(2)) ? simple(Kind::kDyn)
                      : type(1)->kind == Kind::kNull     ? type(2)
                                                         : type(1));
    }
    if (e.name == "_==_" || e.name == "_!=_")
      return compatible(type(0), type(1)) ? gives(e, Kind::kBool) : no_overload(e);
    if (e.name == "@in") {
      if (is_dyn(type(1)) || (type(1)->kind == Kind::kMap && is(0, Kind::kString)))
        return gives(e, Kind::kBool);
      const bool fits = type(1)->kind == Kind::kList &&
                        (type(1)->element == nullptr || compatible(type(0), type(1)->element));
      return fits ? gives(e, Kind::kBool) : no_overload(e);
    }
    if (e.name == "_[_]") {
      if (is_dyn(type(0))) return gives(e, Kind::kDyn);
      const bool fits = (type(0)->kind == Kind::kList && is(1, Kind::kInt)) ||
                        (type(0)->kind == Kind::kMap && is(1, Kind::kString));
      if (!fits) return no_overload(e);
      return gives(e, type(0)->element == nullptr ? simple(Kind::kDyn) : type(0)->element);
    }
    if (e.name.find_first_of("<>") != std::string::npos) {
      const bool fits =
          is_dyn(type(0)) || is_dyn(type(1)) || comparable(type(0)->kind, type(1)->kind);
      return fits ? gives(e, Kind::kBool) : no_overload(e);
    }
    if (is_dyn(type(0)) || is_dyn(type(1))) return gives(e, Kind::kDyn);
    const auto kind = arithmetic_kind(e.name, type(0)->kind, type(1)->kind);
    if (!kind || (*kind == Kind::kList && !compatible(type(0), type(1)))) return no_overload(e);
    if (*kind == Kind::kList && (type(0)->unordered || type(1)->unordered))
      return wrong(e.at, "adding lists of the types set and map is not supported by this server");
    return *kind == Kind::kList ? gives(e, type(0)) : gives(e, *kind);
  }

  bool function(Expr& e) {
    bool known = false;
    std::optional<Kind> result;
    for (const Function& each : functions()) {
      if (each.name != e.name || each.method != e.method) continue;
      known = true;
      if (each.takes.size() != e.args.size()) continue;
      bool fits = true;
      for (std::size_t i = 0; i < e.args.size() && fits; ++i)
        fits = each.takes[i] == Kind::kDyn || is_dyn(e.args[i]->type) ||
               each.takes[i] == e.args[i]->type->kind;
      if (!fits) continue;
      result = result && *result != each.gives ? Kind::kDyn : each.gives;
      e.functions.push_back(&each);
    }
    if (!known)
      return wrong(e.at,
                   is_foreign_function(e.name)
                       ? fmt::format("the function '{}' is not supported by this server", e.name)
                       : fmt::format("undeclared reference to '{}' (in container '')", e.name));
    if (!result) return no_overload(e);
    if (e.name == "matches" && e.args[1]->kind == Expr::Kind::kLiteral) {
      std::string why;
      auto pattern = compile_pattern(e.args[1]->literal.text(), why);
      if (pattern == nullptr) return wrong(e.args[1]->at, "invalid matches argument");
      e.compiled = std::move(pattern);
    }
    return gives(e, *result);
  }

  std::string_view text_;
  std::span<const Variable> variables_;
  std::vector<Variable> bound_;
};

}  // namespace

std::string check(Expr& e, std::string_view text, std::span<const Variable> variables) {
  Checker checker(text, variables);
  checker.check(e);
  return checker.problem;
}

}  // namespace berth::cel
