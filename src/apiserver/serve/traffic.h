// SPDX-License-Identifier: Apache-2.0
// How much is going on: requests in flight and watches, their limits, and the metrics that
// kube-apiserver has of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "apiserver/kinds/kind_row.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/api.h"

namespace berth::apiserver {

// What a server takes at once. Requests of its own process are not counted against these: whoever
// sends them bounds them.
struct TrafficLimits {
  std::size_t reads = 400, writes = 200;
  std::size_t watches = 10'000;
};

std::string_view verb_name(kube::Verb);  // as RBAC has it: "deletecollection"
bool is_write(kube::Verb);

// Loop-confined.
class Traffic {
 public:
  Traffic(Metrics&, const Clock&, const TrafficLimits&);

  std::size_t open() const { return reads_ + writes_; }

  // 429 where there is no room for one more.
  Result<Ok> room_for(kube::Verb) const;
  void began(kube::Verb, bool counted);
  // `row` is null for what is no resource.
  void ended(kube::Verb, bool counted, const KindRow* row, const kube::ApiRequest&, int code,
             Instant since);

  Result<Ok> room_for_watch() const;
  void watch_began(const KindRow&);
  void watch_ended(const KindRow&);
  std::size_t watches() const { return watches_; }

 private:
  struct Handles {
    Counter total;
    Histogram duration;
  };
  Handles& handles(kube::Verb, const KindRow* row, const kube::ApiRequest&, int code);

  const Clock& clock_;
  TrafficLimits limits_;
  Labelled<Counter> total_;
  Labelled<Histogram> duration_;
  Labelled<Gauge> in_flight_, long_running_;
  Gauge reading_, writing_;
  std::unordered_map<std::uint64_t, Handles> known_;
  std::size_t reads_ = 0, writes_ = 0;                  // all
  std::size_t outside_reads_ = 0, outside_writes_ = 0;  // that are counted against the limits
  std::size_t watches_ = 0;
};

}  // namespace berth::apiserver
