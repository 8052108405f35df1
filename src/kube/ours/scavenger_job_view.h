// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a ScavengerJob, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/object.h"
#include "kube/resource_list.h"
#include "kube/time.h"

namespace berth::kube {

inline constexpr std::string_view kScavengerPending = "Pending", kScavengerRunning = "Running",
                                  kScavengerInterrupted = "Interrupted",
                                  kScavengerCompleted = "Completed", kScavengerFailed = "Failed";

// So many nodes are named in a status at most: as many as a gang may have members.
inline constexpr std::int64_t kMostNamedNodes = 5'000;
inline constexpr std::int64_t kMostSnapshots = 100;  // of containers, at one notice

// An object that is mounted: a claim, a ConfigMap or a Secret.
struct MountedReference {
  std::string name, mount_path, sub_path;
  bool read_only = false;
};
struct ScavengerCheckpoint {
  std::optional<Duration> interval;  // that the program keeps
  Duration max_notice{};             // how long it is asked before it is ended
};

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class ScavengerJobView {
 public:
  explicit ScavengerJobView(Object job)
      : job_(std::move(job)), spec_(job_.member("spec")), status_(job_.status()) {}

  const Object& object() const { return job_; }
  json::Slice spec() const { return spec_; }
  json::Slice status() const { return status_; }

  // Exactly one of image, job and mpi is given; the schema sees to it.
  bool has_job() const { return static_cast<bool>(spec_["job"]); }
  bool has_mpi() const { return static_cast<bool>(spec_["mpi"]); }
  int replicas() const { return static_cast<int>(spec_["replicas"].integer().value_or(1)); }
  // Absent: the policy's.
  std::optional<Duration> duration() const { return parse_duration(spec_["duration"].text()); }
  std::optional<Duration> min_run() const { return parse_duration(spec_["minRun"].text()); }
  std::optional<std::int64_t> max_interruptions() const {
    return spec_["maxInterruptions"].integer();
  }
  bool exit_code_is_proof() const { return spec_["completionProof"].equals("ExitCodeOnly"); }
  bool restarts_on_lost_node() const { return spec_["lostNode"].equals("Restart"); }
  ScavengerCheckpoint checkpoint() const {
    const json::Slice from = spec_["checkpoint"];
    return {parse_duration(from["interval"].text()),
            parse_duration(from["maxNotice"].text()).value_or(Duration{})};
  }
  std::vector<MountedReference> mounted(std::string_view which) const {  // "configMaps", …
    std::vector<MountedReference> all;
    for (const json::Slice each : spec_[which].elements())
      all.push_back({each["name"].text(), each["mountPath"].text(), each["subPath"].text(),
                     each["readOnly"].boolean()});
    return all;
  }

  std::string phase() const {
    const std::string phase = status_["phase"].text();
    return phase.empty() ? std::string(kScavengerPending) : phase;
  }
  bool ended() const {
    const std::string now = phase();
    return now == kScavengerCompleted || now == kScavengerFailed;
  }
  std::int64_t attempt() const { return status_["attempt"].integer().value_or(0); }
  std::int64_t closed_attempt() const { return status_["closedAttempt"].integer().value_or(0); }
  bool open() const { return attempt() > closed_attempt(); }  // an attempt is under way
  std::string job_uid() const { return status_["jobUid"].text(); }
  std::int64_t interrupted_count() const {
    return status_["interruptedCount"].integer().value_or(0);
  }

 private:
  Object job_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
