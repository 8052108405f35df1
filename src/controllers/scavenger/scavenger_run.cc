// SPDX-License-Identifier: Apache-2.0
// The order of writes is the whole trick: the number of an attempt before its Job, the verdict
// before the evidence goes, and that in one patch with the count, so whoever is killed in between
// finds the rest to do and nothing to do twice.
#include "controllers/scavenger/scavenger_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/attempt_end.h"
#include "controllers/scavenger/checkpoints.h"
#include "controllers/scavenger/cost_writes.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/scavenger/mpi_builder.h"
#include "controllers/scavenger/reclaim.h"
#include "controllers/scavenger/references.h"
#include "controllers/scavenger/scavenger_table.h"
#include "controllers/scavenger/sight.h"
#include "controllers/scavenger/snapshots.h"
#include "controllers/scavenger/start_trouble.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scavenger_policy_view.h"
#include "kube/time.h"
#include "policy/scavenge/cost.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using kube::ScavengerJobView;
using scavenge::Verdict;
using State = ScavengerState;
using Input = ScavengerInput;
namespace reason = kube::reason;

constexpr Duration kReferencePatience = 5s;  // what is applied together comes in any order
constexpr Duration kUnservedPatience = 10s;
constexpr Duration kServerPatience = 1s;
constexpr Duration kReportsApart = 10s;

class ScavengerRun {
 public:
  ScavengerRun(const View& view, const ScavengerOptions& options, const Object& object,
               WallTime now)
      : view_(view),
        options_(options),
        object_(object),
        job_(object),
        now_(now),
        policy_(kube::read_scavenger_policy(
            view.get(options.kinds->policy, {"", std::string(kube::kScavengerPolicyName)}))),
        members_(held_members(job_)),
        sight_(view, job_, members_ ? members_->pods() : 0, now),
        status_(object.status()),
        conditions_(status_["conditions"]),
        notes_(CostWrites::parse(view.remembered())),
        state_(state()) {}

  Plan plan() {
    tell_snapshots();
    for (int steps = 0; steps < 3; ++steps) {
      const Input input = look();
      const ScavengerRow* row = scavenger_row(state_, input);
      if (row == nullptr) break;  // a table that is complete never says so
      act(row->action);
      const bool moves = row->next != state_;
      state_ = row->next;
      if (!moves || row->action != ScavengerAction::kNone) break;
    }
    if (write_) {
      status_.raw("conditions", conditions_.json());
      Plan status;
      status.set_status(object_, status_.json());
      const bool late = options_.fault == ScavengerFault::kVerdictAfterEvidence;
      auto& writes = status.actions();
      if (late)
        std::move(writes.begin(), writes.end(), std::back_inserter(after_));
      else
        for (Action& action : writes) plan_.add(std::move(action));
    }
    for (Action& action : after_) plan_.add(std::move(action));
    plan_.remember(notes_.text());
    return std::move(plan_);
  }

 private:
  State state() const {
    const std::string phase = job_.phase();
    if (phase == kube::kScavengerCompleted) return State::kCompleted;
    if (phase == kube::kScavengerFailed) return State::kFailed;
    if (job_.open()) {
      if (phase != kube::kScavengerRunning) return State::kStarting;
      return status_["reclaim"].is_object() ? State::kReclaiming : State::kRunning;
    }
    if (status_["waitingSince"].present()) return State::kWaiting;
    return job_.attempt() == 0 ? State::kNew : State::kClosing;
  }

  // What is seen.
  Input look() {
    if (object_.deleting()) return Input::kDeleted;
    switch (state_) {
      case State::kNew:
        return look_at_references();
      case State::kWaiting:
        return sight_.old_jobs().empty() && !reclaim_asked() ? Input::kQuiet : Input::kLeft;
      case State::kStarting:
      case State::kRunning:
      case State::kReclaiming:
        return look_at_attempt();
      case State::kClosing:
        return look_at_rest();
      case State::kCompleted:
      case State::kFailed:
        return std::any_of(sight_.old_pods().begin(), sight_.old_pods().end(),
                           [&](const Object* pod) {
                             return holds_accounting(*pod) && sight_.over(*pod);
                           }) ||
                       job_to_remove() != nullptr
                   ? Input::kLeft
                   : Input::kQuiet;
    }
    return Input::kQuiet;
  }

  bool reclaim_asked() const { return !object_.annotation(kube::kReclaimAnnotation).empty(); }

