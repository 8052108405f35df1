// SPDX-License-Identifier: Apache-2.0
// What becomes of scavenger jobs, in numbers. Everything is told from changes of objects, one after
// another, so whoever replays a watch gets the same values.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "controllers/reclaim_watch.h"
#include "runtime/observer.h"

namespace berth::controllers {

// What one change of a ScavengerJob tells. Pure.
struct ScavengerStep {
  std::int64_t started = 0, interrupted = 0, completed = 0, failed = 0;
  double lost = 0, useful = 0;  // core-seconds
  std::optional<Duration> ran = {};
  std::string verdict = {}, reason = {};  // of an attempt that was closed; "": none was
};
ScavengerStep scavenger_step(const kube::Object& before, const kube::Object& after);

// Loop-confined to the home's. The metrics outlive it.
class ScavengerMetrics final : public runtime::Observer {
 public:
  explicit ScavengerMetrics(Metrics&);

  std::vector<kube::KindId> kinds() const override;
  void begin() override;
  void changed(const runtime::Change&, WallTime now) override;

 private:
  // Of a job that waits: since when, and how often it was interrupted, as the label has it.
  struct Known {
    std::optional<WallTime> waits_since = {};
    std::string queued = {};  // "": it is not in the queue
  };
  void job(const runtime::Change&);
  void queue(Known&, std::string next);

  Counter started_, completed_, interrupted_, failed_, lost_, useful_;
  Histogram wait_, run_, reclaim_;
  Gauge goodput_, threshold_;
  Labelled<Gauge> queue_;
  Labelled<Counter> verdicts_;
  std::map<std::string, Known, std::less<>> known_;  // by uid
  std::map<std::string, double> queue_lengths_;
  ReclaimWatch reclaims_;
};

}  // namespace berth::controllers
