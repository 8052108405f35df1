// SPDX-License-Identifier: Apache-2.0
// The Job of an attempt: what the ScavengerJob says, and what tells interruption from failure
// afterwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/ours/scavenger_policy_view.h"
#include "kube/resource_list.h"

namespace berth::controllers {

// On pods: "scavengerjobs.berth.dev/name", so that an event of a pod finds its ScavengerJob in
// either group, and who is to let go of it.
inline constexpr std::string_view kScavengerJobAnnotation = "berth.dev/scavenger-job";
std::string scavenger_job_reference(kube::KindId, std::string_view name);

// "<name>-<attempt>", of a long name its beginning and a hash: names of members stay below 63.
std::string attempt_name(std::string_view job, std::int64_t attempt);
// The attempt that an object of this name is of; nullopt where it is none of this job's.
std::optional<std::int64_t> attempt_of(std::string_view job, std::string_view object);

// What one member asks for, and how many there are at a time.
struct Members {
  kube::ResourceList each = {};
  int count = 1;
  bool together = true;  // each begins once, with the others; false: one may follow another
  std::optional<kube::ResourceList> launcher = {};  // of an MPIJob: one more pod

  int pods() const { return count + (launcher ? 1 : 0); }
  kube::ResourceList all() const;  // that they ask for
  friend bool operator==(const Members&, const Members&) = default;
};
Result<Members> members_of(const kube::ScavengerJobView&);  // by its spec
// Of an open attempt what it was started with, whatever the spec says by now; else by the spec.
Result<Members> held_members(const kube::ScavengerJobView&);
std::string held_json(const Members&);  // for status.holds

// Where a member may go, as its template says it. Absent slices: anywhere.
json::Slice placement_of(const kube::ScavengerJobView&);  // a pod's spec

struct AttemptOrder {
  std::int64_t attempt = 1;
  std::string_view decided_at = {};
  // How often it should checkpoint: advised, or declared.
  std::optional<Duration> checkpoint_interval = {};
  std::string_view gateway = {};             // where it reports them; "": nowhere
  bool starved = false;                      // of the class that goes last
  std::vector<std::string> node_names = {};  // with room; none: any
  std::vector<std::string> avoid = {};       // kept for a job that has waited longer
  Duration grace_max = 5min;                 // of its pods, whatever they ask for
  std::string_view scheduler_name = {};      // that places them; "": the scheduler of everybody
};
// JSON of a batch/v1 Job, or of an MPIJob where spec.mpi is given.
std::string job_json(const kube::ScavengerJobView&, const kube::ScavengerPolicy&,
                     const AttemptOrder&);

// A member's template with everything that we add to it. For job_json and the builder of MPIJobs.
struct MemberTemplate {
  std::string metadata, spec;  // JSON
};
MemberTemplate complete_template(const kube::ScavengerJobView&, const AttemptOrder&,
                                 json::Slice given_metadata, json::Slice given_spec);
// The spec of a pod with one container, of what the ScavengerJob says.
struct ContainerParts {
  std::string_view image;
  json::Slice command = {}, args = {}, resources = {};
};
std::string plain_pod_spec(const kube::ScavengerJobView&, const kube::ScavengerPolicy&,
                           const ContainerParts&);

}  // namespace berth::controllers