  Input look_at_references() {
    if (!members_) {
      missing_ = members_.error().message;
      missing_reason_ = reason::kInvalidJob;
      return Input::kMissing;
    }
    const ReferenceCheck check = check_references(view_, job_, plan_, now_);
    if (!check.known) return Input::kUnchecked;
    if (check.missing.empty()) return Input::kReady;
    const WallTime due = object_.created().value_or(now_) + kReferencePatience;
    if (now_ < due) {
      plan_.again_at(due);
      return Input::kUnchecked;
    }
    missing_ = check.missing;
    missing_reason_ = reason::kMissingReference;
    return Input::kMissing;
  }

  Input look_at_rest() {
    const bool known = sight_.knows_nodes();
    const auto& pods = sight_.old_pods();
    const bool left = !sight_.old_jobs().empty() || reclaim_asked() ||
                      std::any_of(pods.begin(), pods.end(), [&](const Object* pod) {
                        return !sight_.over(*pod) || holds_accounting(*pod);
                      });
    // Caches of different kinds are not in step: a pod may be there that was not seen yet.
    const std::optional<bool> alive = sight_.alive_for_sure();
    if (!known || (!left && !alive)) {
      sight_.ask(plan_);
      (void)look_at_references();  // asks, too
      return left ? Input::kLeft : Input::kUnchecked;
    }
    if (left) return Input::kLeft;
    const Input references = look_at_references();
    if (*alive) {
      plan_.again_at(now_ + kServerPatience);
      return Input::kUnchecked;
    }
    return references;
  }

  Input look_at_attempt() {
    const AttemptSight& seen = sight_.attempt();
    if (seen.job == nullptr && job_.job_uid().empty()) return look_before_job();
    if (!members_) members_ = Members{};  // the spec was changed under the run; it is judged still
    if (job_.job_uid().empty()) {
      status_.text("jobName", sight_.job_name()).text("jobUid", seen.job->uid());
      write_ = true;
    }
    if (const std::string launcher = sight_.launcher_uid();
        !launcher.empty() && !status_["launcherUid"].equals(launcher)) {
      status_.text("launcherUid", launcher);
      write_ = true;
    }
    notes_.refused = 0;
    if (!sight_.knows_nodes()) {
      sight_.ask(plan_);
      return Input::kUnchecked;
    }
    const scavenge::Judgement judged = scavenge::judge(evidence_of(job_, seen));
    if (judged.look_again) plan_.again_at(*judged.look_again);
    // Whoever ran is kept by the finalizer; one that is not there was taken away by force, and one
    // that began later stands in its place.
    const auto lacks = [&](const AttemptSight& sight) {
      if (state_ == State::kStarting) return false;
      const Begun now = begun(sight);
      const auto ran = last_time(status_["runningTimestamps"]);
      return now.members < members_->pods() ||
             (members_->together && ran && now.last && *now.last > *ran);
    };
    if (judged.verdict != Verdict::kNone || lacks(seen)) {
      const auto live = sight_.live();
      if (!live) {
        sight_.ask(plan_);
        return Input::kUnchecked;
      }
      if (live->failed) {
        plan_.again_at(now_ + kServerPatience);
        return Input::kUnchecked;
      }
      end_.emplace(job_, live->attempt, now_);
      switch (end_->judgement.verdict) {
        case Verdict::kCompleted:
          return Input::kDone;
        case Verdict::kFailed:
          return Input::kBroken;
        case Verdict::kNone:
          if (lacks(live->attempt)) {
            end_with(Verdict::kInterrupted, reason::kVanished, "a member of it vanished");
            return Input::kInterrupted;
          }
          end_.reset();
          break;
        default:
          return Input::kInterrupted;
      }
    }
    if (const int live = alive(seen); seen.members > 0 && live > seen.members) {
      end_with(
          Verdict::kFailed, reason::kInvalidJob,
          fmt::format("its {} was changed: {} pods run, and it was started with {}; change the "
                      "ScavengerJob instead",
                      kube::kind_of(sight_.job_kind()).kind, live, seen.members));
      return Input::kBroken;
    }
    return state_ == State::kStarting ? look_at_start() : look_at_run();
  }

  static int alive(const AttemptSight& seen) {
    return static_cast<int>(std::count_if(seen.pods.begin(), seen.pods.end(),
                                          [](const Object* pod) { return !pod_ended(*pod); }));
  }

