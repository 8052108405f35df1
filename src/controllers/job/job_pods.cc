// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/job_pods.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controllers/deletion_order.h"
#include "controllers/job/policies.h"
#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/job_view.h"
#include "kube/label_selector.h"

namespace berth::controllers {
namespace {

constexpr const char* kIndex = "batch.kubernetes.io/job-completion-index";
constexpr const char* kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
constexpr const char* kIgnoredFailures = "batch.kubernetes.io/job-index-ignored-failure-count";
constexpr const char* kIndexVariable = "JOB_COMPLETION_INDEX";
constexpr std::size_t kLongestPrefix = 58;

std::int64_t count_annotation(const Object& pod, const char* name) {
  const auto value = kube::parse_decimal(pod.annotation(name));
  return value && *value >= 0 && *value <= INT32_MAX ? *value : 0;
}

std::string with_index_variable(json::Slice container) {
  for (const json::Slice one : container["env"].elements())
    if (one["name"].equals(kIndexVariable)) return std::string(container.raw());
  json::Writer w;
  w.object();
  for (auto at = container.members().begin(); at != nullptr; ++at)
    if ((*at).key != "env") w.member((*at).key).raw((*at).value.raw());
  w.member("env").array();
  for (const json::Slice one : container["env"].elements()) w.raw(one.raw());
  w.object().member("name").string(kIndexVariable).member("valueFrom").object();
  w.member("fieldRef").object();
  w.member("fieldPath").string(fmt::format("metadata.labels['{}']", kIndex));
  w.end().end().end().end().end();
  return w.take();
}

std::string indexed_spec(json::Slice spec, const std::string& hostname) {
  json::Writer w;
  w.object();
  for (auto at = spec.members().begin(); at != nullptr; ++at) {
    const auto [key, value] = *at;
    if (key == "hostname") continue;
    w.member(key);
    if (key != "containers" && key != "initContainers") {
      w.raw(value.raw());
      continue;
    }
    w.array();
    for (const json::Slice one : value.elements()) w.raw(with_index_variable(one));
    w.end();
  }
  w.member("hostname").string(hostname).end();
  return w.take();
}

}  // namespace

JobSpec::JobSpec(const Object& job) {
  const json::Slice spec = job.member("spec");
  pod_template = spec["template"];
  failure_policy = spec["podFailurePolicy"].is_object() ? spec["podFailurePolicy"] : json::Slice();
  success_policy = spec["successPolicy"];
  parallelism = spec["parallelism"].integer().value_or(1);
  backoff_limit = spec["backoffLimit"].integer().value_or(6);
  completions = spec["completions"].integer();
  backoff_limit_per_index = spec["backoffLimitPerIndex"].integer();
  max_failed_indexes = spec["maxFailedIndexes"].integer();
  deadline_seconds = spec["activeDeadlineSeconds"].integer();
  indexed = spec["completionMode"].equals("Indexed");
  suspended = spec["suspend"].boolean();
  // k8s 1.36: a policy for failures wants to see how a pod ends.
  replaces_only_failed = spec["podReplacementPolicy"].equals("Failed") || failure_policy.present();
}

bool managed_elsewhere(const Object& job) {
  const json::Slice by = job.member("spec")["managedBy"];
  return by.is_string() && !by.equals("kubernetes.io/job-controller");
}

bool job_finished(const Object& job) { return kube::JobView(job).finished(); }

JobPod::JobPod(const Object& pod, const JobSpec& spec)
    : object(&pod),
      tracked(job_tracked(pod)),
      succeeded(pod.status()["phase"].equals("Succeeded")),
      failed(pod.status()["phase"].equals("Failed") ||
             // Those that were deleted may never get the chance to fail.
             (!spec.replaces_only_failed && pod.deleting() && !succeeded)),
      active(pod_active(pod)),
      ready(active && pod_ready(pod)),
      terminating(pod_terminating(pod)) {
  const auto value = kube::parse_decimal(pod.annotation(kIndex));
  if (value && *value >= 0) index = *value;
  if (spec.indexed) in_range = index >= 0 && index < spec.completions.value_or(0);
}

std::set<std::int64_t> indexes_of(const std::vector<const JobPod*>& pods) {
  std::set<std::int64_t> out;
  for (const JobPod* pod : pods)
    if (pod->index >= 0) out.insert(pod->index);
  return out;
}

IndexFailures failures_before(const Object& pod) {
  return {count_annotation(pod, kIndexFailures), count_annotation(pod, kIgnoredFailures)};
}

IndexFailures failures_after(const Object* pod, json::Slice failure_policy) {
  if (pod == nullptr) return {};
  IndexFailures failures = failures_before(*pod);
  ++(judge_failure(failure_policy, *pod).counts() ? failures.counted : failures.ignored);
  return failures;
}

std::string job_pod_json(const Object& job, const JobSpec& spec, const std::string& name,
                         std::optional<std::int64_t> index, const Object* before) {
  PodParts parts{{std::string(job.ns()), name}, spec.pod_template, controller_ref(job)};
  bool has = false;
  for (const json::Slice one : spec.pod_template["metadata"]["finalizers"].elements())
    has |= one.equals(kJobTracking);
  if (!has) parts.finalizers.emplace_back(kJobTracking);
  if (index) {
    const std::string number = std::to_string(*index);
    parts.labels.emplace_back(kIndex, number);
    parts.annotations.emplace_back(kIndex, number);
    if (spec.backoff_limit_per_index) {
      const IndexFailures failures = failures_after(before, spec.failure_policy);
      parts.annotations.emplace_back(kIndexFailures, std::to_string(failures.counted));
      if (failures.ignored > 0)
        parts.annotations.emplace_back(kIgnoredFailures, std::to_string(failures.ignored));
    }
    parts.prefix = fmt::format("{}-{}-", job.name(), number);
    parts.spec = indexed_spec(spec.pod_template["spec"], fmt::format("{}-{}", job.name(), number));
  }
  return pod_json(parts);
}

std::string indexed_pod_name(const Object& job, std::int64_t index,
                             const std::set<std::string_view>& taken) {
  const std::string tail = fmt::format("-{}-", index);
  std::string prefix = std::string(job.name()) + tail;
  if (prefix.size() > kLongestPrefix)
    prefix = prefix.substr(0, kLongestPrefix - tail.size()) + tail;
  for (int i = 0;; ++i) {
    std::string name =
        prefix + name_suffix(fmt::format("{}/{}/{}/{}", job.uid(), job.revision(), index, i));
    if (taken.count(name) == 0) return name;
  }
}

std::vector<const Object*> pods_to_remove(const JobSpec& spec,
                                          const std::vector<const JobPod*>& active,
                                          std::int64_t at_least) {
  std::vector<const Object*> gone, left;
  std::map<std::int64_t, std::vector<const Object*>> by_index;
  for (const JobPod* pod : active) {
    if (!spec.indexed)
      left.push_back(pod->object);
    else if (!pod->in_range)
      gone.push_back(pod->object);
    else
      by_index[pod->index].push_back(pod->object);
  }
  for (auto& [index, same] : by_index) {
    order_by_stage(same);
    gone.insert(gone.end(), same.begin(), same.end() - 1);
    left.push_back(same.back());
  }
  order_by_stage(left);
  for (const Object* pod : left) {
    if (static_cast<std::int64_t>(gone.size()) >= at_least) break;
    gone.push_back(pod);
  }
  return gone;
}

}  // namespace berth::controllers
