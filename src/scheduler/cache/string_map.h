// SPDX-License-Identifier: Apache-2.0
// A hash map by string that can be asked with a view.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace berth::scheduler {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

}  // namespace berth::scheduler