  Input look_before_job() {
    if (sight_.stray_pods()) {
      // A Job of this attempt was made and taken away before anybody saw it.
      end_with(Verdict::kInterrupted, reason::kVanished,
               "the Job was taken away before it was seen");
      return Input::kInterrupted;
    }
    if (const auto now = members_of(job_); !now || !members_ || *now != *members_) {
      end_with(Verdict::kHung, reason::kHung,
               "its spec was changed between the decision and the start; it is decided again");
      return Input::kHung;
    }
    const bool taken = sight_.name_is_taken();
    if (taken) {
      if (notes_.refused == 0) notes_.refused = now_.unix_nanos;
      say(
          fmt::format("{} {} is there already and is not of this job; remove it, or it is tried "
                      "again under the next number",
                      kube::kind_of(sight_.job_kind()).kind, sight_.job_name()));
      plan_.again_at(now_ + kUnservedPatience);
    }
    if (const FailedAction* failed = view_.failed();
        failed != nullptr && std::holds_alternative<CreateAction>(failed->action) &&
        failed->error.reason != Reason::kAlreadyExists) {
      const bool wrong =
          failed->error.reason == Reason::kInvalid || failed->error.reason == Reason::kBadRequest;
      if (wrong) {
        end_with(Verdict::kFailed, reason::kInvalidJob, failed->error.message);
        return Input::kBroken;
      }
      if (notes_.refused == 0) notes_.refused = now_.unix_nanos;
      say(failed->error.message);
    }
    if (job_.has_mpi() && view_.seen(mpi_job_kind()) == 0) {
      if (notes_.refused == 0) notes_.refused = now_.unix_nanos;
      plan_.again_at(now_ + kUnservedPatience);
    }
    if (notes_.refused != 0 && WallTime{notes_.refused} + policy_.start_grace <= now_) {
      const std::string message = status_["message"].text();
      end_with(Verdict::kHung, reason::kHung,
               message.empty() ? "the server has no MPIJobs: Kubeflow's MPI operator is not there"
                               : message);
      notes_.refused = 0;
      return Input::kHung;
    }
    if (taken || (job_.has_mpi() && view_.seen(mpi_job_kind()) == 0)) return Input::kUnchecked;
    const Input references = look_at_references();
    if (references == Input::kMissing) end_with(Verdict::kFailed, missing_reason_, missing_);
    return references == Input::kReady ? Input::kNoJob : references;
  }

  Input look_at_start() {
    const AttemptSight& seen = sight_.attempt();
    if (reclaim_asked()) {
      end_with(Verdict::kInterrupted, reason::kReclaimed, "its room was needed before it ran");
      return Input::kReclaimDue;
    }
    const Begun begun_now = begun(seen);
    if (begun_now.members >= members_->pods()) {
      ran_since_ = std::min(begun_now.last.value_or(now_), now_);
      return Input::kAllRunning;
    }
    const auto trouble = start_trouble(view_, seen, policy_.start_grace, now_, plan_);
    if (!trouble) return Input::kQuiet;
    if (trouble->asked) return Input::kUnchecked;
    if (trouble->sure) say(trouble->why);
    const WallTime due = trouble->since + policy_.start_grace;
    if (now_ < due) {
      plan_.again_at(due);
      return Input::kQuiet;
    }
    end_with(Verdict::kHung, reason::kHung, trouble->why);
    return Input::kHung;
  }

  Input look_at_run() {
    const auto basis = read_cost(status_["cost"]);
    const auto report =
        basis ? latest_report(sight_.attempt().pods, basis->since, now_) : std::nullopt;
    if (const auto asked = reclaim_of(object_)) {
      if (state_ == State::kRunning)
        return now_ >= asked->deadline && asked->deadline != WallTime{} &&
                       !nobody_needs(view_, *asked)
                   ? give_way(*asked, "its notice is over")
                   : Input::kAsked;
      return look_at_reclaim(*asked, report);
    }
    if (state_ == State::kReclaiming) return Input::kWithdrawn;
    if (!basis) return Input::kStep;
    if (report && report->at - basis->since >= kReportsApart) {
      const bool much = report->at - basis->since >=
                        basis->window / static_cast<std::int64_t>(CostWrites::budget(*basis));
      const WallTime due = notes_.may_write(*basis, much);
      if (now_ >= due || !basis->reported) {
        report_ = report;
        return Input::kStep;
      }
      plan_.again_at(due);
    }
    const WallTime may_write = notes_.may_write(*basis, false);
    const bool stepped =
        status_["runningPriority"].integer() != scavenge::running_priority(*basis, now_) ||
        start_over_text(*basis) != status_["priorityStartOverTimestamp"].text();
    if (stepped && (now_ >= may_write || !basis->reported)) return Input::kStep;
    plan_.again_at(stepped ? may_write : scavenge::next_step(*basis, now_));
    return Input::kQuiet;
  }

