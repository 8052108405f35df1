// SPDX-License-Identifier: Apache-2.0
// The writes of a run and their order are those of the design: the run's number before the
// application, the history after all of it is gone. Whoever is killed between two of them finds the
// rest to do.
#include "controllers/batchjob/batchjob_run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/batchjob/application.h"
#include "controllers/batchjob/batchjob_table.h"
#include "controllers/batchjob/history.h"
#include "controllers/job_tracking.h"
#include "controllers/pods.h"
#include "controllers/slot_sight.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/batch_job_view.h"
#include "kube/ours/reasons.h"
#include "kube/ours/testbed_view.h"
#include "kube/time.h"
#include "policy/slots/facts.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using json::Writer;
using kube::BatchJobView;
namespace reason = kube::reason;

constexpr Duration kPinPatience = 5s;  // caches of different kinds are not in step
constexpr Duration kUnknownPatience = 1s;
constexpr Duration kLostPatience = 10s;
constexpr Duration kUnservedPatience = 10s;  // a kind that is not served may be about to be again
constexpr std::string_view kResetAnnotation = "berth.dev/reset";

// One run for one BatchJob.
class BatchJobRun {
 public:
  BatchJobRun(const View& view, const BatchJobOptions& options, const Object& job, WallTime now)
      : view_(view),
        options_(options),
        object_(job),
        job_(job),
        now_(now),
        state_(job_state(job_.state()).value_or(JobState::kReady)),
        status_(job.status()),
        conditions_(status_["conditions"]),
        claim_(job.deleting() ? std::nullopt : job_.claim()),
        order_(job_.order()) {
    run_ = job_.open()                 ? job_.run()
           : order_ && order_->run > 0 ? order_->run
                                       : slots::next_run(job_);
    grant_ = slots::grant_id(job.uid(), run_);
    find_kind();
    find_parts();
  }

  Plan plan() {
    if (finish_deletion() || begin_holding() || number_order()) return std::move(plan_);
    remove_late();
    // Of a run that was closed by somebody who got no further.
    if (order_ && order_->run > 0 && order_->run <= job_.closed_run()) clear_order(order_->run);
    for (int steps = 0; steps < 4; ++steps) {
      const JobInput input = look();
      const JobRow* row = job_row(state_, input);
      if (row == nullptr) break;  // a table that is complete never says so
      const bool moves = row->next != state_;
      act(row->action);
      if (moves) enter(row->next);
      if (!moves || row->action != JobAction::kNone) break;
    }
    resize();
    drop_pins();
    write();
    for (Action& action : after_) plan_.add(std::move(action));
    return std::move(plan_);
  }

 private:
  // What there is.
  void find_kind() {
    Slice spec = job_.spec();
    if (const Slice other = spec["template"]; other.is_object()) {
      const Object* found = view_.get(options_.kinds->batch_job, kube::key_in(other, object_.ns()));
      spec = found == nullptr ? Slice() : found->member("spec");
    }
    // A run ends as what it began as, whatever the spec says by then.
    const std::string begun = job_.open() ? status_["jobKind"].text() : "";
    const Slice application = spec["application"];
    for (const JobKind& kind : options_.job_kinds) {
      const bool named = application.is_object() && application["kind"].equals(kind.name);
      if (begun.empty() ? !named && !spec[kind.from].is_object() : kind.name != begun) continue;
      kind_ = &kind;
      part_ = named ? application["spec"] : spec[kind.from];
      application_kind_ = application_kind(kind);
      return;
    }
  }
  void find_parts() {
    if (kind_ != nullptr) {
      application_unknown_ = !knows_applications();
      application_ = view_.get(application_kind_, object_.key());
      const auto owner = application_ == nullptr ? std::nullopt : application_->controller();
      if (application_ != nullptr && (!owner || owner->uid != object_.uid()))
        in_the_way_ = std::exchange(application_, nullptr);
    }
    for (const Object* pod : view_.by_index(kube::kPod, kByGrant, grant_)) {
      if (pod_ended(*pod)) continue;
      executors_.push_back({pod, pod->member("spec")["nodeName"].text(), slot_of(*pod)});
    }
    if (!order_) return;
    testbed_ = view_.get(options_.kinds->testbed, order_->testbed);
    const Object* object = view_.get(options_.kinds->ledger, order_->testbed);
    if (object == nullptr) return;
    auto ledger = slots::Ledger::parse(*object);
    if (ledger) ledger_ = std::move(*ledger);
  }
  // By the binding of our scheduler, or by the promise that a stock one was told of.
  std::optional<int> slot_of(const Object& pod) const {
    if (const auto fact = slots::pod_fact(pod); fact && fact->slot) return fact->slot;
    for (const kube::Pin& pin : job_.pins())
      if (pin.pod_uid == pod.uid()) return pin.slot;
    return std::nullopt;
  }
  // Who has just started does not know yet which applications there are; to take that for "there is
  // none" would end runs that go well. A kind that the server has no more has no applications.
  bool knows_applications() {
    if (view_.seen(application_kind_) > 0) return true;
    const bool discovered = view_.served("v1", "Pod").has_value();
    if (!discovered || view_.served(kind_->api_version, kind_->kind)) {
      plan_.again_at(now_ + kUnknownPatience);
      return false;
    }
    const auto since = kube::parse_time(view_.remembered()).value_or(now_);
    plan_.remember(kube::time_text(since));
    if (now_ >= since + kUnservedPatience) return true;
    plan_.again_at(since + kUnservedPatience);
    return false;
  }
  const slots::Grant* grant() const { return ledger_ ? ledger_->find(grant_) : nullptr; }
  std::size_t wanted() const { return order_ ? order_->slots.size() : status_["slotIds"].size(); }
  bool of_this_attempt(const Object& application) const {
    return application.annotation(kRunAnnotation) == std::to_string(run_) &&
           application.annotation(kAttemptAnnotation) == std::to_string(attempt());
  }
  std::int64_t attempt() const { return status_["attempt"].integer().value_or(0); }

