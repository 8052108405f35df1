// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/indexes.h"

#include <algorithm>

#include "kube/label_selector.h"

namespace berth::controllers {

Indexes::Indexes(const std::set<std::int64_t>& indexes) {
  for (const std::int64_t index : indexes) append({index, index});
}

void Indexes::append(Interval next) {
  if (intervals_.empty() || next.first > intervals_.back().last + 1)
    intervals_.push_back(next);
  else
    intervals_.back().last = std::max(intervals_.back().last, next.last);
}

Indexes Indexes::parse(std::string_view text, std::int64_t completions) {
  Indexes out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dash = one.find('-');
    const auto first = kube::parse_decimal(one.substr(0, dash));
    if (!first) continue;
    if (*first >= completions) break;
    std::int64_t last = *first;
    if (dash != one.npos) {
      const auto end = kube::parse_decimal(one.substr(dash + 1));
      if (!end) continue;
      last = std::min(*end, completions - 1);
    }
    out.append({*first, last});
  }
  return out;
}

bool Indexes::has(std::int64_t index) const {
  const auto at =
      std::lower_bound(intervals_.begin(), intervals_.end(), index,
                       [](const Interval& one, std::int64_t wanted) { return one.last < wanted; });
  return at != intervals_.end() && at->first <= index;
}

std::int64_t Indexes::total() const {
  std::int64_t sum = 0;
  for (const Interval& one : intervals_) sum += one.last - one.first + 1;
  return sum;
}

std::int64_t Indexes::common_with(const Indexes& other) const {
  std::int64_t sum = 0;
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() && b != other.intervals_.end()) {
    const std::int64_t both = std::min(a->last, b->last) - std::max(a->first, b->first) + 1;
    sum += std::max<std::int64_t>(both, 0);
    if (a->last < b->last)
      ++a;
    else
      ++b;
  }
  return sum;
}

Indexes Indexes::with(const Indexes& other) const {
  std::vector<Interval> all;
  std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(), other.intervals_.end(),
             std::back_inserter(all),
             [](const Interval& a, const Interval& b) { return a.first < b.first; });
  Indexes out;
  for (const Interval& one : all) out.append(one);
  return out;
}

std::vector<std::int64_t> Indexes::missing(std::int64_t count, std::int64_t end) const {
  std::vector<std::int64_t> out;
  std::int64_t next = 0;
  const auto up_to = [&](std::int64_t stop) {
    for (; next < std::min(stop, end) && static_cast<std::int64_t>(out.size()) < count; ++next)
      out.push_back(next);
  };
  for (const Interval& one : intervals_) {
    up_to(one.first);
    next = std::max(next, one.last + 1);
  }
  up_to(end);
  return out;
}

std::string Indexes::text() const {
  std::string out;
  for (const Interval& one : intervals_) {
    if (!out.empty()) out += ',';
    out += std::to_string(one.first);
    if (one.last > one.first)
      out += (one.last == one.first + 1 ? "," : "-") + std::to_string(one.last);
  }
  return out;
}

}  // namespace berth::controllers
