// SPDX-License-Identifier: Apache-2.0
// Which waiting ScavengerJobs start, of all of both groups: one key decides, so two starts are
// never decided on the same room. A start is the number of an attempt, written before anything of
// it is made. Woken by room and by whoever begins to wait, hardly ever by time.
#include "controllers/scavenger/queue.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/checkpoints.h"
#include "controllers/scavenger/queue_facts.h"
#include "controllers/scavenger/reclaim.h"
#include "controllers/scavenger/scavenger_table.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/node_view.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scavenger_quota_view.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "policy/scavenge/grow.h"
#include "policy/scavenge/regulate.h"
#include "policy/scavenge/resources.h"
#include "policy/scavenge/victim_record.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using json::Writer;
namespace reason = kube::reason;

constexpr Duration kBatch = 100ms;
constexpr Duration kStatusEvery = 10s;
constexpr Duration kSampleEvery = 1min;
constexpr Duration kSharesEvery = 1min;  // what is used meanwhile by a job that is deleted is lost
constexpr std::size_t kSamples = 30, kMostNotes = 50;
const Key kQueue{"", "queue"};

// What is kept from run to run: "<status nanos> <sample nanos> <regulates> <ended nanos> <percent>
// <percent> …".
struct Notes {
  WallTime status_at = {}, sample_at = {};
  scavenge::RegulatorState regulator = {};
  std::vector<double> samples;