  // What that means in the present state.
  JobInput look() {
    using I = JobInput;
    switch (state_) {
      case JobState::kReady:
      case JobState::kInQueue:
      case JobState::kCompleted:
      case JobState::kFailed:
        if (!claim_) return I::kReleased;
        if (wants_reset()) return I::kReset;
        return may_open() ? I::kOrdered : I::kClaimed;
      case JobState::kSubmitted:
      case JobState::kScheduled:
      case JobState::kRunning:
        return claim_ ? look_at_application() : I::kReleased;
      case JobState::kRetrying:
        if (!claim_) return I::kReleased;
        if (something_left()) return I::kLeft;
        if (const auto at = kube::parse_time(status_["retryTime"].text()); at && now_ < *at) {
          plan_.again_at(*at);
          return I::kWaiting;
        }
        // Others take the place of slots that were lost, or their node returns.
        if (!lost_node().empty()) {
          plan_.again_at(now_ + kLostPatience);
          return I::kWaiting;
        }
        return I::kGone;
      case JobState::kCompleting:
      case JobState::kFailing:
      case JobState::kPendingDeletion:
        return something_left() ? I::kLeft : I::kGone;
    }
    return I::kReleased;
  }

  bool wants_reset() const {
    const std::string asked = object_.annotation(kResetAnnotation);
    const bool over = state_ == JobState::kCompleted || state_ == JobState::kFailed;
    return over && !asked.empty() && asked != status_["resetSeen"].text();
  }

  bool may_open() {
    if (!order_ || order_->run <= job_.closed_run()) return false;
    if (kind_ == nullptr) {
      not_ready(reason::kKindUnknown, job_.spec()["template"].is_object()
                                          ? "the BatchJob that spec.template names is not there"
                                          : "no job kind is known for what spec says");
      plan_.again_at(now_ + kUnservedPatience);
      return false;
    }
    if (testbed_ == nullptr || grant() == nullptr) {
      not_ready(reason::kWaitingForSlots,
                fmt::format("slots {} of Testbed {} are not granted yet",
                            fmt::join(order_->slots, ", "), order_->testbed.text()));
      return false;
    }
    if (view_.seen(application_kind_) == 0) {
      plan_.again_at(now_ + kUnservedPatience);
      if (!application_unknown_)
        not_ready(reason::kKindUnknown,
                  fmt::format("the server has no {} of {}", kind_->kind, kind_->api_version));
      return false;
    }
    if (in_the_way_ != nullptr) {
      not_ready(reason::kSubmissionFailed, what_is_in_the_way());
      return false;
    }
    return application_ == nullptr;  // of a run before this
  }
  // What is not ours is nothing to us but the name that it has.
  std::string what_is_in_the_way() {
    plan_.again_at(now_ + kUnservedPatience);
    return fmt::format(
        "{} {} is there already and is not of this BatchJob: delete it, or give the "
        "BatchJob another name",
        kind_->kind, object_.key().text());
  }

