// SPDX-License-Identifier: Apache-2.0
// A Job's spec and pods as its controller reads them, and how its pods are made.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/job/indexes.h"
#include "controllers/job_tracking.h"
#include "json/slice.h"
#include "kube/object.h"

namespace berth::controllers {

struct JobSpec {
  explicit JobSpec(const kube::Object& job);

  json::Slice pod_template, failure_policy, success_policy;
  std::int64_t parallelism, backoff_limit;
  std::optional<std::int64_t> completions;  // none: the pods know when the work is done
  std::optional<std::int64_t> backoff_limit_per_index, max_failed_indexes, deadline_seconds;
  bool indexed, suspended;
  bool replaces_only_failed;  // not those that are still terminating
};

bool managed_elsewhere(const kube::Object& job);
bool job_finished(const kube::Object& job);

struct JobPod {
  JobPod(const kube::Object&, const JobSpec&);

  const kube::Object* object;
  bool tracked;    // has the finalizer: not counted, or its counting is not known to be done
  bool succeeded;  // by its phase
  bool failed;     // or as good as that
  bool active, ready, terminating;
  std::int64_t index = -1;  // of its completion; -1: none
  bool in_range = true;     // of an Indexed Job: it has an index that counts
  std::string_view uid() const { return object->uid(); }
};

std::set<std::int64_t> indexes_of(const std::vector<const JobPod*>&);

// How often an index has failed before this pod, and how often that was to be ignored.
struct IndexFailures {
  std::int64_t counted = 0, ignored = 0;
  std::int64_t all() const { return counted + ignored; }
};
IndexFailures failures_before(const kube::Object& pod);
// The same for the pod that comes after it; null: for the first one.
IndexFailures failures_after(const kube::Object* pod, json::Slice failure_policy);

// `before`: the pod it replaces, where failures are counted by index.
std::string job_pod_json(const kube::Object& job, const JobSpec&, const std::string& name,
                         std::optional<std::int64_t> index, const kube::Object* before);
// Follows from the Job's version, so that a repeated create meets itself.
std::string indexed_pod_name(const kube::Object& job, std::int64_t index,
                             const std::set<std::string_view>& taken);

// Of active pods, those that must go: at least so many, and all that repeat an index or have none
// that counts.
std::vector<const kube::Object*> pods_to_remove(const JobSpec&, const std::vector<const JobPod*>&,
                                                std::int64_t at_least);

}  // namespace berth::controllers
