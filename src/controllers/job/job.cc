// SPDX-License-Identifier: Apache-2.0
// Runs the pods of a Job until enough of them have succeeded, or too many have failed. A pod that
// ended is counted in two steps, so that it is counted once whatever happens in between: its uid
// goes into the status, then its finalizer goes, then the uid becomes a number.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controllers/job/backoff.h"
#include "controllers/job/indexes.h"
#include "controllers/job/job_pods.h"
#include "controllers/job/policies.h"
#include "controllers/job/uncounted.h"
#include "controllers/ownership.h"
#include "controllers/pod_failures.h"
#include "controllers/pods.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using client::EventType;
using kube::kJob;
using kube::kPod;
using kube::LabelSelector;

// k8s 1.36: so many pods a run, and so many uids in a status.
constexpr std::int64_t kBurst = 500;
constexpr Duration kBatch = 1s;  // k8s 1.36: pods that end together are counted together
constexpr std::size_t kMostUncounted = 500;

// One run for one Job.
class Run {
 public:
  Run(const View& view, const Object& job, LabelSelector selector, WallTime now)
      : view_(view),
        job_(job),
        spec_(job),
        selector_(std::move(selector)),
        now_(now),
        status_(job.status()),
        conditions_(status_["conditions"]),
        uncounted_(status_["uncountedTerminatedPods"]),
        history_(view.remembered()) {}

  Plan plan() {
    plan_.remember(std::string(view_.remembered()));
    const Claimed claimed = claim(view_, plan_, job_, selector_, kPod, nullptr, kJobTracking);
    if (claimed.unsettled) return std::move(plan_);
    pods_.reserve(claimed.objects.size());
    for (const Object* pod : claimed.objects) pods_.emplace_back(*pod, spec_);
    // In the order in which their indexes are to be counted.
    if (spec_.indexed)
      std::stable_sort(pods_.begin(), pods_.end(),
                       [](const JobPod& a, const JobPod& b) { return a.index < b.index; });
    count();
    evaluate();

    const FailedAction* failed = pod_failure(view_);
    if (end_)
      end_active();
    else
      manage_and_complete();
    if (failed != nullptr) {
      // What went wrong is told, and what is known is written, before it is tried again.
      tell_pod_failure(plan_, job_, *failed);
      if (!pod_writes_.empty()) end_.reset();
      active_now_ = static_cast<std::int64_t>(active_.size());
      ready_now_ = ready_;
      terminating_now_ = terminating_;
      track();
    }
    for (Action& action : pod_writes_.actions()) plan_.add(std::move(action));
    if (failed == nullptr) track();
    return std::move(plan_);
  }

 private:
  std::int64_t status_count(const char* name) const { return status_[name].integer().value_or(0); }
  Condition condition(const char* type, const char* reason, std::string message) const {
    const std::string time = kube::time_text(now_);
    return {.type = type,
            .status = "True",
            .reason = reason,
            .message = std::move(message),
            .last_transition = time,
            .last_probe = time};
  }
  bool fresh(const JobPod& pod) const { return pod.tracked && pod.in_range; }

  void count() {
    std::int64_t newly_failed = 0, newly_succeeded = 0;
    for (const JobPod& pod : pods_) {
      if (pod.active) active_.push_back(&pod);
      ready_ += pod.ready ? 1 : 0;
      terminating_ += pod.terminating ? 1 : 0;
      if (fresh(pod) && pod.succeeded && !uncounted_.succeeded.has(pod.uid())) ++newly_succeeded;
      if (fresh(pod) && pod.failed && !uncounted_.failed.has(pod.uid()) &&
          judge_failure(spec_.failure_policy, *pod.object).counts())
        ++newly_failed;
      if (!pod.in_range) continue;
      if (pod.succeeded) history_.succeeded(ended_at(*pod.object));
      // Those that a Job removed itself have lost their finalizer before they end.
      if (pod.failed && (pod.tracked || !pod.object->deleting()))
        history_.failed(pod.uid(), ended_at(*pod.object));
    }
    active_now_ = static_cast<std::int64_t>(active_.size());
    ready_now_ = ready_;
    terminating_now_ = terminating_;
    succeeded_ = status_count("succeeded") + newly_succeeded +
                 static_cast<std::int64_t>(uncounted_.succeeded.size());
    failed_ =
        status_count("failed") + newly_failed + static_cast<std::int64_t>(uncounted_.failed.size());
    if (!status_["startTime"].present() && !spec_.suspended)
      status_.text("startTime", kube::time_text(now_));
    plan_.remember(history_.text());
  }