  Input look_at_reclaim(const Reclaim& asked, const std::optional<CheckpointReport>& report) {
    const WallTime since = kube::parse_time(status_["reclaim"]["asked"].text()).value_or(now_);
    if (report && report->at > since) {
      report_ = report;
      if (!report_->took) report_->took = report->at - since;
      acked_ = true;
      return give_way(asked, "it has checkpointed");
    }
    if (nobody_needs(view_, asked)) {
      if (now_ >= since + kReclaimSettles) return Input::kWithdrawn;
      plan_.again_at(since + kReclaimSettles);
      return Input::kQuiet;
    }
    if (now_ >= asked.deadline) return give_way(asked, "its notice is over");
    plan_.again_at(asked.deadline);
    return Input::kQuiet;
  }
  Input give_way(const Reclaim& asked, std::string_view why) {
    end_with(Verdict::kInterrupted, reason::kReclaimed, fmt::format("{}; {}", asked.why(), why));
    return Input::kReclaimDue;
  }
  void end_with(Verdict verdict, std::string_view why, std::string message) {
    end_.emplace(job_, sight_.attempt(), now_);
    end_->judgement = {
        .verdict = verdict, .reason = std::string(why), .message = std::move(message)};
    end_->at = now_;
  }

  // What is done about it.
  void act(ScavengerAction action) {
    switch (action) {
      case ScavengerAction::kNone:
        return;
      case ScavengerAction::kEnqueue:
        return enqueue();
      case ScavengerAction::kCreate:
        return create();
      case ScavengerAction::kNoteStart:
        return note_start();
      case ScavengerAction::kWriteCost:
        return write_cost();
      case ScavengerAction::kAsk:
        return ask();
      case ScavengerAction::kWithdraw:
        return withdraw();
      case ScavengerAction::kClose:
        return close();
      case ScavengerAction::kRemove:
        return remove(job_.phase());
      case ScavengerAction::kRelease:
        return release_all();
      case ScavengerAction::kFail:
        return fail();
    }
  }

  void enqueue() {
    status_.text("waitingSince", kube::micro_time_text(now_));
    if (job_.attempt() == 0) {
      status_.text("phase", kube::kScavengerPending);
      condition("Admitted", false, reason::kTurn, "");
    }
    status_.number("observedGeneration", object_.generation());
    write_ = true;
  }

  void create() {
    AttemptOrder order;
    order.attempt = job_.attempt();
    const std::string decided = status_["decidedAt"].text();
    order.decided_at = decided;
    const std::string gateway = options_.gateway ? options_.gateway() : std::string();
    order.gateway = gateway;
    order.checkpoint_interval =
        kube::parse_duration(status_["checkpoint"]["advisedInterval"].text());
    if (!order.checkpoint_interval) order.checkpoint_interval = job_.checkpoint().interval;
    const auto most = job_.max_interruptions();
    order.starved = most && job_.interrupted_count() >= std::max<std::int64_t>(1, *most);
    order.grace_max = policy_.grace_max;
    order.scheduler_name = policy_.scheduler_name;
    for (const Slice one : status_["nodes"].elements()) order.node_names.push_back(one.text());
    for (const Slice one : status_["avoid"].elements()) order.avoid.push_back(one.text());
    after_.push_back(
        CreateAction{{sight_.job_kind(), {std::string(object_.ns()), sight_.job_name()}},
                     job_json(job_, policy_, order)});
  }

  void note_start() {
    add_running(status_, *ran_since_);
    status_.text("phase", kube::kScavengerRunning).text("message", "");
    const scavenge::CostBasis basis =
        basis_of(job_, policy_, *members_, *ran_since_, sight_.attempt().job);
    status_.raw("cost", cost_json(basis));
    status_.text("priorityStartOverTimestamp", "");
    show_priority(basis);
    condition("Running", true, reason::kRunning, "");
    condition("Complete", false, reason::kRunning, "");
    event(client::EventType::kNormal, reason::kRunning, "Start",
          fmt::format("attempt {} runs, {} of {} members", job_.attempt(), members_->pods(),
                      members_->pods()));
    wrote(basis);
  }

