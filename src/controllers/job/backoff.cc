// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/backoff.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/label_selector.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

constexpr Duration kFirst = 10s, kMost = 10min;
constexpr std::size_t kFailuresThatMatter = 8;  // the wait is at its longest before

// k8s 1.36: one container without an end, and nobody believes the others.
bool latest_end(json::Slice statuses, std::optional<WallTime>& latest,
                const std::vector<std::string>* only) {
  for (const json::Slice one : statuses.elements()) {
    if (only != nullptr && std::find(only->begin(), only->end(), one["name"].text()) == only->end())
      continue;
    const auto at = kube::parse_time(one["state"]["terminated"]["finishedAt"].text());
    if (!at) return false;
    if (!latest || *latest < *at) latest = at;
  }
  return true;
}

std::optional<WallTime> end_of_containers(const kube::Object& pod) {
  std::optional<WallTime> latest;
  if (!latest_end(pod.status()["containerStatuses"], latest, nullptr)) latest.reset();
  // Sidecars end after the others.
  std::vector<std::string> sidecars;
  for (const json::Slice one : pod.member("spec")["initContainers"].elements())
    if (one["restartPolicy"].equals("Always")) sidecars.push_back(one["name"].text());
  if (!latest_end(pod.status()["initContainerStatuses"], latest, &sidecars)) return std::nullopt;
  return latest;
}

}  // namespace

WallTime ended_at(const kube::Object& pod) {
  if (const auto at = end_of_containers(pod)) return *at;
  const json::Slice ready = kube::find_condition(pod.status(), "Ready");
  if (ready["status"].equals("False"))
    if (const auto at = kube::parse_time(ready["lastTransitionTime"].text())) return *at;
  if (const auto deleted = pod.deleted()) {
    const auto grace = pod.metadata()["deletionGracePeriodSeconds"].integer().value_or(0);
    return *deleted - std::chrono::seconds(grace);
  }
  return pod.created().value_or(WallTime{});
}

Duration backoff_left(std::int64_t failures, WallTime last_failure, WallTime now) {
  if (failures <= 0) return {};
  Duration wait = kFirst;
  for (std::int64_t i = 1; i < failures && wait < kMost; ++i) wait *= 2;
  return std::max(std::min(wait, kMost) - (now - last_failure), Duration{});
}

// "<success or -> <uid>=<nanoseconds>…"
FailureHistory::FailureHistory(std::string_view remembered) {
  bool first = true;
  while (!remembered.empty()) {
    const std::size_t space = std::min(remembered.find(' '), remembered.size());
    const std::string_view word = remembered.substr(0, space);
    remembered.remove_prefix(std::min(space + 1, remembered.size()));
    if (std::exchange(first, false)) {
      if (const auto at = kube::parse_decimal(word)) success_ = WallTime{*at};
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;
    if (const auto at = kube::parse_decimal(word.substr(equals + 1)))
      failures_.push_back({std::string(word.substr(0, equals)), WallTime{*at}});
  }
}

void FailureHistory::succeeded(WallTime at) { success_ = success_ ? std::max(*success_, at) : at; }

void FailureHistory::failed(std::string_view uid, WallTime at) {
  for (Failure& one : failures_)
    if (one.uid == uid) {
      one.at = at;
      return;
    }
  failures_.push_back({std::string(uid), at});
}

std::vector<FailureHistory::Failure> FailureHistory::since_success() const {
  std::vector<Failure> out = failures_;
  if (success_) std::erase_if(out, [this](const Failure& one) { return one.at <= *success_; });
  std::stable_sort(out.begin(), out.end(),
                   [](const Failure& a, const Failure& b) { return a.at < b.at; });
  if (out.size() > kFailuresThatMatter)
    out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(kFailuresThatMatter));
  return out;
}

Duration FailureHistory::left(WallTime now) const {
  const std::vector<Failure> failures = since_success();
  if (failures.empty()) return {};
  return backoff_left(static_cast<std::int64_t>(failures.size()), failures.back().at, now);
}

std::string FailureHistory::text() const {
  if (failures_.empty()) return "";
  const std::vector<Failure> failures = since_success();
  std::string out = success_ ? std::to_string(success_->unix_nanos) : "-";
  for (const Failure& one : failures) out += fmt::format(" {}={}", one.uid, one.at.unix_nanos);
  return out;
}

}  // namespace berth::controllers
