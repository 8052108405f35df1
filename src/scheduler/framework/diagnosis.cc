// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/diagnosis.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::scheduler {

const Status& Diagnosis::status(std::uint32_t row) const {
  if (row < other.size() && other[row]) return *other[row];
  if (row < by_row.size() && by_row[row] != ReasonId::kNone) return table->status(by_row[row]);
  return absent;
}

bool Diagnosis::explicit_verdict(std::uint32_t row) const {
  return (row < other.size() && other[row]) ||
         (row < by_row.size() && by_row[row] != ReasonId::kNone);
}

namespace {

// How often each reason was given.
std::map<std::string_view, std::uint64_t> histogram(const Diagnosis& diagnosis) {
  std::map<std::string_view, std::uint64_t> counts;
  const auto count = [&counts](const Status& status, std::uint64_t nodes) {
    for (const std::string& reason : status.reasons) counts[reason] += nodes;
  };
  std::map<ReasonId, std::uint64_t> by_reason;
  std::uint64_t spoken = 0;
  for (std::uint32_t row = 0; row < diagnosis.nodes; ++row) {
    if (!diagnosis.explicit_verdict(row)) continue;
    ++spoken;
    if (row < diagnosis.other.size() && diagnosis.other[row])
      count(*diagnosis.other[row], 1);
    else
      ++by_reason[diagnosis.by_row[row]];
  }
  for (const auto& [reason, nodes] : by_reason) count(diagnosis.table->status(reason), nodes);
  if (spoken < diagnosis.nodes) count(diagnosis.absent, diagnosis.nodes - spoken);
  return counts;
}

}  // namespace

std::string fit_error_text(const Diagnosis& diagnosis, std::string_view post_filter_message) {
  std::string text = fmt::format("0/{} nodes are available:", diagnosis.nodes);
  const std::string refused = diagnosis.prefilter ? diagnosis.prefilter->message() : "";
  if (!refused.empty()) {
    text += fmt::format(" {}.", refused);
  } else {
    std::vector<std::string> items;
    for (const auto& [reason, count] : histogram(diagnosis))
      items.push_back(fmt::format("{} {}", count, reason));
    // k8s 1.36: sorted as text, so "10 x" comes before "2 y".
    std::sort(items.begin(), items.end());
    if (!items.empty()) text += fmt::format(" {}.", fmt::join(items, ", "));
  }
  if (!post_filter_message.empty()) text += fmt::format(" {}", post_filter_message);
  return text;
}

}  // namespace berth::scheduler