  JobInput look_at_application() {
    using I = JobInput;
    if (application_unknown_) return I::kPending;
    const bool seen = !status_["submittedTime"].text().empty();
    if (application_ == nullptr || !of_this_attempt(*application_)) {
      if (!seen) return I::kNotSubmitted;
      return failed_with(reason::kApplicationFailed,
                         "the application was deleted by somebody else");
    }
    if (!seen) status_.text("submittedTime", kube::time_text(now_));
    if (must_restart()) return I::kFailed;
    if (const std::string node = lost_node(); !node.empty() && attempts_left()) {
      degraded(reason::kExecutorLost, fmt::format("node {} is gone", node));
      return I::kFailed;
    }
    const ApplicationReport report =
        report_of(*kind_, Slice(application_->json()), seen_executors());
    switch (report.state) {
      case ApplicationState::kCompleted:
        return I::kEnded;
      case ApplicationState::kFailed:
        return failed_with(reason::kApplicationFailed, report.message);
      case ApplicationState::kSubmissionFailed:
        return failed_with(reason::kSubmissionFailed, report.message);
      case ApplicationState::kRunning:
        return I::kRunning;
      default:
        break;
    }
    if (application_->deleting())
      return failed_with(reason::kApplicationFailed,
                         "the application was deleted by somebody else");
    const auto bound = static_cast<std::size_t>(
        std::count_if(executors_.begin(), executors_.end(),
                      [](const ExecutorPod& one) { return !one.node.empty(); }));
    return bound >= wanted() && wanted() > 0 ? I::kBound : I::kPending;
  }

  JobInput failed_with(std::string_view why, const std::string& message) {
    const bool again = attempts_left();
    degraded(again || backoff_limit() == 0 ? why : reason::kRetriesExhausted, message);
    return again ? JobInput::kFailed : JobInput::kExhausted;
  }
  std::int64_t backoff_limit() const {
    return job_.spec()["retryPolicy"]["backoffLimit"].integer().value_or(0);
  }
  bool attempts_left() const { return attempt() <= backoff_limit(); }

  // The first node of its slots that does not exist any more; "" where all do.
  std::string lost_node() const {
    if (!order_ || !ledger_ || order_->run != run_) return "";
    for (const slots::Cell& cell : slots::cells_of(ledger_->blocks, {}))
      if (order_->slots.count(cell.slot) > 0 &&
          view_.get(kube::kNode, {"", std::string(cell.node)}) == nullptr)
        return std::string(cell.node);
    return "";
  }
  // Other slots for one whose kind cannot change its size, or on nodes that its executors are kept
  // from: anew, where its user wants that.
  bool must_restart() {
    const bool runs = state_ == JobState::kScheduled || state_ == JobState::kRunning;
    if (!runs || !order_ || order_->run != run_ || !job_.spec()["elastic"]["restart"].boolean())
      return false;
    restarts_ = kind_->elastic == Elastic::kRestart
                    ? kube::numbers_in(status_["slotIds"]) != order_->slots
                    : !out_of_reach().empty();
    return restarts_;
  }
  // A value of the Testbed's label that nodes of its slots have and its executors may not go to: to
  // which they may was settled when it was submitted. "" where there is none.
  std::string out_of_reach() const {
    if (application_ == nullptr || !order_ || order_->run != run_) return "";
    const ApplicationOrder order = application_order();
    const auto kept = kept_to(Slice(application_->json()), order.node_label);
    if (!kept) return "";
    for (const std::string& value : order.node_values)
      if (std::find(kept->begin(), kept->end(), value) == kept->end()) return value;
    return "";
  }

  ExecutorsSeen seen_executors() const {
    ExecutorsSeen seen{.wanted = wanted(), .live = executors_.size()};
    for (const ExecutorPod& one : executors_)
      seen.running += one.pod->status()["phase"].equals("Running") ? 1 : 0;
    return seen;
  }
  bool something_left() const {
    return application_unknown_ || application_ != nullptr || !executors_.empty();
  }

