// SPDX-License-Identifier: Apache-2.0
// Reading a tree without checks at every step, and the small change of writing to one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "json/value.h"

namespace berth::apiserver {

inline std::string_view sv(const boost::json::string& s) { return {s.data(), s.size()}; }
inline std::string_view sv(boost::json::string_view s) { return {s.data(), s.size()}; }
inline boost::json::string_view bj(std::string_view s) { return {s.data(), s.size()}; }

// One value in a tree, or none: a missing member is absent, and every look-up on it is absent
// again. A view; valid as long as the tree stays as it is.
class Peek {
 public:
  Peek() = default;
  Peek(const json::Value* value) : value_(value) {}   // NOLINT(google-explicit-constructor)
  Peek(const json::Value& value) : value_(&value) {}  // NOLINT(google-explicit-constructor)
  explicit Peek(const json::Dict& dict) : dict_(&dict) {}

  // Absent, and null too: what Go has as nil.
  bool present() const { return dict_ != nullptr || (value_ != nullptr && !value_->is_null()); }
  explicit operator bool() const { return present(); }
  const json::Value* value() const { return value_; }

  Peek operator[](std::string_view key) const {
    const json::Dict* dict = if_dict();
    return dict == nullptr ? Peek() : Peek(dict->if_contains(bj(key)));
  }
  Peek operator[](std::size_t index) const {
    return index < elements().size() ? Peek(elements()[index]) : Peek();
  }

  std::string_view text() const {
    return value_ != nullptr && value_->is_string() ? sv(value_->get_string()) : std::string_view();
  }
  bool is_text() const { return value_ != nullptr && value_->is_string(); }
  bool is(std::string_view text_wanted) const { return is_text() && text() == text_wanted; }
  std::optional<std::int64_t> integer() const {
    return value_ != nullptr && value_->is_int64() ? std::optional(value_->get_int64())
                                                   : std::nullopt;
  }
  std::int64_t integer_or(std::int64_t otherwise) const { return integer().value_or(otherwise); }
  bool boolean() const { return value_ != nullptr && value_->is_bool() && value_->get_bool(); }

  std::size_t size() const {  // elements or members
    if (const json::Dict* dict = if_dict()) return dict->size();
    return elements().size();
  }
  const json::List& elements() const {
    static const json::List none;
    return value_ != nullptr && value_->is_array() ? value_->get_array() : none;
  }
  const json::Dict& members() const {
    static const json::Dict none;
    const json::Dict* dict = if_dict();
    return dict == nullptr ? none : *dict;
  }

 private:
  const json::Dict* if_dict() const {
    if (dict_ != nullptr) return dict_;
    return value_ != nullptr && value_->is_object() ? &value_->get_object() : nullptr;
  }
  const json::Value* value_ = nullptr;
  const json::Dict* dict_ = nullptr;
};

// Equal as Kubernetes compares: absent, null, {} and [] are the same.
inline bool same(const Peek& a, const Peek& b) {
  const auto empty = [](const Peek& p) {
    if (!p) return true;
    return p.size() == 0 &&
           !(p.value() != nullptr && !p.value()->is_object() && !p.value()->is_array());
  };
  if (empty(a) || empty(b)) return empty(a) && empty(b);
  if (a.value() != nullptr && b.value() != nullptr) return json::equal(*a.value(), *b.value());
  if (a.size() != b.size()) return false;
  for (const auto& member : a.members())
    if (!same(Peek(member.value()), b[sv(member.key())])) return false;
  return true;
}

// The member as a tree that can be changed; null when it is absent or of another kind.
inline json::Dict* dict_in(json::Dict& of, std::string_view key) {
  json::Value* found = of.if_contains(bj(key));
  return found != nullptr && found->is_object() ? &found->get_object() : nullptr;
}
inline json::List* list_in(json::Dict& of, std::string_view key) {
  json::Value* found = of.if_contains(bj(key));
  return found != nullptr && found->is_array() ? &found->get_array() : nullptr;
}
// The same, made where there is none.
inline json::Dict& make_dict(json::Dict& of, std::string_view key) {
  json::Value& at = of[bj(key)];
  return at.is_object() ? at.get_object() : at.emplace_object();
}

// Writes the member unless it is there; null and "" count as not there.
template <class T>
void set_default(json::Dict& of, std::string_view key, T&& value) {
  const json::Value* found = of.if_contains(bj(key));
  if (found != nullptr && !found->is_null() && !(found->is_string() && found->get_string().empty()))
    return;
  of[bj(key)] = std::forward<T>(value);
}

// Each dict in a list of them.
template <class F>
void each_dict(json::Dict& of, std::string_view key, F&& f) {
  if (json::List* list = list_in(of, key))
    for (json::Value& value : *list)
      if (value.is_object()) f(value.get_object());
}

}  // namespace berth::apiserver
