// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Scheduling, by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/object.h"
#include "kube/ours/reference.h"
#include "kube/time.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class SchedulingView {
 public:
  explicit SchedulingView(Object scheduling)
      : scheduling_(std::move(scheduling)),
        spec_(scheduling_.member("spec")),
        status_(scheduling_.status()) {}

  const Object& object() const { return scheduling_; }
  json::Slice status() const { return status_; }
  Key testbed() const { return key_in(spec_["testbed"], scheduling_.ns()); }
  bool slot_based() const { return spec_["slotBased"].present(); }
  bool relaxed() const { return spec_["slotBased"]["mode"].equals("relaxed"); }
  bool stops_on_failure() const { return !spec_["onFailure"].equals("Continue"); }
  Duration starve_after() const { return seconds(spec_["slotBased"]["starveAfterSeconds"], 300); }
  Duration confirm_timeout() const { return seconds(spec_["confirmTimeoutSeconds"], 120); }
  std::optional<Duration> ttl() const {
    const json::Slice ttl = spec_["ttlSecondsAfterFinished"];
    return ttl ? std::optional<Duration>(seconds(ttl, 0)) : std::nullopt;
  }

  // Queue-based: an entry an executor.
  std::vector<Key> queue() const {
    std::vector<Key> entries;
    for (const json::Slice each : spec_["queueBased"].elements())
      entries.push_back(key_in(each, scheduling_.ns()));
    return entries;
  }
  // Slot-based, in order.
  struct Placed {
    Key job;
    std::set<int> slots;
  };
  std::vector<Placed> placed() const {
    std::vector<Placed> jobs;
    for (const json::Slice each : spec_["slotBased"]["jobs"].elements())
      jobs.push_back({key_in(each["name"], scheduling_.ns()), numbers_in(each["slotIds"])});
    return jobs;
  }
  // Every job once, in the order of its first entry.
  std::vector<Key> jobs() const {
    std::vector<Key> all;
    const auto add = [&](const Key& job) {
      if (std::find(all.begin(), all.end(), job) == all.end()) all.push_back(job);
    };
    for (const Key& entry : queue()) add(entry);
    for (const Placed& each : placed()) add(each.job);
    return all;
  }

  // Slot-based: a job that is named more than once, which a schema cannot forbid.
  std::optional<Key> named_twice() const {
    std::set<Key> seen;
    for (const Placed& each : placed())
      if (!seen.insert(each.job).second) return each.job;
    return std::nullopt;
  }

  std::string state() const {
    const std::string state = status_["state"].text();
    return state.empty() ? "Acquire" : state;
  }
  bool completed() const { return status_["completionTime"].present(); }
  std::optional<WallTime> completion_time() const {
    return parse_time(status_["completionTime"].text());
  }
  // What has been carried out of a job.
  struct JobState {
    std::string state;
    std::int64_t last_run = 0;
    std::size_t used = 0;  // entries
    std::optional<WallTime> waiting_since, granted;
  };
  JobState job(const Key& job) const {
    for (const json::Slice each : status_["jobStates"].elements())
      if (each["name"].equals(job.name) && each["namespace"].equals(job.ns))
        return {each["state"].text(), each["lastRun"].integer().value_or(0),
                static_cast<std::size_t>(each["used"].integer().value_or(0)),
                parse_time(each["waitingSince"].text()), parse_time(each["grantedTime"].text())};
    return {};
  }

  // Who comes first: (creation, uid). Times are told to a second, so ties are common.
  struct Ticket {
    std::int64_t created = 0;
    std::string uid;
    friend auto operator<=>(const Ticket&, const Ticket&) = default;
  };
  Ticket ticket() const {
    return {scheduling_.created().value_or(WallTime{}).unix_nanos, std::string(scheduling_.uid())};
  }

 private:
  static Duration seconds(json::Slice number, std::int64_t otherwise) {
    return std::chrono::seconds(number.integer().value_or(otherwise));
  }
  Object scheduling_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