  // Has the Job met its end? What was decided before stays decided; failures go before successes.
  void evaluate() {
    if (const Condition* met = conditions_.find("SuccessCriteriaMet");
        met != nullptr && met->status == "True") {
      end_ = *met;
    } else if (const Condition* target = conditions_.find("FailureTarget");
               target != nullptr && target->status == "True") {
      end_ = condition("Failed", target->reason.c_str(), target->message);
    } else if (const auto message = failed_by_policy()) {
      end_ = condition("FailureTarget", "PodFailurePolicy", *message);
    } else if (failed_ > spec_.backoff_limit || too_many_restarts()) {
      end_ = condition("FailureTarget", "BackoffLimitExceeded",
                       "Job has reached the specified backoff limit");
    } else if (const auto due = deadline()) {
      if (*due <= now_)
        end_ = condition("FailureTarget", "DeadlineExceeded",
                         "Job was active longer than specified deadline");
      else
        plan_.again_at(*due);
    }
    if (spec_.indexed) evaluate_indexes();
  }

  void evaluate_indexes() {
    const std::int64_t completions = spec_.completions.value_or(0);
    before_ = Indexes::parse(status_["completedIndexes"].text(), completions);
    std::set<std::int64_t> done, lost;
    for (const JobPod& pod : pods_) {
      if (!fresh(pod)) continue;
      if (pod.succeeded) done.insert(pod.index);
      if (spec_.backoff_limit_per_index && index_failed(pod)) lost.insert(pod.index);
    }
    completed_ = before_.with(Indexes(done));
    succeeded_ = completed_.total();
    if (spec_.backoff_limit_per_index) {
      lost_ = Indexes::parse(status_["failedIndexes"].text(), completions).with(Indexes(lost));
      if (!end_ && spec_.max_failed_indexes && lost_.total() > *spec_.max_failed_indexes)
        end_ = condition("FailureTarget", "MaxFailedIndexesExceeded",
                         "Job has exceeded the specified maximal number of failed indexes");
      else if (!end_ && !lost_.empty() && lost_.total() + completed_.total() >= completions)
        end_ = condition("FailureTarget", "FailedIndexes", "Job has failed indexes");
      find_delayed();
    }
    if (end_) return;
    if (auto message = success_met(spec_.success_policy, completions, completed_))
      end_ = condition("SuccessCriteriaMet", "SuccessPolicy", std::move(*message));
  }

  bool index_failed(const JobPod& pod) const {
    if (!pod.failed) return false;
    const Judgement judgement = judge_failure(spec_.failure_policy, *pod.object);
    if (judgement.action == Judgement::Action::kFailIndex) return true;
    return judgement.counts() &&
           failures_before(*pod.object).counted >= *spec_.backoff_limit_per_index;
  }

  // The last failed pod of an index keeps its finalizer until there is another one, which takes
  // over how often the index has failed.
  void find_delayed() {
    const std::set<std::int64_t> running = indexes_of(active_);
    for (const JobPod& pod : pods_) {
      if (!fresh(pod) || !pod.failed) continue;
      if (completed_.has(pod.index) || lost_.has(pod.index) || running.count(pod.index) > 0)
        continue;
      const auto [at, first] = delayed_.try_emplace(pod.index, pod.object);
      if (first) continue;
      if (failures_before(*at->second).all() <= failures_before(*pod.object).all() &&
          ended_at(*at->second) <= ended_at(*pod.object))
        at->second = pod.object;
    }
  }
  const Object* delayed(std::int64_t index) const {
    const auto found = delayed_.find(index);
    return found == delayed_.end() ? nullptr : found->second;
  }

  std::optional<std::string> failed_by_policy() const {
    if (!spec_.failure_policy) return std::nullopt;
    for (const JobPod& pod : pods_) {
      if (!pod.failed) continue;
      Judgement judgement = judge_failure(spec_.failure_policy, *pod.object);
      if (judgement.action == Judgement::Action::kFailJob) return std::move(judgement.message);
    }
    return std::nullopt;
  }

  // Containers that restart in place count against the limit too.
  bool too_many_restarts() const {
    if (!spec_.pod_template["spec"]["restartPolicy"].equals("OnFailure")) return false;
    std::int64_t restarts = 0;
    for (const JobPod& pod : pods_) {
      const json::Slice status = pod.object->status();
      if (!status["phase"].equals("Running") && !status["phase"].equals("Pending")) continue;
      for (const char* list : {"initContainerStatuses", "containerStatuses"})
        for (const json::Slice one : status[list].elements())
          restarts += one["restartCount"].integer().value_or(0);
    }
    return spec_.backoff_limit == 0 ? restarts > 0 : restarts >= spec_.backoff_limit;
  }

