// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/walk.h"

#include <fmt/format.h>

#include "apiserver/edit/peek.h"

namespace berth::apiserver {

using json::Dict;
using json::List;
using json::ListType;
using json::Value;
using Form = Type::Form;

bool equal_values(const Value& a, const Value& b) {
  const auto number = [](const Value& v) {
    return v.is_int64() ? static_cast<double>(v.get_int64()) : v.get_double();
  };
  const bool a_number = a.is_int64() || a.is_double(), b_number = b.is_int64() || b.is_double();
  if (a_number && b_number && a.kind() != b.kind()) return number(a) == number(b);
  if (a.kind() != b.kind()) return false;
  if (a.is_object()) {
    const Dict &x = a.get_object(), &y = b.get_object();
    if (x.size() != y.size()) return false;
    for (const auto& member : x) {
      const Value* other = y.if_contains(member.key());
      if (other == nullptr || !equal_values(member.value(), *other)) return false;
    }
    return true;
  }
  if (a.is_array()) {
    const List &x = a.get_array(), &y = b.get_array();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!equal_values(x[i], y[i])) return false;
    return true;
  }
  return json::equal(a, b);
}

Result<PathElement> element_step(const Value& element, const Type& list) {
  if (list.list_type() == ListType::kSet) {
    if (element.is_object())
      return invalid("associative list without keys has an element that's a map type");
    if (element.is_array())
      return invalid("not supported: associative list with lists as elements");
    if (element.is_null())
      return invalid("associative list without keys has an element that's an explicit null");
    return PathElement::value(element);
  }
  if (element.is_null()) return invalid("associative list with keys may not have a null element");
  if (!element.is_object())
    return invalid("associative list with keys may not have non-map elements");
  PathElement out{.kind = PathElement::Kind::kKey};
  const std::vector<std::string_view> keys = list.list_keys();
  const Type items = list.items();
  for (const std::string_view key : keys) {
    if (const Value* found = element.get_object().if_contains(bj(key)))
      out.parts.emplace_back(key, KeyValue::of(*found));
    else if (const std::optional<Value> preset = items.preset_of(key))
      out.parts.emplace_back(key, KeyValue::of(*preset));
  }
  if (out.parts.empty()) {
    std::string names;
    for (const std::string_view key : keys)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : " ", key);
    return invalid(
        fmt::format("associative list with keys has an element that omits all key fields [{}] (and "
                    "doesn't have default values for any key fields)",
                    names));
  }
  std::sort(out.parts.begin(), out.parts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

namespace {

const List& elements(const Value* value) {
  static const List none;
  return value != nullptr && value->is_array() ? value->get_array() : none;
}
const Dict& members(const Value* value) {
  static const Dict none;
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

class Merger {
 public:
  explicit Merger(boost::json::storage_ptr storage) : storage_(std::move(storage)) {}

  std::optional<Value> merge(const Value* live, const Value* patch, const Type& type) {
    const Form form =
        type.form_of(patch == nullptr || (patch->is_null() && live != nullptr &&
                                          !type.may_be(Form::kMap) && !type.may_be(Form::kScalar))
                         ? live
                         : patch);
    switch (form) {
      case Form::kList:
        if (type.list_type() == ListType::kAtomic ||
            (elements(live).empty() && elements(patch).empty()))
          return leaf(live, patch);
        return lists(elements(live), elements(patch), type);
      case Form::kMap:
        if (type.atomic_map() || (members(live).empty() && members(patch).empty()))
          return leaf(live, patch);
        return maps(members(live), members(patch), type);
      default:
        return leaf(live, patch);
    }
  }

 private:
  std::optional<Value> leaf(const Value* live, const Value* patch) {
    if (patch != nullptr) return Value(*patch, storage_);
    if (live != nullptr) return Value(*live, storage_);
    return std::nullopt;
  }

  std::optional<Value> maps(const Dict& live, const Dict& patch, const Type& type) {
    Dict out(storage_);
    const auto take = [&](std::string_view key, const Value* l, const Value* p) {
      if (std::optional<Value> value = merge(l, p, type.member(key)))
        out.emplace(bj(key), std::move(*value));
    };
    for (const auto& member : live)
      take(sv(member.key()), &member.value(), patch.if_contains(member.key()));
    for (const auto& member : patch)
      if (!live.contains(member.key())) take(sv(member.key()), nullptr, &member.value());
    if (out.empty()) return std::nullopt;
    return Value(std::move(out));
  }

  struct Indexed {
    std::vector<PathElement> steps;
    std::map<PathElement, const Value*> by_step;  // null: there are several
  };
  static Indexed index(const List& list, const Type& type) {
    Indexed out;
    for (const Value& each : list) {
      Result<PathElement> step = element_step(each, type);
      if (!step) continue;
      const auto [at, fresh] = out.by_step.emplace(*step, &each);
      if (!fresh) at->second = nullptr;
      out.steps.push_back(std::move(*step));
    }
    return out;
  }

  // The live order where the patch says nothing, the patch's where it does.
  std::optional<Value> lists(const List& live, const List& patch, const Type& type) {
    const Indexed left = index(live, type), right = index(patch, type);
    const Type items = type.items();
    std::vector<const PathElement*> shared;
    for (const PathElement& step : right.steps)
      if (left.by_step.contains(step)) shared.push_back(&step);
    std::size_t next_shared = 0;
    const auto advance = [&](const PathElement& step) {
      if (next_shared < shared.size() && *shared[next_shared] == step) ++next_shared;
    };

    List out(storage_);
    std::map<PathElement, bool> done;
    const auto take = [&](const Value* l, const Value* r) {
      if (std::optional<Value> value = merge(l, r, items)) out.push_back(std::move(*value));
    };
    const auto value_at = [](const Indexed& in, const PathElement& step) -> const Value* {
      const auto found = in.by_step.find(step);
      return found == in.by_step.end() ? nullptr : found->second;
    };
    std::size_t l = 0, r = 0;
    while (l < left.steps.size() || r < right.steps.size()) {
      if (l < left.steps.size() && r < right.steps.size()) {
        const PathElement& step = left.steps[l];
        if (step == right.steps[r]) {
          done.emplace(step, true);
          take(value_at(left, step), value_at(right, step));
          ++l;
          ++r;
          advance(step);
          continue;
        }
        if (right.by_step.contains(step) && next_shared < shared.size() &&
            *shared[next_shared] != step) {
          ++l;  // shared, but another one is due
          continue;
        }
      }
      if (l < left.steps.size()) {
        const PathElement& step = left.steps[l];
        if (!right.by_step.contains(step)) {
          take(&live[l], nullptr);
          ++l;
          continue;
        }
        if (done.contains(step)) ++l;
      }
      if (r < right.steps.size()) {
        const PathElement& step = right.steps[r];
        done.emplace(step, true);
        take(value_at(left, step), value_at(right, step));
        ++r;
        advance(step);
      }
    }
    if (out.empty()) return std::nullopt;
    return Value(std::move(out));
  }

  boost::json::storage_ptr storage_;
};

class Comparer {
 public:
  Comparison out;

  // True: a leaf, which has noted itself.
  void compare(const Value* before, const Value* after, const Type& type) {
    bool leaf = false;
    const Form then = type.form_of(before), now = type.form_of(after);
    if (after == nullptr) {
      leaf = as(then, before, after, type);
    } else if (before == nullptr || then == now || before->is_null() || after->is_null()) {
      leaf = as(before != nullptr && after->is_null() ? then : now, before, after, type);
    } else {
      as(then, before, after, type);
      leaf = as(now, before, after, type);
    }
    if (leaf) return;
    if (before == nullptr) out.added.insert(path_);
    if (after == nullptr) out.removed.insert(path_);
  }

 private:
  bool as(Form form, const Value* before, const Value* after, const Type& type) {
    if (form == Form::kList) {
      if (type.list_type() == ListType::kAtomic ||
          (elements(before).empty() && elements(after).empty()))
        return leaf(before, after);
      lists(elements(before), elements(after), type);
      return false;
    }
    if (form == Form::kMap) {
      if (type.atomic_map() || (members(before).empty() && members(after).empty()))
        return leaf(before, after);
      maps(members(before), members(after), type);
      return false;
    }
    return leaf(before, after);
  }

  bool leaf(const Value* before, const Value* after) {
    if (before == nullptr)
      out.added.insert(path_);
    else if (after == nullptr)
      out.removed.insert(path_);
    else if (!equal_values(*before, *after))
      out.modified.insert(path_);
    return true;
  }

  void below(PathElement step, const Value* before, const Value* after, const Type& type) {
    path_.push_back(std::move(step));
    compare(before, after, type);
    path_.pop_back();
  }

  void maps(const Dict& before, const Dict& after, const Type& type) {
    for (const auto& member : before)
      below(PathElement::field(sv(member.key())), &member.value(), after.if_contains(member.key()),
            type.member(sv(member.key())));
    for (const auto& member : after)
      if (!before.contains(member.key()))
        below(PathElement::field(sv(member.key())), nullptr, &member.value(),
              type.member(sv(member.key())));
  }

  void lists(const List& before, const List& after, const Type& type) {
    struct Both {
      std::vector<const Value*> before, after;
    };
    std::map<PathElement, Both> all;
    for (const Value& each : before)
      if (Result<PathElement> step = element_step(each, type))
        all[std::move(*step)].before.push_back(&each);
    for (const Value& each : after)
      if (Result<PathElement> step = element_step(each, type))
        all[std::move(*step)].after.push_back(&each);
    const Type items = type.items();
    for (const auto& [step, both] : all) {
      const std::size_t b = both.before.size(), a = both.after.size();
      if (b <= 1 && a <= 1) {
        below(step, b != 0 ? both.before[0] : nullptr, a != 0 ? both.after[0] : nullptr, items);
      } else if (b >= 2 && a >= 2) {
        bool equal = a == b;
        for (std::size_t i = 0; equal && i < a; ++i)
          equal = equal_values(*both.before[i], *both.after[i]);
        if (!equal) note(out.modified, step);
      } else if (b >= 2) {
        if (a != 0) below(step, nullptr, both.after[0], items);
        note(out.removed, step);
      } else {
        if (b != 0) below(step, both.before[0], nullptr, items);
        note(out.added, step);
      }
    }
  }

  void note(FieldSet& set, const PathElement& step) {
    path_.push_back(step);
    set.insert(path_);
    path_.pop_back();
  }

  std::vector<PathElement> path_;
};

// True: the value itself is one of the fields.
bool collect(const Value& value, const Type& type, FieldSet& out) {
  switch (type.form_of(&value)) {
    case Form::kNone:
    case Form::kScalar:
      return true;
    case Form::kList: {
      if (type.list_type() == ListType::kAtomic) return true;
      std::map<PathElement, std::vector<const Value*>> all;
      for (const Value& each : elements(&value))
        if (Result<PathElement> step = element_step(each, type))
          all[std::move(*step)].push_back(&each);
      for (const auto& [step, values] : all) {
        FieldSet::Node& node = out.node(step);
        node.member = true;
        if (values.size() == 1) collect(*values[0], type.items(), node.below);
      }
      return false;
    }
    case Form::kMap:
      if (type.atomic_map()) return true;
      for (const auto& member : members(&value)) {
        const std::string_view key = sv(member.key());
        const Value& each = member.value();
        FieldSet below;
        bool is_field = collect(each, type.member(key), below);
        is_field |= each.is_null() || (each.is_object() && each.get_object().empty()) ||
                    !type.declares(key);
        if (!is_field && below.empty()) continue;
        FieldSet::Node& node = out.node(PathElement::field(key));
        node.member = is_field;
        node.below = std::move(below);
      }
      return false;
  }
  return false;
}

}  // namespace

Value merged(const Value& live, const Value& patch, const Type& type,
             boost::json::storage_ptr storage) {
  std::optional<Value> out = Merger(storage).merge(&live, &patch, type);
  return out ? std::move(*out) : Value(Dict(storage));
}

Comparison compared(const Value& before, const Value& after, const Type& type) {
  Comparer comparer;
  comparer.compare(&before, &after, type);
  return std::move(comparer.out);
}

FieldSet fields_of(const Value& document, const Type& type) {
  FieldSet out;
  collect(document, type, out);
  return out;
}

namespace {

// Null: nothing is left of it.
Value remove(const Value& value, const FieldSet& set, const Type& type,
             const boost::json::storage_ptr& storage) {
  const Form form = type.form_of(&value);
  if (form == Form::kList && value.is_array()) {
    if (value.get_array().empty() || type.list_type() == ListType::kAtomic)
      return Value(nullptr, storage);
    List out(storage);
    bool touched = false;
    for (const Value& each : value.get_array()) {
      const Result<PathElement> step = element_step(each, type);
      if (!step) {
        out.push_back(Value(each, storage));
        continue;
      }
      if (set.has(*step)) continue;
      const FieldSet* below = set.below(*step);
      if (below == nullptr) {
        out.push_back(Value(each, storage));
        continue;
      }
      touched = true;
      Value rest = remove(each, *below, type.items(), storage);
      if (rest.is_null() && each.is_object()) rest = Dict(storage);
      if (rest.is_null() && each.is_array()) rest = List(storage);
      out.push_back(std::move(rest));
    }
    if (out.empty() && !touched) return Value(nullptr, storage);
    return Value(std::move(out));
  }
  if (form == Form::kMap && value.is_object()) {
    if (value.get_object().empty() || type.atomic_map()) return Value(nullptr, storage);
    Dict out(storage);
    for (const auto& member : value.get_object()) {
      const PathElement step = PathElement::field(sv(member.key()));
      if (set.has(step)) continue;
      const FieldSet* below = set.below(step);
      if (below == nullptr)
        out.emplace(member.key(), Value(member.value(), storage));
      else
        out.emplace(member.key(), remove(member.value(), *below, type.member(step.name), storage));
    }
    if (out.empty()) return Value(nullptr, storage);
    return Value(std::move(out));
  }
  if (form == Form::kScalar) return Value(value, storage);
  return Value(nullptr, storage);
}

Type type_below(const Type& type, const PathElement& step) {
  if (step.kind == PathElement::Kind::kField) return type.member(step.name);
  return type.may_be(Form::kList) ? type.items() : Type();
}

}  // namespace

Value without(const Value& document, const FieldSet& set, const Type& type,
              boost::json::storage_ptr storage) {
  Value out = remove(document, set, type, storage);
  return out.is_null() ? Value(Dict(storage)) : out;
}

FieldSet with_structs(const FieldSet& set, const Type& type) {
  FieldSet out;
  for (const auto& [step, node] : set.nodes()) {
    FieldSet::Node& mine = out.node(step);
    mine.member = node.member || (!node.below.empty() && step.kind == PathElement::Kind::kField &&
                                  type.declares(step.name));
    mine.below = with_structs(node.below, type_below(type, step));
  }
  return out;
}

FieldSet fitted(const FieldSet& set, const Type& type) {
  FieldSet out;
  for (const auto& [step, node] : set.nodes()) {
    const Type below = type_below(type, step);
    const bool whole = below.allowed() && !below.only_told_by_values() && !node.below.empty() &&
                       ((below.may_be(Form::kMap) && below.atomic_map()) ||
                        (!below.may_be(Form::kMap) && below.may_be(Form::kList) &&
                         below.list_type() == ListType::kAtomic));
    FieldSet::Node& mine = out.node(step);
    mine.member = node.member || whole;
    if (!whole) mine.below = fitted(node.below, below);
  }
  return out;
}

}  // namespace berth::apiserver
