// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preemption/scavenger_door.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::scheduler {
namespace {

constexpr Duration kCallLimit = 60s;
constexpr Duration kLook = 1s;      // how soon a pod that went away is noticed
constexpr Duration kPatience = 2s;  // after the deadline, for who is just going
constexpr Duration kShrinks = 10s;  // to take effect
constexpr std::size_t kChoicesKept = 200, kShrunkKept = 10'000;
constexpr std::size_t kMostNote = 1024, kMostName = 200, kMostInstance = 128;

std::string reclaim_patch(const scavenge::BoardJob& job, const std::string& request) {
  json::Writer w;
  w.object().member("metadata").object().member("uid").string(job.uid);
  w.member("annotations").object().member(kube::kReclaimAnnotation);
  request.empty() ? w.null() : w.string(request);
  return w.end().end().end().take();
}

void write_ref(json::Writer& w, std::string_view api_version, std::string_view kind,
               const kube::Key& key, std::string_view uid) {
  w.object().member("apiVersion").string(api_version).member("kind").string(kind);
  w.member("namespace").string(key.ns).member("name").string(key.name);
  w.member("uid").string(uid).end();
}

}  // namespace

// Where nobody has to go there is nothing to see, and a scheduler shows what kube-scheduler does.
void ScavengerDoor::measure(const LostWork& lost) {
  if (parts_.metrics == nullptr) return;
  if (!gap_)
    gap_ = parts_.metrics->histogram(
        "sj_cover_gap_ratio",
        "Work lost by a choice of jobs to interrupt, of the least that was possible: at most this",
        {1, 1.001, 1.01, 1.05, 1.15, 1.5, 2});
  gap_->observe(lost.gap);
}

ScavengerDoor::Verdict ScavengerDoor::chosen(const PodPtr& preemptor, const LostWork& lost) {
  if (waits(*preemptor)) return Verdict::kWait;
  if (lost.shrink) return make_smaller(preemptor, lost);
  measure(lost);
  const WallTime at = now();
  scavenge::VictimRecord record = record_of(lost, *preemptor, parts_.name);
  Duration notice{};
  for (const LostJob& each : lost.jobs)
    if (!each.going)
      notice = std::max(notice, std::min(each.job.max_notice, parts_.board.rules().most_notice));
  if (notice <= Duration{}) {
    for (const LostJob& each : lost.jobs)
      if (!each.going) tell(each, record, *preemptor, std::nullopt);
    remember(std::move(record));
    return Verdict::kEvict;
  }
  Notice entry{.preemptor = preemptor,
               .lost = std::make_shared<const LostWork>(lost),
               .deadline = at + notice,
               .asked = {},
               .until = at + notice + kPatience};
  for (std::size_t i = 0; i < lost.jobs.size(); ++i) {
    const LostJob& each = lost.jobs[i];
    if (each.going) continue;
    // Who was asked by somebody else keeps that deadline: asking again must not buy time.
    if (each.job.deadline && *each.job.deadline + kPatience > at) continue;
    ask(each, *preemptor, entry.deadline);
    tell(each, record, *preemptor, entry.deadline);
    entry.asked.push_back(i);
  }
  remember(std::move(record));
  return wait(std::move(entry));
}

ScavengerDoor::Verdict ScavengerDoor::wait(Notice notice) {
  const std::string uid = notice.preemptor->uid;
  notices_.emplace(uid, std::move(notice));
  look_later(uid);
  return Verdict::kWait;
}

// The operator, who sees that they are asked, makes them smaller at once. The request is taken back
// before its deadline, since nobody has to go for it.
ScavengerDoor::Verdict ScavengerDoor::make_smaller(const PodPtr& preemptor, const LostWork& lost) {
  const WallTime at = now();
  if (shrunk_for_.size() >= kShrunkKept) shrunk_for_.clear();
  shrunk_for_.insert(preemptor->uid);
  Notice entry{.preemptor = preemptor,
               .lost = std::make_shared<const LostWork>(lost),
               .deadline = at + kShrinks + 5s,
               .asked = {},
               .until = at + kShrinks};
  for (std::size_t i = 0; i < lost.jobs.size(); ++i) {
    ask(lost.jobs[i], *preemptor, entry.deadline);
    entry.asked.push_back(i);
  }
  return wait(std::move(entry));
}

void ScavengerDoor::remember(scavenge::VictimRecord record) {
  choices_.push_back(std::move(record));
  if (choices_.size() > kChoicesKept) choices_.pop_front();
}

void ScavengerDoor::look_later(const std::string& uid) {
  parts_.scope.after(kLook, [this, uid] { look_at(uid); });
}

void ScavengerDoor::look_at(const std::string& uid) {
  const auto found = notices_.find(uid);
  if (found == notices_.end()) return;
  const bool wanted = parts_.wanted(*found->second.preemptor);
  if (wanted && now() < found->second.until) return look_later(uid);
  const Notice notice = std::move(found->second);
  notices_.erase(found);
  if (wanted && !notice.lost->shrink)
    return evict(*notice.preemptor, notice.lost->candidate.victims);
  withdraw(notice);  // nobody has to go for it any more
  if (wanted && parts_.again) parts_.again(notice.preemptor);
}