  std::optional<WallTime> deadline() const {
    const auto start = kube::parse_time(status_["startTime"].text());
    if (!spec_.deadline_seconds || !start || spec_.suspended) return std::nullopt;
    return *start + std::chrono::seconds(*spec_.deadline_seconds);
  }

  void erase(const Object& pod) {
    pod_writes_.erase(pod, kube::Propagation::kUnset, Pin::kUid);
    pod_writes_.event(job_, {.reason = "SuccessfulDelete",
                             .action = "Delete",
                             .note = fmt::format("Deleted pod: {}", pod.name())});
    --active_now_;
    ++terminating_now_;
    if (pod_ready(pod)) --ready_now_;
  }
  void untrack(Plan& plan, const Object& pod) {
    plan.patch(pod, untrack_patch(), Pin::kUid, kube::PatchType::kStrategic);
  }

  // They keep their finalizers until they are counted.
  void end_active() {
    for (const JobPod* pod : active_) erase(*pod->object);
  }

  void remove(const std::vector<const Object*>& pods) {
    for (const Object* pod : pods) {
      if (job_tracked(*pod)) untrack(pod_writes_, *pod);  // not to be counted
      erase(*pod);
    }
  }

  void manage_and_complete() {
    const bool managed = !job_.deleting();
    if (managed) manage();
    const bool complete =
        active_now_ == 0 && (spec_.completions ? succeeded_ >= *spec_.completions : succeeded_ > 0);
    if (complete) {
      end_ = condition("SuccessCriteriaMet", "CompletionsReached",
                       "Reached expected number of succeeded pods");
    } else if (managed) {
      suspend_or_resume();
    }
  }

  void suspend_or_resume() {
    const Condition* before = conditions_.find("Suspended");
    if (before == nullptr && !spec_.suspended) return;
    Condition next = spec_.suspended ? condition("Suspended", "JobSuspended", "Job suspended")
                                     : condition("Suspended", "JobResumed", "Job resumed");
    if (!spec_.suspended) next.status = "False";
    if (before != nullptr && before->status == next.status && before->reason == next.reason &&
        before->message == next.message)
      return;
    conditions_.put_in_place(std::move(next));
    // The time of activity begins anew.
    status_.text("startTime", spec_.suspended ? "" : kube::time_text(now_));
    told_ = {.reason = spec_.suspended ? "Suspended" : "Resumed",
             .action = spec_.suspended ? "Suspend" : "Resume",
             .note = spec_.suspended ? "Job suspended" : "Job resumed"};
  }

  void manage() {
    if (spec_.suspended) return remove(pods_to_remove(spec_, active_, active_now_));
    const std::int64_t wanted = wanted_active();
    std::vector<const Object*> extra = pods_to_remove(spec_, active_, active_now_ - wanted);
    if (!extra.empty()) {  // k8s 1.36: either removed or made, not both in one go
      extra.resize(std::min(extra.size(), static_cast<std::size_t>(kBurst)));
      return remove(extra);
    }
    std::int64_t more = wanted - active_now_;
    if (spec_.replaces_only_failed) more -= terminating_;
    if (more <= 0 || namespace_ends(view_)) return;
    if (!spec_.backoff_limit_per_index) {
      if (const Duration left = history_.left(now_); left > Duration{}) {
        plan_.again_at(now_ + left);
        return;
      }
    }
    more = std::min(more, kBurst);
    if (spec_.indexed)
      create_indexed(more);
    else
      for (const std::string& name :
           new_pod_names(job_, static_cast<std::size_t>(more), view_.list(kPod, job_.ns())))
        create(name, std::nullopt);
  }

  std::int64_t wanted_active() const {
    if (!spec_.completions) return succeeded_ > 0 ? active_now_ : spec_.parallelism;
    return std::clamp<std::int64_t>(*spec_.completions - succeeded_, 0, spec_.parallelism);
  }

