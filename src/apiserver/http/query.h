// SPDX-License-Identifier: Apache-2.0
// What stands behind the question mark of a URL, read as Go's server reads it: a pair that is
// broken is not there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::apiserver {

// Immutable.
class Query {
 public:
  Query() = default;
  explicit Query(std::string_view encoded);

  bool has(std::string_view name) const { return first(name).has_value(); }
  std::optional<std::string_view> first(std::string_view name) const;
  std::string text(std::string_view name) const { return std::string(first(name).value_or("")); }
  std::vector<std::string> all(std::string_view name) const;
  // k8s 1.36: all but "0" and "false" is true, also a name without a value.
  std::optional<bool> flag(std::string_view name) const;
  // BadRequest in the words of Go's strconv.
  Result<std::optional<std::int64_t>> integer(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace berth::apiserver
