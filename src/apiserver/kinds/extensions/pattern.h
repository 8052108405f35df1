// SPDX-License-Identifier: Apache-2.0
// Regular expressions that strangers bring: RE2, which takes time linear in the text whatever the
// expression, with a bound on its memory. Its syntax is Go's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace berth::apiserver {

// Immutable, thread-safe; copies share.
class Pattern {
 public:
  // The error is what is wrong with it, in Go's words.
  static Result<Pattern> compile(std::string_view);
  bool found_in(std::string_view text) const;
  const std::string& text() const;
  std::size_t size() const;  // of its program, in instructions

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> re) : re_(std::move(re)) {}
  std::shared_ptr<const re2::RE2> re_;
};

}  // namespace berth::apiserver
