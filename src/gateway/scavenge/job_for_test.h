// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs for tests, made by chaining.
#pragma once

#include <string>

#include <fmt/format.h>

#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/time.h"

namespace berth::gateway {

inline constexpr WallTime kNoon{1'790'000'000'000'000'000};

class TestJob {
 public:
  explicit TestJob(std::string name, std::string ns = "ns") : name_(name), ns_(ns) {}
  TestJob& cores(int n) { return cores_ = n, *this; }
  TestJob& revision(int n) { return revision_ = n, *this; }
  // A member of the status, as JSON.
  TestJob& with(const std::string& key, const std::string& json) {
    status_ += fmt::format("{}\"{}\":{}", status_.empty() ? "" : ",", key, json);
    return *this;
  }
  TestJob& at(const std::string& key, WallTime time) {
    return with(key, '"' + kube::micro_time_text(time) + '"');
  }
  TestJob& times(const std::string& key, const std::vector<WallTime>& all) {
    std::string list;
    for (const WallTime one : all)
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", kube::micro_time_text(one));
    return with(key, "[" + list + "]");
  }
  TestJob& cost(WallTime since, bool reported, Duration window = 30min) {
    return with("cost",
                fmt::format(R"({{"since":"{}","rateMilli":{},"windowSeconds":{},"steps":3,)"
                            R"("reported":{},"restart":0}})",
                            kube::micro_time_text(since), cores_ * 1000, window / 1s, reported));
  }
  TestJob& phase(const std::string& name) { return with("phase", '"' + name + '"'); }
  // Attempt 1 is open and runs.
  TestJob& running(WallTime since, bool reported = false) {
    return phase("Running")
        .with("attempt", "1")
        .with("jobUid", "\"j-" + name_ + "\"")
        .times("runningTimestamps", {since})
        .cost(since, reported);
  }
  TestJob& waiting(WallTime since) { return phase("Pending").at("waitingSince", since); }

  std::string json() const {
    return fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{0}",)"
        R"("namespace":"{1}","uid":"u-{0}","resourceVersion":"{2}","creationTimestamp":"{3}"}},)"
        R"("spec":{{"image":"i","resources":{{"requests":{{"cpu":"{4}"}}}}}},"status":{{{5}}}}})",
        name_, ns_, revision_, kube::time_text(kNoon - 24h), cores_, status_);
  }
  kube::Object object() const {
    return kube::Object::parse(kube::scavenger_kinds().job, json()).value();
  }
  kube::ScavengerJobView view() const { return kube::ScavengerJobView(object()); }

 private:
  std::string name_, ns_, status_;
  int cores_ = 4, revision_ = 1;
};

}  // namespace berth::gateway