  // What is done about it.
  void act(JobAction action) {
    switch (action) {
      case JobAction::kNone:
        return;
      case JobAction::kOpenRun:
        status_.number("run", run_);
        status_.number("attempt", 1);
        status_.text("jobKind", kind_->name);
        for (const char* old : {"startTime", "stopTime", "submittedTime", "retryTime"})
          status_.text(old, "");
        status_.raw("pods", "");
        note_order();
        conditions_.remove("Degraded");
        return create();
      case JobAction::kCreate:
        return create();
      case JobAction::kStart:
        status_.text("startTime", kube::time_text(now_));
        status_.raw("pods", "");
        return note_pods();
      case JobAction::kEnd:
        status_.text("stopTime", kube::time_text(now_));
        note_pods();
        return remove();
      case JobAction::kRemove:
        if (status_["stopTime"].text().empty()) status_.text("stopTime", kube::time_text(now_));
        return remove();
      case JobAction::kNextAttempt:
        status_.number("attempt", attempt() + 1);
        if (order_) note_order();
        for (const char* old : {"startTime", "stopTime", "submittedTime", "retryTime"})
          status_.text(old, "");
        return create();
      case JobAction::kCloseRun:
        return close();
    }
  }

  void create() {
    if (in_the_way_ != nullptr) return degraded(reason::kSubmissionFailed, what_is_in_the_way());
    auto json = application_json(*kind_, part_, application_order());
    if (!json) {
      degraded(reason::kSubmissionFailed, json.error().message);
      return;
    }
    if (const FailedAction* failed = view_.failed();
        failed != nullptr && std::holds_alternative<CreateAction>(failed->action))
      degraded(reason::kSubmissionFailed, failed->error.message);
    after_.push_back(CreateAction{{application_kind_, object_.key()}, std::move(*json)});
  }

  void remove() {
    if (application_unknown_) return;
    if (application_ != nullptr && !application_->deleting())
      after_.push_back(
          EraseAction{target_of(*application_), kube::Propagation::kBackground, {}, Pin::kUid});
    // Without an application nobody else takes its executors away.
    if (application_ == nullptr)
      for (const ExecutorPod& one : executors_)
        if (!one.pod->deleting())
          after_.push_back(
              EraseAction{target_of(*one.pod), kube::Propagation::kBackground, {}, Pin::kUid});
  }

  // One that was sent by a writer who had slept, when others had closed its run or attempt.
  void remove_late() {
    if (application_ == nullptr || application_->deleting() ||
        !came_late(*application_, job_.closed_run(), run_, attempt()))
      return;
    after_.push_back(
        EraseAction{target_of(*application_), kube::Propagation::kBackground, {}, Pin::kUid});
  }

  void close() {
    const std::string told =
        run_json(status_, run_, attempt(), state_ == JobState::kCompleting, grant());
    status_.raw("scheduledEvents", with_run(status_["scheduledEvents"], run_, told));
    status_.number("closedRun", run_);
    status_.raw("pins", "");
    clear_order(run_);
  }

  // Only the order of this run: the next one may have been written meanwhile.
  void clear_order(std::int64_t run) {
    if (!order_ || order_->run != run) return;
    after_.push_back(PatchAction{
        .target = target_of(object_),
        .patch = fmt::format(
            R"([{{"op":"test","path":"/spec/creationRequest/run","value":{}}},{{"op":"remove","path":"/spec/creationRequest"}}])",
            run),
        .type = kube::PatchType::kJson,
        .pin = Pin::kUid});
  }

  ApplicationOrder application_order() const {
    ApplicationOrder order;
    order.ns = object_.ns();
    order.name = object_.name();
    order.owner = controller_ref(object_);
    order.slots = static_cast<std::int64_t>(wanted());
    order.most_slots = job_.spec()["elastic"]["maxSlots"].integer().value_or(0);
    order.scheduler = options_.executors.scheduler;
    order.priority_class = kube::kExecutorClass;
    order.labels = {{std::string(kube::kGrantLabel), grant_}};
    order.annotations = {{std::string(kRunAnnotation), std::to_string(run_)},
                         {std::string(kAttemptAnnotation), std::to_string(attempt())}};
    if (!order_ || testbed_ == nullptr) return order;
    order.labels.emplace(kube::kTestbedLabel, order_->testbed.name);
    order.annotations.emplace(slots::kTestbedAnnotation, order_->testbed.text());
    const kube::TestbedView testbed(*testbed_);
    for (const kube::SlotClass& each : testbed.classes())
      if (each.name == job_.slot_class())
        for (const auto& [name, amount] : each.size) order.slot_size.emplace(name, amount);
    if (options_.executors.slot_resource)
      order.slot_size.emplace(kube::kSlotResource, kube::Quantity::of(1));
    order.node_label = testbed.node_label();
    std::set<std::string> values;
    if (ledger_)
      for (const slots::Cell& cell : slots::cells_of(ledger_->blocks, {}))
        if (order_->slots.count(cell.slot) > 0)
          if (const Object* node = view_.get(kube::kNode, {"", std::string(cell.node)}))
            values.insert(node->label(order.node_label));
    order.node_values.assign(values.begin(), values.end());
    return order;
  }