void ScavengerDoor::ask(const LostJob& each, const Pod& preemptor, WallTime deadline) {
  json::Writer request;
  request.object().member("for").string(preemptor.text()).member("uid").string(preemptor.uid);
  request.member("deadline").string(kube::micro_time_text(deadline)).end();
  parts_.api.patch(each.job.kind, each.job.key, reclaim_patch(each.job, request.take()),
                   kube::PatchType::kMerge,
                   parts_.scope.done<kube::Object>(
                       kCallLimit, [this, key = each.job.key](const Result<kube::Object>& done) {
                         if (!done)  // it goes without having been asked
                           parts_.log.warn("a scavenger job could not be asked for a checkpoint",
                                           {{"job", key.text()}, {"error", done.error()}});
                       }));
}

void ScavengerDoor::withdraw(const Notice& notice) {
  for (const std::size_t i : notice.asked) {
    const scavenge::BoardJob& job = notice.lost->jobs[i].job;
    const scavenge::BoardJob* known = parts_.board.of_controller(job.job_uid);
    if (known == nullptr || known->asked_for != notice.preemptor->uid) continue;
    parts_.api.patch(job.kind, job.key, reclaim_patch(job, ""), kube::PatchType::kMerge,
                     parts_.scope.done<kube::Object>(kCallLimit, [](const Result<kube::Object>&) {
                       // At its deadline the request means nothing any more.
                     }));
  }
}

void ScavengerDoor::evict(const Pod& preemptor, const std::vector<PodPtr>& victims) {
  for (const PodPtr& victim : victims) {
    if (victim->deleting) continue;
    json::Writer out;
    out.object().member("status").object().member("conditions").array().object();
    out.member("type").string("DisruptionTarget").member("status").string("True");
    out.member("reason").string("PreemptionByScheduler").member("message");
    out.string(preemptor.spec->scheduler_name +
               ": preempting to accommodate a higher priority pod");
    out.member("lastProbeTime").null().member("lastTransitionTime").string(kube::time_text(now()));
    out.end().end().end().end();
    parts_.api.patch(kube::kPod, {victim->ns, victim->name}, out.take(),
                     kube::PatchType::kStrategic,
                     parts_.scope.done<kube::Object>(
                         kCallLimit,
                         [this, victim](const Result<kube::Object>& told) {
                           if (told) return erase(victim);
                           if (told.error().reason == Reason::kNotFound) return;
                           parts_.log.warn("victim could not be told of its eviction",
                                           {{"victim", victim->text()}, {"error", told.error()}});
                         }),
                     "status");
  }
}

void ScavengerDoor::erase(const PodPtr& victim) {
  kube::Options only;
  only.precondition_uid = victim->uid;
  parts_.api.erase(kube::kPod, {victim->ns, victim->name},
                   parts_.scope.done<Ok>(kCallLimit,
                                         [this, victim](const Result<Ok>& gone) {
                                           if (gone) ++evicted_;
                                           if (gone || gone.error().reason == Reason::kNotFound ||
                                               gone.error().reason == Reason::kConflict)
                                             return;
                                           parts_.log.warn("victim could not be evicted",
                                                           {{"victim", victim->text()},
                                                            {"error", gone.error()}});
                                         }),
                   only);
}

// Each is a story of its own, with its numbers: nothing that a recorder could make a series of.
void ScavengerDoor::tell(const LostJob& each, const scavenge::VictimRecord& record,
                         const Pod& preemptor, std::optional<WallTime> deadline) {
  if (parts_.reporter.empty()) return;
  std::string note = scavenge::victim_text(record);
  if (deadline)
    note = fmt::format("Time for a checkpoint until {}. {}", kube::time_text(*deadline), note);
  if (note.size() > kMostNote) note.resize(kMostNote);
  const kube::Kind& kind = kube::kind_of(each.job.kind);
  json::Writer w;
  w.object().member("apiVersion").string("events.k8s.io/v1").member("kind").string("Event");
  w.member("metadata").object().member("name");
  w.string(fmt::format("{}.{:x}{:x}", each.job.key.name.substr(0, kMostName),
                       static_cast<std::uint64_t>(now().unix_nanos), ++told_));
  w.member("namespace").string(each.job.key.ns).member("annotations").object();
  w.member(scavenge::kVictimsAnnotation).string(scavenge::victim_record_json(record)).end().end();
  w.member("eventTime").string(kube::micro_time_text(now()));
  w.member("reportingController").string(parts_.reporter);
  w.member("reportingInstance").string(parts_.instance.substr(0, kMostInstance));
  w.member("action").string(deadline ? "Reclaiming" : "Preempting");
  w.member("reason").string(deadline ? "ReclaimRequested" : "Preempted").member("regarding");
  write_ref(w, kind.api_version(), kind.kind, each.job.key, each.job.uid);
  w.member("related");
  write_ref(w, "v1", "Pod", {preemptor.ns, preemptor.name}, preemptor.uid);
  w.member("note").string(note).member("type").string("Normal").end();
  parts_.api.create(kube::kEvent, each.job.key.ns, w.take(),
                    parts_.scope.done<kube::Object>(
                        kCallLimit, [this, key = each.job.key](const Result<kube::Object>& done) {
                          if (!done)
                            parts_.log.warn("a scavenger job was not told why it has to go",
                                            {{"job", key.text()}, {"error", done.error()}});
                        }));
}

}  // namespace berth::scheduler
