// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/counters.h"

#include <algorithm>

#include "base/check.h"

namespace berth::scheduler {

std::string PodSetSpec::text() const {
  std::string out = live_only ? "live" : "all";
  for (const PodMatcher& matcher : all_of) {
    out += matcher.all_namespaces ? "|*" : "|";
    if (!matcher.all_namespaces) {
      for (const std::string& ns : matcher.namespaces) out += ns + ',';
      if (matcher.namespace_selector)
        out += matcher.namespace_selector->matches_nothing()
                   ? "!"
                   : "(" + matcher.namespace_selector->text() + ")";
    }
    out += matcher.selector.matches_nothing() ? "/!" : "/" + matcher.selector.text();
  }
  return out;
}

void DomainCounter::entered(std::int32_t count) {
  if (at_least_ == 0 || count < least_) {
    least_ = count;
    at_least_ = 1;
  } else if (count == least_) {
    ++at_least_;
  }
}

void DomainCounter::left(std::int32_t count) {
  if (count == least_) --at_least_;
}

void DomainCounter::find_least() {
  if (at_least_ > 0) return;
  least_ = 0;
  if (present_ == 0) return;
  for (std::uint32_t d = 0; d < nodes_in_.size(); ++d)
    if (nodes_in_[d] > 0) entered(by_domain_[d]);
}

void DomainCounter::add(DomainId domain, std::int32_t by) {
  const std::uint32_t d = index(domain);
  if (d >= by_domain_.size()) by_domain_.resize(d + 1);
  const std::int32_t before = by_domain_[d];
  by_domain_[d] = before + by;
  total_ += by;
  if (!eligibility_ || !exists(domain)) return;  // nobody asks the others for their least
  left(before);
  entered(before + by);
  // The level is empty: the next one is found by looking, once a level.
  if (by > 0 && at_least_ == 1 && least_ == before + by && present_ > 1) {
    at_least_ = 0;
    find_least();
  }
}

void DomainCounter::add_nodes(DomainId domain, std::int32_t by) {
  const std::uint32_t d = index(domain);
  if (d >= by_domain_.size()) by_domain_.resize(d + 1);
  if (d >= nodes_in_.size()) nodes_in_.resize(d + 1);
  const bool before = nodes_in_[d] > 0;
  nodes_in_[d] = static_cast<std::uint32_t>(static_cast<std::int32_t>(nodes_in_[d]) + by);
  const bool after = nodes_in_[d] > 0;
  if (before == after) return;
  present_ += after ? 1 : -1u;
  if (!eligibility_) return;
  if (after) {
    entered(by_domain_[d]);
  } else {
    left(by_domain_[d]);
    find_least();
  }
}

std::int32_t DomainCounter::least_if(DomainId domain, std::int32_t count) const {
  if (present_ == 0) return 0;
  if (!exists(domain)) return least_;
  if (at(domain) != least_ || at_least_ > 1) return std::min(least_, count);
  std::int32_t others = count;
  for (std::uint32_t d = 0; d < nodes_in_.size(); ++d)
    if (nodes_in_[d] > 0 && d != index(domain)) others = std::min(others, by_domain_[d]);
  return others;
}

}  // namespace berth::scheduler
