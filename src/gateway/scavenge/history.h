// SPDX-License-Identifier: Apache-2.0
// What scavengers made of a cluster, and what they lost, over time. Kept in memory and bounded: six
// hours by the minute, thirty days by the quarter of an hour.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::gateway {

// Thread-compatible.
class ScavengeHistory {
 public:
  ScavengeHistory();

  // How things are from now on. Thousandths of cores; of the scavengers also what a second of them
  // is worth, in thousandths of a core-second.
  struct Level {
    std::int64_t capacity = 0, ordinary = 0, scavengers = 0, worth = 0;
    friend bool operator==(const Level&, const Level&) = default;
  };
  void level(WallTime now, const Level&);
  void look(WallTime now);  // nothing has changed until here

  // Before anybody looked, as statuses tell it.
  void ran(WallTime from, WallTime to, std::int64_t worth);

  struct Interruption {
    WallTime at = {};
    std::string uid = {};         // of the job
    std::string reason = {};      // of the verdict
    std::int64_t lost_milli = 0;  // core-seconds
  };
  void interrupted(Interruption);
  void given_back(WallTime at, Duration within);

  // "1h", "6h", "24h", "7d", "30d". BadRequest for others.
  Result<std::string> json(std::string_view range, WallTime now) const;
  // Moves once a minute, and with every interruption.
  std::uint64_t version(WallTime now) const;

 private:
  struct Bucket {
    std::int64_t number = -1;                           // since 1970, in steps
    double seen_ms = 0;                                 // how long somebody looked
    double capacity = 0, ordinary = 0, scavengers = 0;  // millicores times ms
    double reclaimed = 0;                               // milli core-seconds
  };
  struct Ring {
    Duration step;
    std::vector<Bucket> buckets;
    Bucket& at(std::int64_t number);
    const Bucket* find(std::int64_t number) const;
  };
  void spread(Ring&, WallTime from, WallTime to, const Level&, bool seen);

  Ring minutes_, quarters_;
  std::optional<WallTime> since_ = {};
  Level level_ = {};
  std::deque<Interruption> interruptions_;  // by time
  struct GivenBack {
    WallTime at;
    Duration within;
  };
  std::deque<GivenBack> given_back_;
  std::uint64_t events_ = 0;
};

}  // namespace berth::gateway