  // Slots that came or went while it runs.
  void resize() {
    const bool runs = state_ == JobState::kScheduled || state_ == JobState::kRunning;
    if (!runs || application_ == nullptr || !order_ || order_->run != run_) return;
    if (kind_ != nullptr && kind_->elastic == Elastic::kRestart) return;
    const std::set<int> had = kube::numbers_in(status_["slotIds"]);
    if (had == order_->slots) return;
    note_order();
    // Before the status, which says that it was done. Executors first: whoever makes them puts
    // another in the place of one that goes, and when there are too many ends the one that waits.
    for (const ExecutorPod& one : executors_)
      if (one.slot && order_->slots.count(*one.slot) == 0 && !one.pod->deleting()) {
        // k8s 1.36: to its Job a pod that somebody deletes has failed; this is how a Job itself
        // takes one away.
        if (job_tracked(*one.pod))
          plan_.patch(*one.pod, untrack_patch(), Pin::kUid, kube::PatchType::kStrategic);
        plan_.add(EraseAction{target_of(*one.pod), kube::Propagation::kBackground, {}, Pin::kUid});
      }
    if (auto patch = resize_patch(*kind_, Slice(application_->json()), application_order()))
      plan_.add(PatchAction{
          .target = target_of(*application_), .patch = std::move(*patch), .pin = Pin::kUid});
    event("Resized", fmt::format("now has slots {}", fmt::join(order_->slots, ", ")));
  }

  // A slot that was promised to a pod which is no more is free for another.
  void drop_pins() {
    Writer w;
    w.array();
    bool dropped = false, kept = false;
    for (const Slice pin : status_["pins"].elements()) {
      const bool live =
          std::any_of(executors_.begin(), executors_.end(),
                      [&](const ExecutorPod& one) { return pin["podUid"].equals(one.pod->uid()); });
      const auto since = kube::parse_time(pin["since"].text()).value_or(now_);
      if (!live && now_ >= since + kPinPatience) {
        dropped = true;
        continue;
      }
      if (!live) plan_.again_at(since + kPinPatience);
      w.raw(pin.raw());
      kept = true;
    }
    w.end();
    if (dropped) status_.raw("pins", kept ? w.take() : "");
  }

  // Before anything is begun: without the finalizer a deleted job would leave its run open.
  bool begin_holding() {
    if (!claim_ || has_finalizer(object_, kube::kBatchJobFinalizer)) return false;
    plan_.patch(object_, finalizer_patch(object_, kube::kBatchJobFinalizer, true));
    return true;
  }
  bool finish_deletion() {
    if (!object_.deleting()) return false;
    if (!has_finalizer(object_, kube::kBatchJobFinalizer)) return true;
    if (job_.open()) return false;
    plan_.patch(object_, finalizer_patch(object_, kube::kBatchJobFinalizer, false));
    return true;
  }
  // An order given by hand gets its run's number, so that it is known when it is done.
  bool number_order() {
    if (!order_ || order_->run > 0 || !claim_ || grant() == nullptr) return false;
    plan_.patch(object_, fmt::format(R"({{"spec":{{"creationRequest":{{"run":{}}}}}}})", run_));
    return true;
  }

