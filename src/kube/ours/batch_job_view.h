// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a BatchJob, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/object.h"
#include "kube/ours/reference.h"
#include "kube/time.h"

namespace berth::kube {

// What executors request where a scheduler asks its extender about such pods alone. No node has it.
inline constexpr std::string_view kSlotResource = "berth.dev/slot";

// A slot that is promised to a pod.
struct Pin {
  int slot = 0;
  std::string pod_uid, pod_name;
};

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class BatchJobView {
 public:
  explicit BatchJobView(Object job)
      : job_(std::move(job)), spec_(job_.member("spec")), status_(job_.status()) {}

  const Object& object() const { return job_; }
  json::Slice spec() const { return spec_; }
  json::Slice status() const { return status_; }

  // The Scheduling that has claimed it. A claim made by hand has no uid.
  struct Claim {
    Key scheduling;
    std::string uid;
    bool by(const Object& one) const {
      return scheduling == one.key() && (uid.empty() || uid == one.uid());
    }
  };
  std::optional<Claim> claim() const {
    const json::Slice claim = spec_["activeScheduling"];
    if (!claim || claim.is_null()) return std::nullopt;
    return Claim{key_in(claim, job_.ns()), claim["uid"].text()};
  }

  // The order to run.
  struct Order {
    std::set<int> slots;
    Key testbed;
    std::int64_t run = 0;  // 0: given by hand; the next one is meant
  };
  std::optional<Order> order() const {
    const json::Slice order = spec_["creationRequest"];
    if (!order || order.is_null()) return std::nullopt;
    return Order{numbers_in(order["slotIds"]), key_in(order["testbedName"], job_.ns()),
                 order["run"].integer().value_or(0)};
  }
  std::string slot_class() const {
    const std::string name = spec_["slotClass"].text();
    return name.empty() ? "default" : name;
  }

  std::string state() const {
    const std::string state = status_["state"].text();
    return state.empty() ? "Ready" : state;
  }
  std::int64_t run() const { return status_["run"].integer().value_or(0); }
  std::int64_t closed_run() const { return status_["closedRun"].integer().value_or(0); }
  bool open() const { return run() > closed_run(); }
  std::vector<Pin> pins() const {
    std::vector<Pin> all;
    for (const json::Slice each : status_["pins"].elements())
      all.push_back({static_cast<int>(each["slot"].integer().value_or(-1)), each["podUid"].text(),
                     each["podName"].text()});
    return all;
  }

  // A run that has ended.
  struct PastRun {
    std::int64_t run = 0;
    bool successful = false;
    std::size_t width = 0;
    std::optional<WallTime> granted, start, stop;
  };
  std::vector<PastRun> history() const {
    std::vector<PastRun> runs;
    for (const json::Slice each : status_["scheduledEvents"].elements())
      runs.push_back({each["run"].integer().value_or(0), each["successful"].boolean(),
                      each["slotIds"].size(), parse_time(each["granted"].text()),
                      parse_time(each["start"].text()), parse_time(each["stop"].text())});
    return runs;
  }
  std::optional<bool> succeeded(std::int64_t run) const {  // nothing: it is not in the history
    for (const PastRun& past : history())
      if (past.run == run) return past.successful;
    return std::nullopt;
  }

 private:
  Object job_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
