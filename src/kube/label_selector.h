// SPDX-License-Identifier: Apache-2.0
// Which labels are wanted: the structured form that stands in objects and the text form that stands
// in URLs, with validation and text as Kubernetes has them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "json/slice.h"

namespace berth::kube {

using LabelMap = std::map<std::string, std::string, std::less<>>;

// Finds the value of a label by its key, wherever labels are kept. A view of a callable
// std::optional<std::string_view>(std::string_view key), valid for the length of a call.
class LabelLookup {
 public:
  template <class F>
  requires(std::is_invocable_r_v<std::optional<std::string_view>, const F&, std::string_view> &&
           !std::is_same_v<F, LabelLookup>)
      LabelLookup(const F& find)  // NOLINT(google-explicit-constructor): made where it is passed
      : of_(&find), find_([](const void* of, std::string_view key) {
          return std::optional<std::string_view>((*static_cast<const F*>(of))(key));
        }) {}
  std::optional<std::string_view> operator()(std::string_view key) const { return find_(of_, key); }

 private:
  const void* of_;
  std::optional<std::string_view> (*find_)(const void*, std::string_view);
};

// Go's ParseInt in base 10: an optional sign and digits, nothing else.
std::optional<std::int64_t> parse_decimal(std::string_view);

// One condition on one label. A value.
class Requirement {
 public:
  enum class Op : std::uint8_t {
    kEquals,
    kDoubleEquals,  // the same as kEquals, but printed as it was written
    kNotEquals,
    kIn,
    kNotIn,
    kExists,
    kDoesNotExist,
    kGreater,
    kLess
  };
  static Result<Requirement> make(std::string key, Op, std::vector<std::string> values);
  static Requirement exactly(std::string key, std::string value);  // unchecked

  const std::string& key() const { return key_; }
  Op op() const { return op_; }
  const std::vector<std::string>& values() const { return values_; }
  bool matches(std::optional<std::string_view> value) const;  // of the label; nullopt: absent
  std::string text() const;

 private:
  std::string key_;
  Op op_ = Op::kExists;
  std::vector<std::string> values_;
};

// All requirements must hold. Immutable once made; thread-safe.
class LabelSelector {
 public:
  LabelSelector() = default;  // matches everything
  static LabelSelector nothing();
  static Result<LabelSelector> parse(std::string_view text);
  // A metav1.LabelSelector: absent or null matches nothing, {} matches everything.
  static Result<LabelSelector> from_json(json::Slice);
  // {"app": "web"}, as Services and ReplicationControllers have it; not validated, like there.
  static LabelSelector from_labels(json::Slice);

  // The same and these too; nothing() stays nothing().
  LabelSelector with(std::vector<Requirement> more) const;

  bool matches(json::Slice labels) const;
  bool matches(const LabelMap& labels) const;
  bool matches(const LabelLookup& labels) const;
  bool everything() const { return !nothing_ && requirements_.empty(); }
  bool matches_nothing() const { return nothing_; }  // made by nothing(); others may match none too
  const std::vector<Requirement>& requirements() const { return requirements_; }
  std::string text() const;

 private:
  void sort();
  std::vector<Requirement> requirements_;  // by key
  bool nothing_ = false;
};

}  // namespace berth::kube