  void write_cost() {
    auto basis = read_cost(status_["cost"])
                     .value_or(basis_of(job_, policy_, *members_, now_, sight_.attempt().job));
    if (report_) take_report(status_, basis, *report_);
    status_.raw("cost", cost_json(basis));
    show_priority(basis);
    wrote(basis);
  }
  void wrote(const scavenge::CostBasis& basis) {
    notes_.wrote(basis, now_);
    plan_.again_at(scavenge::next_step(basis, now_));
    status_.number("observedGeneration", object_.generation());
    write_ = true;
  }
  static std::string time_or_nothing(const std::optional<WallTime>& at) {
    return at ? kube::micro_time_text(*at) : std::string();
  }
  std::string start_over_text(const scavenge::CostBasis& basis) const {
    return time_or_nothing(scavenge::start_over(basis, now_));
  }
  void show_priority(const scavenge::CostBasis& basis) {
    status_.number("runningPriority", scavenge::running_priority(basis, now_));
    status_.text("priorityStartOverTimestamp", start_over_text(basis));
  }

  void ask() {
    const auto asked = reclaim_of(object_);
    status_.raw("reclaim", reclaim_json(*asked, now_));
    condition("Running", true, reason::kReclaimRequested, asked->why());
    std::vector<Action> smaller;
    if (!asked->pod.name.empty()) smaller = shrink(job_, sight_.attempt().pods);
    if (!smaller.empty()) status_.number("resizes", status_["resizes"].integer().value_or(0) + 1);
    for (const Object* pod : sight_.attempt().pods)
      if (!pod_ended(*pod)) after_.push_back(annotate(*pod, asked->deadline));
    for (Action& action : smaller) after_.push_back(std::move(action));
    event(client::EventType::kNormal, reason::kReclaimRequested, "Reclaim",
          fmt::format("{}: asked for a checkpoint until {}", asked->why(),
                      kube::time_text(asked->deadline)));
    const auto basis = read_cost(status_["cost"]);
    if (policy_.snapshots && !(basis && basis->reported)) {
      status_.raw("snapshots", "");
      for (Action& action : ask_for_snapshots(sight_.attempt().pods, now_, asked->deadline))
        after_.push_back(std::move(action));  // last: they take long
    }
    plan_.again_at(std::min(asked->deadline, now_ + kReclaimSettles));
    write_ = true;
  }
  void tell_snapshots() {
    const std::string told = note_snapshots(view_, sight_.attempt().pods, status_);
    if (told.empty()) return;
    event(client::EventType::kNormal, reason::kSnapshot, "Reclaim", told);
    write_ = true;
  }
  void withdraw() {
    status_.raw("reclaim", "");
    condition("Running", true, reason::kRunning, "");
    for (const Object* pod : sight_.attempt().pods)
      if (!pod->annotation(kube::kCheckpointRequestedAnnotation).empty())
        after_.push_back(annotate(*pod, std::nullopt));
    if (reclaim_asked()) after_.push_back(forget_reclaim(object_));
    event(client::EventType::kNormal, reason::kRunning, "Reclaim",
          "nobody needs its room any more: it runs on");
    if (const auto basis = read_cost(status_["cost"]))
      plan_.again_at(scavenge::next_step(*basis, now_));
    write_ = true;
  }

  void close() {
    const bool never_ran = job_.phase() != kube::kScavengerRunning;
    const int times = options_.fault == ScavengerFault::kCountPerPod
                          ? std::max<int>(1, static_cast<int>(sight_.attempt().pods.size()))
                          : 1;
    if (report_ && acked_) end_->report = report_;
    close_attempt({.job = job_,
                   .policy = policy_,
                   .members = *members_,
                   .never_ran = never_ran,
                   .acked = acked_,
                   .times = times},
                  *end_, status_, conditions_, now_);
    write_ = true;
    notes_ = {};
    const scavenge::Judgement& how = end_->judgement;
    const bool well = how.verdict == Verdict::kCompleted;
    event(
        how.verdict == Verdict::kFailed ? client::EventType::kWarning : client::EventType::kNormal,
        how.reason.empty() ? reason::kCompleted : std::string_view(how.reason),
        well ? "Complete" : "Close",
        fmt::format("attempt {} {}{}{}", job_.attempt(), scavenge::text_of(how.verdict),
                    how.message.empty() ? "" : ": ", how.message));
    remove(status_["phase"].text());
  }