  void create_indexed(std::int64_t count) {
    Indexes busy = completed_.with(Indexes(indexes_of(active_))).with(lost_);
    if (spec_.replaces_only_failed) {
      std::vector<const JobPod*> ending;
      for (const JobPod& pod : pods_)
        if (pod.terminating) ending.push_back(&pod);
      busy = busy.with(Indexes(indexes_of(ending)));
    }
    std::set<std::string_view> taken;
    for (const Object* pod : view_.list(kPod, job_.ns())) taken.insert(pod->name());
    for (const std::int64_t index : busy.missing(count, spec_.completions.value_or(0))) {
      if (const Object* last = delayed(index)) {
        const Duration left = backoff_left(failures_before(*last).all() + 1, ended_at(*last), now_);
        if (left > Duration{}) {
          plan_.again_at(now_ + left);
          continue;
        }
      }
      create(indexed_pod_name(job_, index, taken), index);
    }
  }

  void create(const std::string& name, std::optional<std::int64_t> index) {
    pod_writes_.create(kPod, {std::string(job_.ns()), name},
                       job_pod_json(job_, spec_, name, index, index ? delayed(*index) : nullptr));
    pod_writes_.event(job_, {.reason = "SuccessfulCreate",
                             .action = "Create",
                             .note = fmt::format("Created pod: {}", name)});
    ++active_now_;
  }

  // The counting: uids into the status, then finalizers off; what lost its finalizer becomes a
  // number in the next run.
  void track() {
    std::set<std::string_view> tracked;
    for (const JobPod& pod : pods_)
      if (pod.tracked) tracked.insert(pod.uid());
    std::int64_t succeeded = status_count("succeeded") + uncounted_.succeeded.settle(tracked);
    const std::int64_t failed = status_count("failed") + uncounted_.failed.settle(tracked);

    std::vector<const Object*> done;
    bool full = false;
    std::size_t new_indexes = 0;
    for (const JobPod& pod : pods_) {
      if (!pod.tracked || !may_untrack(pod)) continue;
      done.push_back(pod.object);
      if (pod.succeeded && !uncounted_.failed.has(pod.uid())) {
        // The index is enough not to count it twice.
        if (spec_.indexed)
          new_indexes += pod.in_range && !before_.has(pod.index) ? 1 : 0;
        else
          uncounted_.succeeded.add(pod.uid());
      } else if (pod.failed || (end_ && end_->type != "SuccessCriteriaMet")) {
        // Whoever runs when the Job fails has failed.
        if (pod.in_range && judge_failure(spec_.failure_policy, *pod.object).counts())
          uncounted_.failed.add(pod.uid());
      }
      full = new_indexes + uncounted_.succeeded.size() + uncounted_.failed.size() >= kMostUncounted;
      if (full) break;
    }
    if (spec_.indexed) {
      succeeded = completed_.total();
      status_.text("completedIndexes", completed_.text());
      status_.raw("failedIndexes", spec_.backoff_limit_per_index ? json::quoted(lost_.text()) : "");
    }
    bool finished = false;
    if (end_) finished = conclude(done.empty() && !full);
    status_.count("active", active_now_).count("succeeded", succeeded).count("failed", failed);
    status_.number("ready", ready_now_).number("terminating", terminating_now_);
    status_.raw("uncountedTerminatedPods", uncounted_.json());
    status_.raw("conditions", conditions_.json());
    plan_.set_status(job_, status_.json());
    if (told_) plan_.event(job_, std::move(*told_));
    if (finished) tell_end(succeeded);
    for (const Object* pod : done) untrack(plan_, *pod);
  }

  bool may_untrack(const JobPod& pod) const {
    if (job_.deleting() || end_ || pod.succeeded) return true;
    return pod.failed && delayed(pod.index) != pod.object;
  }

  // The decision is written first; the condition that ends the Job follows when every pod is
  // counted and gone or still. True: this is that.
  bool conclude(bool all_done) {
    const bool success = end_->type == "SuccessCriteriaMet";
    const char* decision = success ? "SuccessCriteriaMet" : "FailureTarget";
    if (!conditions_.holds(decision)) {
      conditions_.put(*end_);
      return false;
    }
    if (!all_done || !uncounted_.empty() || terminating_now_ > 0) return false;
    end_ = condition(success ? "Complete" : "Failed", end_->reason.c_str(), end_->message);
    conditions_.put_in_place(*end_);
    if (success) status_.text("completionTime", end_->last_transition);
    return true;
  }

  void tell_end(std::int64_t succeeded) {
    plan_.remember("");
    if (end_->type == "Failed") {
      plan_.event(job_, {EventType::kWarning, end_->reason, "Fail", end_->message});
      return;
    }
    if (spec_.completions && succeeded > *spec_.completions)
      plan_.event(job_, {EventType::kWarning, "TooManySucceededPods", "Complete",
                         "Too many succeeded pods running after completion count reached"});
    plan_.event(job_, {EventType::kNormal, "Completed", "Complete", "Job completed"});
  }

