// SPDX-License-Identifier: Apache-2.0
// Collects what is wrong with a document, each with the place and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"

namespace berth::admission {

// The path of a field: "spec.job.template", and from there ["volumes"], [0].
class At {
 public:
  explicit At(std::string text) : text_(std::move(text)) {}
  At operator/(std::string_view name) const {
    return At(text_.empty() ? std::string(name) : fmt::format("{}.{}", text_, name));
  }
  At operator[](std::size_t index) const { return At(fmt::format("{}[{}]", text_, index)); }
  // A member whose name is the user's: requests[nvidia.com/gpu].
  At operator[](std::string_view key) const { return At(fmt::format("{}[{}]", text_, key)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Thread-compatible.
class Findings {
 public:
  void wrong(const At& at, std::string_view value, std::string why) {
    all_.push_back({"FieldValueInvalid", fmt::format("{}: {}", shown(value), why), at.text()});
  }
  void forbidden(const At& at, std::string why) {
    all_.push_back({"FieldValueForbidden", std::move(why), at.text()});
  }
  void missing(const At& at, std::string why) {
    all_.push_back({"FieldValueRequired", std::move(why), at.text()});
  }
  void warn(const At& at, std::string text) {
    warnings_.push_back(fmt::format("{}: {}", at.text(), text));
  }

  std::vector<Cause>& all() { return all_; }
  std::vector<std::string>& warnings() { return warnings_; }

 private:
  // A message is read by people.
  static std::string shown(std::string_view value);

  std::vector<Cause> all_;
  std::vector<std::string> warnings_;
};

}  // namespace berth::admission
