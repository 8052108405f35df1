// SPDX-License-Identifier: Apache-2.0
// "spec.nodeName=n1,status.phase!=Running": which fields are wanted, in the text form of URLs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::kube {

// All terms must hold. Immutable once made; thread-safe.
class FieldSelector {
 public:
  struct Term {
    std::string field;
    std::string value;
    bool equal = true;
    friend bool operator==(const Term&, const Term&) = default;
  };

  FieldSelector() = default;  // matches everything
  static Result<FieldSelector> parse(std::string_view text);

  // `value_of` tells a field's value, "" where there is none.
  bool matches(const std::function<std::string(std::string_view field)>& value_of) const;
  bool everything() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  std::optional<std::string> required(std::string_view field) const;  // by the first "field=value"
  std::string text() const;

 private:
  std::vector<Term> terms_;
};

}  // namespace berth::kube