  // What is told.
  void note_order() {
    status_.text("slots", order_->testbed.name);
    status_.raw("slotIds", fmt::format("[{}]", fmt::join(order_->slots, ",")));
    status_.number("replication", static_cast<std::int64_t>(order_->slots.size()));
  }
  void note_pods() {
    if (!executors_.empty()) status_.raw("pods", pods_json(status_["pods"], executors_));
  }
  void enter(JobState next) {
    if (next != state_)
      event(name_of(next), fmt::format("run {}, attempt {}: {} after {}", run_, attempt(),
                                       name_of(next), name_of(state_)));
    if (state_ == JobState::kCompleted || state_ == JobState::kFailed)
      status_.text("resetSeen", object_.annotation(kResetAnnotation));
    if (next == JobState::kRetrying) {
      const auto pause = std::chrono::seconds(
          restarts_ ? 0 : job_.spec()["retryPolicy"]["backoffSeconds"].integer().value_or(10));
      status_.text("retryTime", kube::time_text(now_ + pause));
    }
    state_ = next;
  }
  void event(std::string_view why, std::string note) {
    after_.push_back(
        EventAction{client::ref_of(object_),
                    {.reason = std::string(why), .action = "Reconcile", .note = std::move(note)}});
  }
  void degraded(std::string_view why, const std::string& message) {
    condition("Degraded", true, why, message);
  }
  void not_ready(std::string_view why, std::string message) {
    why_not_ready_ = why;
    message_ = std::move(message);
  }
  void condition(std::string_view type, bool holds, std::string_view why,
                 const std::string& message) {
    const Condition* before = conditions_.find(type);
    const std::string status = holds ? "True" : "False";
    conditions_.put_in_place({.type = std::string(type),
                              .status = status,
                              .reason = std::string(why),
                              .message = message,
                              .last_transition = before != nullptr && before->status == status
                                                     ? before->last_transition
                                                     : kube::time_text(now_),
                              .observed_generation = object_.generation()});
  }

  void write() {
    // A job that nobody ever asked anything of is left alone.
    if (state_ == JobState::kReady && !claim_ && !object_.status()) return;
    const bool runs = state_ >= JobState::kSubmitted && state_ <= JobState::kRunning;
    if (state_ == JobState::kRunning && executors_.size() < wanted())
      degraded(reason::kExecutorLost,
               fmt::format("{} of {} executors are there", executors_.size(), wanted()));
    else if (const std::string value = runs ? out_of_reach() : ""; !value.empty())
      degraded(reason::kExecutorLost,
               fmt::format("a slot is on the node with value {} of the Testbed's label, where its "
                           "application was not made for: say how far it may grow in "
                           "spec.elastic.maxSlots, or allow spec.elastic.restart",
                           value));
    else if (const Condition* now = conditions_.find("Degraded");
             now != nullptr && now->reason == reason::kExecutorLost &&
             state_ != JobState::kRetrying)
      conditions_.remove("Degraded");
    condition("Ready", why_not_ready_.empty(),
              why_not_ready_.empty() ? name_of(state_) : why_not_ready_, message_);
    condition("Claimed", claim_.has_value(), claim_ ? "Claimed" : "Free",
              claim_ ? "by " + claim_->scheduling.text() : "");
    condition("Complete", state_ == JobState::kCompleted, name_of(state_), "");
    status_.text("state", name_of(state_));
    status_.number("observedGeneration", object_.generation());
    Writer claim;
    if (claim_) {
      claim.object()
          .member("name")
          .string(claim_->scheduling.name)
          .member("namespace")
          .string(claim_->scheduling.ns);
      if (!claim_->uid.empty()) claim.member("uid").string(claim_->uid);
      claim.end();
    }
    status_.raw("activeScheduling", claim_ ? claim.take() : "");
    if (!runs && state_ == JobState::kReady) {
      status_.raw("slotIds", "");
      status_.text("slots", "");
      status_.raw("replication", "");
    }
    status_.raw("conditions", conditions_.json());
    plan_.set_status(object_, status_.json());
  }

  const View& view_;
  const BatchJobOptions& options_;
  const Object& object_;
  BatchJobView job_;
  WallTime now_;
  JobState state_;
  StatusDraft status_;
  Conditions conditions_;
  std::optional<BatchJobView::Claim> claim_;
  std::optional<BatchJobView::Order> order_;
  std::int64_t run_ = 0;
  slots::GrantId grant_;
  const JobKind* kind_ = nullptr;
  Slice part_;
  KindId application_kind_{};
  const Object* application_ = nullptr;
  const Object* in_the_way_ = nullptr;  // has its name, and another owner or none
  bool application_unknown_ = false;
  const Object* testbed_ = nullptr;
  std::optional<slots::Ledger> ledger_;
  std::vector<ExecutorPod> executors_;
  bool restarts_ = false;
  std::string_view why_not_ready_;
  std::string message_;
  Plan plan_;
  std::vector<Action> after_;  // what follows the status
};

}  // namespace

Plan plan_batch_job(const View& view, const BatchJobOptions& options, const Object& job,
                    WallTime now) {
  return BatchJobRun(view, options, job, now).plan();
}

}  // namespace berth::controllers