  // The Job of an attempt that is over and whose controller does not know it.
  const Object* job_to_remove() const {
    for (const Object* job : sight_.old_jobs()) {
      const scavenge::AttemptEvidence told =
          evidence_of(job_, AttemptSight{.job = job, .pods = {}, .lost_nodes = {}});
      if (!told.job.complete && !told.job.failing && !job->deleting()) return job;
    }
    return nullptr;
  }

  void remove(std::string_view phase) {
    const bool over = phase == kube::kScavengerCompleted || phase == kube::kScavengerFailed;
    // What is being closed is old from now on.
    std::vector<const Object*> jobs = sight_.old_jobs(), pods = sight_.old_pods();
    const bool closes = job_.open();
    if (closes) {
      if (sight_.attempt().job != nullptr) jobs.push_back(sight_.attempt().job);
      pods.insert(pods.end(), sight_.attempt().pods.begin(), sight_.attempt().pods.end());
    }
    bool kept = over;
    for (const Object* job : jobs) {
      const auto told =
          evidence_of(job_, AttemptSight{.job = job, .pods = {}, .lost_nodes = {}}).job;
      if (over && (told.complete || told.failing)) continue;  // people may want to read its logs
      kept = false;
      if (!job->deleting())
        after_.push_back(
            EraseAction{target_of(*job), kube::Propagation::kBackground, {}, Pin::kUid});
    }
    if (!kept)
      for (const Object* pod : pods)
        if (!pod_ended(*pod) && !pod->deleting())
          after_.push_back(
              EraseAction{target_of(*pod), kube::Propagation::kBackground, {}, Pin::kUid});
    for (const Object* pod : pods)
      if (sight_.over(*pod) && holds_accounting(*pod)) release(*pod);
    if (reclaim_asked() && !over) after_.push_back(forget_reclaim(object_));
  }
  void release_all() {
    for (const Object* pod : view_.by_index(kube::kPod, kByScavenger, object_.uid()))
      if (pod->ns() == object_.ns() && holds_accounting(*pod) &&
          (pod->deleting() || pod_ended(*pod)))
        release(*pod);
  }
  void release(const Object& pod) {
    after_.push_back(PatchAction{.target = target_of(pod),
                                 .patch = release_patch(),
                                 .type = kube::PatchType::kStrategic,
                                 .pin = Pin::kUid});
  }

  void fail() {
    status_.text("phase", kube::kScavengerFailed).text("message", missing_);
    status_.text("finishedTimestamp", kube::micro_time_text(now_));
    status_.text("waitingSince", "").text("notBefore", "");
    status_.number("observedGeneration", object_.generation());
    condition("Admitted", false, missing_reason_, missing_);
    condition("Complete", false, missing_reason_, missing_);
    event(client::EventType::kWarning, missing_reason_, "Check", missing_);
    write_ = true;
  }

  // What is told.
  void say(const std::string& message) {
    if (status_["message"].equals(message)) return;
    status_.text("message", message);
    write_ = true;
  }
  void condition(std::string_view type, bool holds, std::string_view why, std::string message) {
    conditions_.set(type, holds, why, std::move(message), now_, object_.generation());
  }
  void event(client::EventType type, std::string_view why, std::string_view verb,
             std::string note) {
    after_.push_back(EventAction{
        client::ref_of(object_),
        {.type = type, .reason = std::string(why), .action = std::string(verb), .note = note}});
  }

  const View& view_;
  const ScavengerOptions& options_;
  const Object& object_;
  ScavengerJobView job_;
  WallTime now_;
  kube::ScavengerPolicy policy_;
  Result<Members> members_;
  ScavengerSight sight_;
  StatusDraft status_;
  Conditions conditions_;
  CostWrites notes_;
  State state_;
  std::string missing_;
  std::string_view missing_reason_;
  std::optional<AttemptEnd> end_;
  std::optional<CheckpointReport> report_;
  std::optional<WallTime> ran_since_;
  bool acked_ = false;
  bool write_ = false;
  Plan plan_;
  std::vector<Action> after_;  // what follows the status
};

}  // namespace

std::string release_patch() {
  return fmt::format(R"({{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{}"]}}}})",
                     kube::kAccountingFinalizer);
}

Plan plan_scavenger(const View& view, const ScavengerOptions& options, const Object& job,
                    WallTime now) {
  return ScavengerRun(view, options, job, now).plan();
}

}  // namespace berth::controllers
