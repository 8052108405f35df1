// SPDX-License-Identifier: Apache-2.0
// What validation has to say about a document, in Kubernetes' words: each finding names a field,
// what is wrong with it, the value found and why. Together they make one Invalid error.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/kind.h"

namespace berth::apiserver {

// Where in a document: spec.containers[0].ports. A value that refers to the names and keys it was
// made of, so these must outlive it; made anew for each step of a walk, without allocation.
class Path {
 public:
  Path() = default;
  explicit Path(std::string_view first) : Path(Path(), {first, kName}) {}
  Path operator/(std::string_view name) const { return Path(*this, {name, kName}); }
  Path operator[](std::size_t index) const {
    return Path(*this, {{}, static_cast<std::int32_t>(index)});
  }
  Path key(std::string_view key) const { return Path(*this, {key, kKey}); }
  std::string text() const;

 private:
  static constexpr std::int32_t kName = -1, kKey = -2;
  struct Step {
    std::string_view word;
    std::int32_t index = kName;
  };
  Path(const Path& before, Step step) : steps_(before.steps_), size_(before.size_) {
    if (size_ < steps_.size()) steps_[size_++] = step;
  }
  std::array<Step, 20> steps_{};
  std::size_t size_ = 0;
};

// A value as findings show it: strings quoted, numbers and booleans plain, the rest as JSON.
class Shown {
 public:
  Shown(std::string_view text);                                      // NOLINT
  Shown(const std::string& text) : Shown(std::string_view(text)) {}  // NOLINT
  Shown(const char* text) : Shown(std::string_view(text)) {}         // NOLINT
  Shown(std::int64_t number);                                        // NOLINT
  Shown(int number) : Shown(std::int64_t{number}) {}                 // NOLINT
  Shown(bool value);                                                 // NOLINT
  static Shown raw(std::string text);                                // as it stands
  const std::string& text() const { return text_; }

 private:
  Shown() = default;
  std::string text_;
};

// Thread-compatible.
class Findings {
 public:
  void required(const Path&, std::string_view detail = "");
  void invalid(const Path&, const Shown&, std::string_view detail);
  void invalid_unshown(const Path&, std::string_view detail);  // without the value
  void not_supported(const Path&, const Shown&, std::span<const std::string_view> allowed);
  void not_supported(const Path& at, const Shown& value,
                     std::initializer_list<std::string_view> allowed) {
    not_supported(at, value, std::span(allowed.begin(), allowed.size()));
  }
  void duplicate(const Path&, const Shown&);
  void not_found(const Path&, const Shown&, std::string_view detail = "");
  void forbidden(const Path&, std::string_view detail);
  void too_long(const Path&, std::size_t most);
  void too_many(const Path&, std::int64_t found, std::int64_t most);
  void type_invalid(const Path&, const Shown&, std::string_view detail);
  void add(const Findings& others) {
    causes_.insert(causes_.end(), others.causes_.begin(), others.causes_.end());
  }

  Findings sorted() const;  // by what they say
  bool empty() const { return causes_.empty(); }
  std::size_t size() const { return causes_.size(); }
  const std::vector<Cause>& causes() const { return causes_; }

  // `Pod "x" is invalid: spec.containers[0].image: Required value`, with a cause a finding.
  Error error(const kube::Kind&, std::string_view name) const;

 private:
  void add(std::string_view reason, const Path&, std::string message);
  std::vector<Cause> causes_;
};

}  // namespace berth::apiserver