  const View& view_;
  const Object& job_;
  JobSpec spec_;
  LabelSelector selector_;
  WallTime now_;
  StatusDraft status_;
  Conditions conditions_;
  Uncounted uncounted_;
  FailureHistory history_;
  std::vector<JobPod> pods_;
  std::vector<const JobPod*> active_;
  std::int64_t ready_ = 0, terminating_ = 0;                           // as seen
  std::int64_t active_now_ = 0, ready_now_ = 0, terminating_now_ = 0;  // once this is performed
  std::int64_t succeeded_ = 0, failed_ = 0;
  Indexes before_, completed_, lost_;
  std::map<std::int64_t, const Object*> delayed_;
  std::optional<Condition> end_;
  std::optional<client::EventNote> told_;
  Plan plan_, pod_writes_;
};

// A pod that no Job counts any more must not be kept by its finalizer. Such pods have keys of their
// own; no object has a name like that.
constexpr std::string_view kPodKey = "pod:";

const Object* job_of(const View& view, const Object& pod, const kube::OwnerRef& owner) {
  const Object* job = view.get(kJob, {std::string(pod.ns()), owner.name});
  return job != nullptr && job->uid() == owner.uid ? job : nullptr;
}

// Does nobody count it, as far as can be seen?
bool looks_left_behind(const View& view, const Object& pod) {
  if (!job_tracked(pod)) return false;
  const auto owner = pod.controller();
  if (!owner) return true;
  if (owner->kind != "Job" || owner->api_version != "batch/v1") return false;
  const Object* job = job_of(view, pod, *owner);
  return job == nullptr || (job_finished(*job) && !managed_elsewhere(*job));
}

void wake_left_behind(const View& view, const Object& pod, std::vector<Key>& wake) {
  if (looks_left_behind(view, pod))
    wake.push_back({std::string(pod.ns()), std::string(kPodKey) + std::string(pod.name())});
}

Plan release(const View& view, const Key& key, WallTime now) {
  const Object* pod = view.get(kPod, {key.ns, key.name.substr(kPodKey.size())});
  if (pod == nullptr || !looks_left_behind(view, *pod)) return Plan::done();
  const auto owner = pod->controller();
  if (owner && job_of(view, *pod, *owner) == nullptr) {
    // Perhaps its Job is only too new to be seen.
    const Answer* live = view.answer("live job");
    if (live == nullptr) {
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = kJob;
      get.ns = pod->ns();
      get.name = owner->name;
      return Plan().ask("live job", std::move(get));
    }
    const bool gone = live->error ? live->error->reason == Reason::kNotFound
                                  : live->objects.empty() || live->objects[0].uid() != owner->uid;
    if (!gone) return live->error ? Plan().again_at(now + 1s) : Plan::done();
  }
  return Plan().patch(*pod, untrack_patch(), Pin::kRevision, kube::PatchType::kStrategic);
}

class Job final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("job-controller");
    spec.reconciles(kJob).watches(kPod, owner_or_selector(kJob), kBatch);
    spec.watches(kPod, [](const View& view, const Change& change, std::vector<Key>& wake) {
      if (change.after != nullptr) wake_left_behind(view, *change.after, wake);
    });
    spec.watches(kJob, [](const View& view, const Change& change, std::vector<Key>& wake) {
      if (change.after != nullptr && !job_finished(*change.after)) return;
      const Object& job = change.after != nullptr ? *change.after : *change.before;
      for (const Object* pod : view.by_index(kPod, kByController, job.uid()))
        wake_left_behind(view, *pod, wake);
    });
    index_owned(spec, kPod);
    spec.creates(kPod).patches(kPod).erases(kPod).patches_status(kJob).tells();
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key.name.starts_with(kPodKey)) return release(view, key, now);
    const Object* job = view.get(kJob, key);
    if (job == nullptr || managed_elsewhere(*job) || job_finished(*job)) return Plan::done();
    const json::Slice mode = job->member("spec")["completionMode"];
    if (mode.is_string() && !mode.equals("NonIndexed") && !mode.equals("Indexed"))
      return Plan().event(*job, {EventType::kWarning, "UnknownCompletionMode", "Sync",
                                 "Skipped Job sync because completion mode is unknown"});
    return with_selector(*job, [&](LabelSelector selector) {
      return Run(view, *job, std::move(selector), now).plan();
    });
  }
};

}  // namespace

std::unique_ptr<Controller> make_job() { return std::make_unique<Job>(); }

}  // namespace berth::controllers
