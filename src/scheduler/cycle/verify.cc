// SPDX-License-Identifier: Apache-2.0
// Cached decisions made again on the plain path, to see that they are the same.
#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "scheduler/cycle/decide.h"

namespace berth::scheduler {

std::string Decider::difference(const Decision& cached, const Decision& plain) const {
  if (cached.status.code != plain.status.code)
    return fmt::format("status {} instead of {}", name_of(cached.status.code),
                       name_of(plain.status.code));
  if (cached.node != plain.node || cached.row != plain.row)
    return fmt::format("node {} instead of {}", cached.node, plain.node);
  if (cached.feasible_count != plain.feasible_count)
    return fmt::format("{} feasible nodes instead of {}", cached.feasible_count,
                       plain.feasible_count);
  if (plain.feasible_count > 1 && cached.total != plain.total)
    return fmt::format("a total of {} instead of {}", cached.total, plain.total);
  if (cached.evaluated != plain.evaluated)
    return fmt::format("{} nodes looked at instead of {}", cached.evaluated, plain.evaluated);
  if (!cached.feasible.empty() && cached.feasible != plain.feasible) return "the feasible nodes";
  if (!plain.status.ok() && cached.diagnosis.by_row != plain.diagnosis.by_row) return "the reasons";
  return {};
}

Decision Decider::verified(Decision cached, std::uint32_t start) {
  const std::uint32_t moved = start_.next;
  start_.next = start;
  Decision plain = plainly(begin(cached.attempt->pod), {});
  std::string wrong = difference(cached, plain);
  if (wrong.empty() && start_.next != moved) wrong = "where the next search begins";
  if (wrong.empty()) wrong = fast_.check(cached);
  if (wrong.empty()) wrong = cluster_.recount();
  if (wrong.empty()) return cached;
  ++mismatches_;
  const std::string text = fmt::format("{}: {}", cached.attempt->pod->text(), wrong);
  if (spec_.on_mismatch) spec_.on_mismatch(*cached.attempt->pod, wrong);
  BERTH_CHECK(spec_.verify_every != 1, text);
  fast_.clear();
  return plain;
}

}  // namespace berth::scheduler