  static Notes parse(std::string_view text) {
    Notes notes;
    int field = 0;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), word.size() + 1));
      std::int64_t value = 0;
      std::from_chars(word.data(), word.data() + word.size(), value);
      if (field == 0) notes.status_at = {value};
      if (field == 1) notes.sample_at = {value};
      if (field == 2) notes.regulator.active = value != 0;
      if (field == 3 && value != 0) notes.regulator.last_ended = WallTime{value};
      if (field >= 4) notes.samples.push_back(static_cast<double>(value) / 1'000);
      ++field;
    }
    return notes;
  }
  std::string text() const {
    std::string out =
        fmt::format("{} {} {} {}", status_at.unix_nanos, sample_at.unix_nanos,
                    regulator.active ? 1 : 0, regulator.last_ended.value_or(WallTime{}).unix_nanos);
    for (const double sample : samples)
      out += fmt::format(" {}", static_cast<std::int64_t>(sample * 1'000));
    return out;
  }
  double deviation() const {
    if (samples.size() < 2) return 0;
    double mean = 0, sum = 0;
    for (const double one : samples) mean += one / static_cast<double>(samples.size());
    for (const double one : samples) sum += (one - mean) * (one - mean);
    return std::sqrt(sum / static_cast<double>(samples.size() - 1));
  }
};

std::string_view reason_of(scavenge::WaitReason why) {
  switch (why) {
    case scavenge::WaitReason::kTurn:
      return reason::kTurn;
    case scavenge::WaitReason::kThreshold:
      return reason::kThreshold;
    case scavenge::WaitReason::kNoFit:
      return reason::kNoFit;
    case scavenge::WaitReason::kOverQuota:
      return reason::kOverQuota;
    case scavenge::WaitReason::kBackoff:
      return reason::kBackingOff;
    case scavenge::WaitReason::kReserved:
      return reason::kReserved;
  }
  return {};
}

std::string names_json(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  Writer w;
  w.array();
  const auto most = std::min<std::size_t>(names.size(), kube::kMostNamedNodes);
  for (std::size_t i = 0; i < most; ++i) w.string(names[i]);
  w.end();
  return w.take();
}

// One decision.
class Decision {
 public:
  Decision(const View& view, const QueueOptions& options, QueueFacts& facts, WallTime now)
      : view_(view),
        options_(options),
        now_(now),
        notes_(Notes::parse(view.remembered())),
        policy_object_(view.get(kinds().policy, {"", std::string(kube::kScavengerPolicyName)})),
        policy_(kube::read_scavenger_policy(policy_object_)),
        sight_(queue_question(facts, view, options.job_kinds, now)) {}

  Plan plan() {
    for (const QueuedJob* job : sight_.jobs) by_uid_.emplace(job->uid, job);
    sample();
    const scavenge::AdmitAnswer answer = scavenge::admit(sight_.question);
    for (const scavenge::Start& start : answer.starts) begin(start);
    note_waits(answer);
    regulate(answer);
    grow(answer);
    if (answer.look_again && *answer.look_again > now_) plan_.again_at(*answer.look_again);
    tell(answer);
    plan_.remember(notes_.text());
    return std::move(plan_);
  }

 private:
  const kube::ScavengerKinds& kinds() const { return kube::scavenger_kinds(); }

  // How much ordinary use varies; only where somebody wants to know.
  void sample() {
    if (!policy_.adaptive_reserve_percent) {
      notes_.samples.clear();
      return;
    }
    if (now_ >= notes_.sample_at + kSampleEvery) {
      notes_.sample_at = now_;
      notes_.samples.push_back(100 * utilisation(sight_.ordinary, sight_.capacity));
      if (notes_.samples.size() > kSamples) notes_.samples.erase(notes_.samples.begin());
    }
    plan_.again_at(notes_.sample_at + kSampleEvery);
    sight_.question.ordinary_stdev_percent = notes_.deviation();
  }

  void begin(const scavenge::Start& start) {
    const auto found = by_uid_.find(start.uid);
    if (found == by_uid_.end()) return;
    const Object& object = *found->second->object;
    const kube::ScavengerJobView job(object);
    StatusDraft status(object.status());
    status.number("attempt", job.attempt() + 1);
    status.text("decidedAt", std::to_string(view_.seen(kube::kPod)));
    status.text("waitingSince", "").text("message", "");
    for (const char* of_last : {"jobName", "jobUid", "launcherUid", "reclaim"})
      status.raw(of_last, "");
    status.raw("holds", held_json(found->second->members));
    status.raw("nodes", names_json(start.nodes)).raw("avoid", names_json(start.avoid));
    Conditions conditions(status["conditions"]);
    conditions.set("Admitted", true, reason::kAdmitted, "", now_, object.generation());
    conditions.set("Running", false, reason::kStarting, "", now_, object.generation());
    status.raw("conditions", conditions.json());
    if (options_.fault == QueueFault::kAttemptAfterJob) options_.plant(plan_, job);
    plan_.set_status(object, status.json());
    plan_.event(object, {.reason = std::string(reason::kAdmitted),
                         .action = "Start",
                         .note = fmt::format("attempt {} may start", job.attempt() + 1)});
  }

  // Where the cluster is fuller than it should be, some of what runs has to go.
  void regulate(const scavenge::AdmitAnswer& answer) {
    if (!policy_.regulator) {
      notes_.regulator = {};
      return;
    }
    std::vector<scavenge::RunningJob> running;
    for (const QueuedJob* job : sight_.jobs) {
      if (!job->open) continue;
      const kube::ScavengerJobView view(*job->object);
      const auto basis = read_cost(view.status()["cost"]);
      const WallTime started = job->runs.empty() ? WallTime{} : job->runs.back().first;
      const auto spared = std::min(view.min_run().value_or(Duration{}), policy_.min_run_max);
      const auto most = view.max_interruptions();
      running.push_back({.uid = job->uid,
                         .tier = (most && job->interrupted >= *most ? 2 : 0) +
                                 (basis && now_ < started + spared ? 1 : 0),
                         .cost = basis ? scavenge::cost_at(*basis, now_) : 0,
                         .started = started,
                         .member = job->members.all(),
                         .ending = !job->object->annotation(kube::kReclaimAnnotation).empty()});
    }
    const scavenge::Regulation result = scavenge::regulate(
        sight_.capacity, sight_.used, running, notes_.regulator,
        {.threshold_percent = answer.threshold_percent, .upper_percent = policy_.upper_percent},
        now_);
    notes_.regulator = result.state;
    if (result.look_again) plan_.again_at(*result.look_again);
    scavenge::VictimRecord record{
        .at = now_, .door = "operator", .because = result.message, .exact = result.exact};
    for (const std::string& uid : result.end) {
      record.victims.push_back(victim_of(*by_uid_.at(uid)));
      record.cost = scavenge::saturating_add(record.cost, record.victims.back().cost);
    }
    const std::string annotation = scavenge::victim_record_json(record),
                      told = scavenge::victim_text(record);
    for (const std::string& uid : result.end) {
      const Object& object = *by_uid_.at(uid)->object;
      const Duration notice =
          std::min(std::max(Duration{}, kube::ScavengerJobView(object).checkpoint().max_notice),
                   policy_.max_notice);
      plan_.add(ask_to_go(object, now_ + notice, result.message));
      plan_.event(object,
                  {.reason = std::string(reason::kReclaimRequested),
                   .action = "Regulate",
                   .note = told,
                   .annotations = {{std::string(scavenge::kVictimsAnnotation), annotation}}});
    }
  }
  scavenge::VictimRecord::Job victim_of(const QueuedJob& job) const {
    const kube::ScavengerJobView view(*job.object);
    scavenge::VictimRecord::Job victim{
        .ns = job.ns, .name = std::string(job.object->name()), .uid = job.uid};
    victim.members = static_cast<int>(view.replicas());
    if (const auto basis = read_cost(view.status()["cost"])) {
      victim.cost = scavenge::cost_at(*basis, now_);
      victim.lost = scavenge::lost_time(*basis, now_);
      victim.running_priority = scavenge::running_priority(*basis, now_);
      victim.reported = basis->reported;
    }
    return victim;
  }

  // Who was made smaller gets back what was taken, once it is free.
  void grow(const scavenge::AdmitAnswer& answer) {
    if (!answer.starts.empty()) return;  // what they take is not seen yet
    std::vector<scavenge::SmallJob> small;
    std::map<std::string, std::vector<Action>> resizes;
    for (const QueuedJob* job : sight_.jobs) {
      if (!job->elastic) continue;
      const Object* made =
          view_.get(kube::kJob, {job->ns, job->object->status()["jobName"].text()});
      if (made == nullptr || made->uid() != job->job_uid) continue;
      scavenge::SmallJob one{.uid = job->uid};
      for (const Object* pod : sight_.elastic_pods[job->job_uid])
        if (auto back = grow_back(*made, *pod)) {
          one.members.push_back({kube::PodView(*pod).node_name(), std::move(back->more)});
          resizes[job->uid].push_back(std::move(back->resize));
        }
      if (!one.members.empty()) small.push_back(std::move(one));
    }
    for (const std::string& uid :
         scavenge::grow(sight_.question, answer.threshold_percent, small)) {
      const Object& object = *by_uid_.at(uid)->object;
      StatusDraft status(object.status());
      status.number("resizes", status["resizes"].integer().value_or(0) + 1);
      plan_.set_status(object, status.json());
      for (Action& action : resizes[uid]) plan_.add(std::move(action));
    }
  }

  // Why it waits is told once for each reason, not with every number that changes in it.
  void note_waits(const scavenge::AdmitAnswer& answer) {
    std::size_t left = kMostNotes;
    for (const scavenge::Wait& wait : answer.waits) {
      if (wait.reason == scavenge::WaitReason::kTurn ||
          wait.reason == scavenge::WaitReason::kBackoff)
        continue;
      const auto found = by_uid_.find(wait.uid);
      if (found == by_uid_.end() || found->second->told == reason_of(wait.reason)) continue;
      if (left-- == 0) {
        plan_.again_at(now_ + 1s);
        return;
      }
      const Object& object = *found->second->object;
      StatusDraft status(object.status());
      Conditions conditions(status["conditions"]);
      conditions.set("Admitted", false, reason_of(wait.reason), wait.message, now_,
                     object.generation());
      status.raw("conditions", conditions.json());
      status.text("message", wait.message);
      plan_.set_status(object, status.json());
    }
  }

  // What an administrator wants to see, not oftener than is of use.
  void tell(const scavenge::AdmitAnswer& answer) {
    Plan writes;
    if (policy_object_ != nullptr) {
      StatusDraft status(policy_object_->status());
      status.number("thresholdPercent", answer.threshold_percent);
      status.number("utilisationPercent",
                    std::lround(100 * utilisation(sight_.used, sight_.capacity)));
      if (policy_.adaptive_reserve_percent)
        status.number("ordinaryDeviationPercent", std::lround(notes_.deviation()));
      status.number("running", sight_.running + static_cast<std::int64_t>(answer.starts.size()));
      status.number("waiting", static_cast<std::int64_t>(answer.waits.size()));
      status.number("observedGeneration", policy_object_->generation());
      keep_shares(status);
      writes.set_status(*policy_object_, status.json());
    }
    tell_quotas(answer, writes);
    if (writes.empty()) return;
    if (now_ < notes_.status_at + kStatusEvery) {
      plan_.again_at(notes_.status_at + kStatusEvery);
      return;
    }
    notes_.status_at = now_;
    for (Action& action : writes.actions()) plan_.add(std::move(action));
  }
  void keep_shares(StatusDraft& status) {
    if (!policy_.fair_shares || !sight_.used_since) return;
    const WallTime due = read_shares(policy_object_).at + kSharesEvery;
    if (now_ < due) {
      plan_.again_at(due);
      return;
    }
    status.raw("shares", shares_json(sight_.hours));
    status.text("sharesAt", kube::micro_time_text(now_));
    plan_.again_at(now_ + kSharesEvery);
  }
  void tell_quotas(const scavenge::AdmitAnswer& answer, Plan& writes) {
    const auto quotas = view_.list(kinds().quota);
    if (quotas.empty()) return;
    std::map<std::string, std::int64_t, std::less<>> over;
    for (const scavenge::Wait& wait : answer.waits)
      if (const auto job = by_uid_.find(wait.uid);
          job != by_uid_.end() && wait.reason == scavenge::WaitReason::kOverQuota)
        ++over[job->second->ns];
    for (const Object* object : quotas) {
      const std::string ns(object->ns());
      Writer used;
      used.object().member("jobs").integer(sight_.question.running_count[ns]);
      for (const auto& [name, amount] :
           kube::ScavengerQuotaView::counted(sight_.question.running[ns]))
        used.member(name).string(amount.text());
      used.end();
      StatusDraft status(object->status());
      status.raw("used", used.take());
      status.number("waiting", over[ns]);
      status.number("observedGeneration", object->generation());
      writes.set_status(*object, status.json());
    }
  }

  const View& view_;
  const QueueOptions& options_;
  WallTime now_;
  Notes notes_;
  const Object* policy_object_;
  kube::ScavengerPolicy policy_;
  QueueSight sight_;
  std::map<std::string, const QueuedJob*, std::less<>> by_uid_;
  Plan plan_;
};

// What of a job decides about starts.
bool job_matters(const Object* before, const Object* after) {
  if (before == nullptr || after == nullptr) return true;
  if (before->generation() != after->generation() || before->deleting() != after->deleting())
    return true;
  const Slice was = before->status(), is = after->status();
  for (const char* field : {"attempt", "closedAttempt", "waitingSince", "notBefore", "phase"})
    if (was[field].raw() != is[field].raw()) return true;
  return false;
}
// Room, and who waits for a place.
bool pod_matters(const Object* before, const Object* after) {
  if (before == nullptr) return false;
  if (after == nullptr) return !pod_ended(*before);
  if (pod_ended(*before) != pod_ended(*after)) return true;
  if (before->deleting() != after->deleting()) return false;
  return !before->shares_body(*after) &&
         before->member("spec").raw() != after->member("spec").raw();
}
bool node_matters_to_queue(const Object* before, const Object* after) {
  if (before == nullptr || after == nullptr) return true;
  const kube::NodeView was(*before), is(*after);
  return was.ready() != is.ready() || was.unschedulable() != is.unschedulable() ||
         was.taints().raw() != is.taints().raw() ||
         before->status()["allocatable"].raw() != after->status()["allocatable"].raw();
}

Mapping wakes_if(bool (*matters)(const Object*, const Object*)) {
  return [matters](const View&, const Change& change, std::vector<Key>& wake) {
    if (matters(change.before, change.after)) wake.push_back(kQueue);
  };
}

class Queue final : public Controller {
 public:
  explicit Queue(QueueOptions options) : options_(std::move(options)) {}

  Spec spec() const override {
    const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
    Spec spec("scavenger-queue-controller");
    spec.reconciles(kinds.job, wakes_if(&job_matters));
    for (const KindId kind : options_.job_kinds) {
      if (kind != kinds.job) spec.watches_if_served(kind, wakes_if(&job_matters));
      spec.patches(kind).patches_status(kind);
    }
    spec.reads(kube::kJob).patches_part(kube::kPod, "resize");
    spec.watches(kube::kNode, wakes_if(&node_matters_to_queue), kBatch);
    spec.watches(kube::kPod, wakes_if(&pod_matters), kBatch);
    for (const KindId kind : {kinds.policy, kinds.quota}) {
      spec.watches(kind, [](const View&, const Change& change, std::vector<Key>& wake) {
        if (change.before == nullptr || change.after == nullptr ||
            change.before->generation() != change.after->generation())
          wake.push_back(kQueue);
      });
      spec.patches_status(kind);
    }
    if (options_.fault != QueueFault::kNone) spec.creates(kube::kJob);
    return spec.tells().keys_in_flight(1);
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key != kQueue || !anybody(view)) return Plan::done();
    return Decision(view, options_, facts_, now).plan();
  }

 private:
  // A cluster without scavengers pays nothing for them.
  bool anybody(const View& view) const {
    const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
    if (!view.list(kinds.policy).empty() || !view.list(kinds.quota).empty()) return true;
    return std::any_of(options_.job_kinds.begin(), options_.job_kinds.end(),
                       [&](KindId kind) { return !view.list(kind).empty(); });
  }

  QueueOptions options_;
  mutable QueueFacts facts_;  // what was read of objects; changes no decision
};

}  // namespace

std::unique_ptr<Controller> make_scavenger_queue_controller(QueueOptions options) {
  if (options.job_kinds.empty())
    options.job_kinds = {kube::scavenger_kinds().job, kube::cerit_kinds().job};
  return std::make_unique<Queue>(std::move(options));
}
std::unique_ptr<Controller> make_scavenger_queue() { return make_scavenger_queue_controller({}); }

}  // namespace berth::controllers
