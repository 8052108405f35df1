// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Job, by name.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/object.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class JobView {
 public:
  explicit JobView(Object job)
      : job_(std::move(job)), spec_(job_.member("spec")), status_(job_.status()) {}

  const Object& object() const { return job_; }
  std::int64_t parallelism() const { return spec_["parallelism"].integer().value_or(1); }
  std::optional<std::int64_t> completions() const { return spec_["completions"].integer(); }
  std::int64_t backoff_limit() const { return spec_["backoffLimit"].integer().value_or(6); }
  bool suspended() const { return spec_["suspend"].boolean(); }
  bool indexed() const { return spec_["completionMode"].equals("Indexed"); }
  json::Slice pod_template() const { return spec_["template"]; }
  std::optional<Duration> ttl() const {  // how long it stays once it has finished
    const auto seconds = spec_["ttlSecondsAfterFinished"].integer();
    return seconds ? std::optional<Duration>(std::chrono::seconds(*seconds)) : std::nullopt;
  }

  std::int64_t active() const { return status_["active"].integer().value_or(0); }
  std::int64_t succeeded() const { return status_["succeeded"].integer().value_or(0); }
  std::int64_t failed() const { return status_["failed"].integer().value_or(0); }
  bool complete() const { return holds("Complete"); }
  bool has_failed() const { return holds("Failed"); }
  bool finished() const { return complete() || has_failed(); }
  std::optional<WallTime> finished_at() const {
    for (const char* type : {"Complete", "Failed"})
      if (holds(type))
        return parse_time(find_condition(status_, type)["lastTransitionTime"].text());
    return std::nullopt;
  }

 private:
  bool holds(std::string_view type) const {
    return find_condition(status_, type)["status"].equals("True");
  }
  Object job_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
