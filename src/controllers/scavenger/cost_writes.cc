// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/cost_writes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::controllers {

CostWrites CostWrites::parse(std::string_view text) {
  CostWrites writes;
  for (bool first = true; !text.empty(); first = false) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
    if (first)
      writes.refused = value;
    else
      writes.at_.push_back(value);
  }
  return writes;
}

std::string CostWrites::text() const {
  return at_.empty() && refused == 0 ? std::string()
                                     : fmt::format("{} {}", refused, fmt::join(at_, " "));
}

std::size_t CostWrites::budget(const scavenge::CostBasis& basis) {
  return static_cast<std::size_t>(std::max(1, basis.steps)) + 2;
}

void CostWrites::wrote(const scavenge::CostBasis& basis, WallTime now) {
  at_.push_back(now.unix_nanos);
  if (at_.size() > budget(basis))
    at_.erase(at_.begin(), at_.end() - static_cast<std::ptrdiff_t>(budget(basis)));
}

WallTime CostWrites::may_write(const scavenge::CostBasis& basis, bool much) const {
  const auto most = static_cast<std::int64_t>(budget(basis));
  WallTime due{};
  if (at_.size() >= budget(basis)) due = WallTime{at_[at_.size() - budget(basis)]} + basis.window;
  if (!much && !at_.empty()) due = std::max(due, WallTime{at_.back()} + basis.window / most);
  return due;
}

}  // namespace berth::controllers
