// SPDX-License-Identifier: Apache-2.0
// Which waiting scavenger jobs may start now: whose turn it is, what the threshold leaves, and
// whether it would fit. One decision over all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "kube/resource_list.h"

namespace berth::scavenge {

enum class ThresholdScope : std::uint8_t { kCluster, kNode, kBoth };
// With the candidate nothing goes above the threshold; the current use alone has to be below it.
enum class ThresholdMode : std::uint8_t { kWithCandidate, kCurrent };
enum class Starvation : std::uint8_t { kNone, kAging, kBackfillReservation };

struct AdmitRules {
  int threshold_percent = 70;
  ThresholdScope scope = ThresholdScope::kCluster;
  ThresholdMode mode = ThresholdMode::kWithCandidate;
  Starvation starvation = Starvation::kNone;
  Duration aging_every = 1h;       // adds one to the count of interruptions
  Duration reserve_after = 10min;  // the head of the queue gets nodes of its own
  bool respect_pending = true;
  bool fair_shares = false;
  std::size_t most_starts = 50;
  // Adaptive (off: nullopt): the threshold is 100 - (reserve + stdev of ordinary use), at most the
  // fixed one.
  std::optional<int> adaptive_reserve_percent = {};
};

struct NodeRoom {
  std::string name;
  kube::ResourceList allocatable = {};  // of a node that is Ready and not cordoned
  kube::ResourceList used = {};         // requests of its pods that have not ended, ghosts too
};
struct QuotaLimits {  // of a namespace; absent: no limit
  std::optional<std::int64_t> count = {};
  kube::ResourceList most = {};  // of running scavengers
};
struct Waiting {
  std::string uid = {}, ns = {}, name = {};
  std::string user = {};  // of fair shares: who asked for it
  std::int64_t interrupted = 0;
  WallTime waiting_since = {};
  kube::ResourceList member = {};  // requests of one
  int members = 1;
  std::optional<kube::ResourceList> beside = {};  // requests of one more pod: a launcher
  std::vector<std::string> node_names = {};       // it may go to; empty: any
  std::optional<WallTime> not_before = {};        // backing off
};
struct AdmitQuestion {
  std::vector<NodeRoom> nodes = {};
  kube::ResourceList in_flight = {};  // members of started attempts that are not bound yet
  kube::ResourceList pending = {};    // of ordinary pods that fit nowhere
  std::vector<Waiting> waiting = {};
  std::map<std::string, QuotaLimits> quotas = {};          // by namespace
  std::map<std::string, kube::ResourceList> running = {};  // scavengers' requests by namespace
  std::map<std::string, std::int64_t> running_count = {};  // by namespace
  std::map<std::string, double> shares = {};               // decayed core-hours / weight, by user
  std::map<std::string, double> weights = {};              // by user; absent: 1
  double ordinary_stdev_percent = 0;
  AdmitRules rules = {};
  WallTime now = {};
};

enum class WaitReason : std::uint8_t { kTurn, kThreshold, kNoFit, kOverQuota, kBackoff, kReserved };
struct Start {
  std::string uid;
  std::vector<std::string> nodes =
      {};  // where the threshold of nodes counts: those with room for it
  std::vector<std::string> avoid = {};  // kept for the job that has waited longest
};
struct Wait {
  std::string uid;
  WaitReason reason = WaitReason::kTurn;
  std::string message = {};  // "cpu: 68 of 70 in use, 4 more asked for"
  int turn = 0;              // 1: next
};
struct AdmitAnswer {
  std::vector<Start> starts = {};           // in order
  std::vector<Wait> waits = {};             // in turn
  int threshold_percent = 0;                // that counted
  std::optional<WallTime> look_again = {};  // when time alone may change the answer
};
// Goes through the waiting jobs in their order; each that passes starts, and those after it find
// its room taken. Whoever does not pass is passed by. A start is charged an hour of its user's
// share, so that one user does not get everything that is free at once.
AdmitAnswer admit(const AdmitQuestion&);

}  // namespace berth::scavenge
