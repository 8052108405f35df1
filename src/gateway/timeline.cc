// SPDX-License-Identifier: Apache-2.0
#include "gateway/timeline.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controllers/slot_sight.h"
#include "gateway/dto.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/time.h"
#include "policy/slots/explain_slot.h"

namespace berth::gateway {
namespace {

using controllers::SlotSight;
using kube::Key;
using kube::SchedulingView;

// Draws cost about as much as slots times runs; a large Testbed gets fewer.
constexpr std::size_t kMostWork = 20'000'000;

std::optional<slots::Waiting> stopped(const SchedulingView& one, const SlotSight& sight) {
  const Key key = one.object().key();
  if (const auto twice = one.named_twice())
    return slots::Waiting{key, *twice, kube::reason::kDuplicateJob,
                          fmt::format("BatchJob {} is named twice", twice->text())};
  if (!one.stops_on_failure()) return std::nullopt;
  for (const Key& job : one.jobs()) {
    const auto found = sight.jobs.find(job);
    if (found != sight.jobs.end() && found->second.failed && one.job(job).last_run > 0)
      return slots::Waiting{key, job, kube::reason::kJobFailed,
                            fmt::format("BatchJob {} has failed", job.text())};
  }
  return std::nullopt;
}

bool finished_with(const SchedulingView& one, const Key& job) {
  const std::string state = one.job(job).state;
  return state == "Completed" || state == "Failed";
}

// Jobs that Schedulings of other Testbeds keep from this one.
std::map<Key, std::string> kept_from(const runtime::View& view, const SchedulingView& one) {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  std::map<Key, std::string> kept;
  for (const Key& job : one.jobs()) {
    const kube::Object* object = view.get(kinds.batch_job, job);
    if (object == nullptr) continue;
    const auto claim = kube::BatchJobView(*object).claim();
    for (const kube::Object* each :
         view.by_index(kinds.scheduling, controllers::kByJob, job.text())) {
      const SchedulingView other(*each);
      if (other.testbed() == one.testbed() || !controllers::is_live(other) ||
          finished_with(other, job))
        continue;
      if (claim && claim->by(*each))
        kept[job] = fmt::format("BatchJob {} is held by {}", job.text(), each->key().text());
      else if (other.ticket() < one.ticket())
        kept.try_emplace(
            job, fmt::format("{} is older and wants BatchJob {}", each->key().text(), job.text()));
    }
  }
  return kept;
}

std::string at(WallTime now, Duration after) { return kube::time_text(now + after); }

// Writes the members that all parts of the answer share.
class Answer {
 public:
  Answer(const TimelineQuestion& question, const slots::Forecast& told)
      : question_(question), told_(told) {}

  std::string json() {
    out_.object().member("testbed");
    reference(question_.testbed);
    out_.member("now").string(kube::time_text(question_.now));
    if (!question_.cursor.empty()) out_.member("cursor").string(question_.cursor);
    if (!question_.scheduling.empty()) out_.member("scheduling").raw(question_.scheduling);
    out_.member("order").string(told_.certain() ? "certain" : "likely");
    out_.member("orderShare").raw(fmt::format("{:.3g}", told_.order_share));
    out_.member("draws").integer(told_.draws);
    running();
    planned();
    waiting();
    out_.member("assumes").array();
    for (const std::string& sentence : question_.assumes) out_.string(sentence);
    out_.end();
    by_slot();
    return out_.end().take();
  }

 private:
  void reference(const Key& key) {
    if (key.name.empty()) {
      out_.null();
      return;
    }
    out_.object().member("name").string(key.name).member("namespace").string(key.ns).end();
  }
  void whose(const Key& job, const Key& scheduling) {
    out_.member("job");
    reference(job);
    out_.member("scheduling");
    reference(scheduling);
    out_.member("draft").boolean(question_.draft == scheduling);
  }
  void numbers(const std::set<slots::SlotNumber>& all) {
    out_.member("slots").array();
    for (const slots::SlotNumber slot : all) out_.integer(slot);
    out_.end();
  }
  void moment(const char* name, std::optional<Duration> after) {
    out_.member(name);
    if (after)
      out_.string(at(question_.now, *after));
    else
      out_.null();
  }
  void quantiles(const char* name, const std::optional<slots::Quantiles>& all) {
    out_.member(name);
    if (!all) {
      out_.null();
      return;
    }
    out_.object();
    moment("p10", all->p10);
    moment("p50", all->p50);
    moment("p90", all->p90);
    out_.end();
  }
  void reason(const slots::Waiting& why) {
    out_.member("reason").string(why.reason).member("message").string(why.message);
    out_.member("remedy").string(kube::remedy_for("Scheduling", why.reason));
  }

  void running() {
    out_.member("running").array();
    for (const slots::HeldForecast& one : told_.held) {
      out_.object();
      whose(one.grant.job, one.grant.scheduling);
      numbers(one.grant.slots);
      out_.member("since").string(one.grant.since);
      moment("finish", one.finish);
      quantiles("end", one.end);
      out_.member("samples").integer(static_cast<std::int64_t>(one.samples));
      out_.member("overdue").boolean(told_.overdue.count(one.grant.job) > 0).end();
    }
    out_.end();
  }
  void planned() {
    out_.member("planned").array();
    for (const slots::RunForecast& run : told_.runs) {
      out_.object();
      whose(run.job, run.scheduling);
      out_.member("nth").integer(run.nth);
      numbers(run.slots);
      moment("begin", run.begin);
      moment("finish", run.finish);
      quantiles("start", run.start);
      quantiles("end", run.end);
      out_.member("openEnd").boolean(run.open_end);
      out_.member("share").raw(
          fmt::format("{:.3g}", told_.draws == 0 ? 1.0 : 1.0 * run.draws / told_.draws));
      out_.member("samples").integer(static_cast<std::int64_t>(run.samples));
      out_.member("after").array();
      for (const Key& job : run.after) reference(job);
      out_.end().member("waits");
      if (run.waits) {
        out_.object();
        reason(*run.waits);
        out_.end();
      } else {
        out_.null();
      }
      out_.end();
    }
    out_.end();
  }
  void waiting() {
    out_.member("waiting").array();
    const auto one = [&](const slots::Waiting& why) {
      out_.object();
      whose(why.job, why.scheduling);
      reason(why);
      out_.end();
    };
    if (question_.nowhere) one(*question_.nowhere);
    for (const slots::Waiting& why : told_.never) one(why);
    out_.end();
  }

  // The typical play, a row a slot: what a timeline draws.
  void by_slot() {
    struct Span {
      const char* kind;
      const Key *job, *scheduling;
      std::string begin;
      std::optional<Duration> end;
    };
    std::map<slots::SlotNumber, std::vector<Span>> rows;
    for (const slots::HeldForecast& one : told_.held)
      for (const slots::SlotNumber slot : one.grant.slots)
        rows[slot].push_back(
            {"running", &one.grant.job, &one.grant.scheduling, one.grant.since, one.finish});
    for (const slots::RunForecast& run : told_.runs)
      for (const slots::SlotNumber slot : run.slots)
        rows[slot].push_back(
            {"planned", &run.job, &run.scheduling, at(question_.now, *run.begin), run.finish});
    out_.member("slots").array();
    for (const auto& [number, spans] : rows) {
      const slots::Slot* slot = question_.input.table.find(number);
      out_.object().member("position").integer(number);
      out_.member("nodeName").string(slot == nullptr ? "" : slot->node);
      out_.member("spans").array();
      for (const Span& span : spans) {
        out_.object().member("kind").string(span.kind);
        whose(*span.job, *span.scheduling);
        out_.member("begin").string(span.begin);
        moment("end", span.end);
        out_.end();
      }
      out_.end().end();
    }
    out_.end();
  }

  const TimelineQuestion& question_;
  const slots::Forecast& told_;
  json::Writer out_;
};

}  // namespace

Result<TimelineQuestion> timeline_question(const runtime::View& view, const Key& testbed,
                                           Draft given, WallTime now) {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  const kube::Object* const draft = given.scheduling;
  TimelineQuestion question{.testbed = testbed, .now = now};
  if (draft != nullptr) {
    question.draft = draft->key();
    question.scheduling = scheduling_dto(*draft);
    question.seed = slots::seed_of(draft->member("spec").raw());
  } else {
    question.seed = slots::seed_of(testbed.text());
  }
  const kube::Object* object = view.get(kinds.testbed, testbed);
  if (object == nullptr) {
    question.nowhere = slots::Waiting{question.draft.value_or(Key{}),
                                      {},
                                      kube::reason::kTestbedNotFound,
                                      fmt::format("Testbed {} does not exist", testbed.text())};
    return question;
  }
  Result<SlotSight> sight = controllers::look(view, kinds, *object);
  if (!sight) return tl::unexpected(sight.error());
  // Tickets tie within a second; whoever comes is behind whoever is there.
  if (draft != nullptr && !given.replaces)
    std::stable_partition(
        sight->schedulings.begin(), sight->schedulings.end(),
        [&](const SchedulingView& one) { return one.object().key() != draft->key(); });
  // As the allocator numbers them, once it has looked.
  sight->ledger.blocks =
      slots::next_blocks(sight->ledger.blocks, sight->wanted, sight->ledger.blocks.empty());
  slots::ForecastInput& in = question.input;
  in.table = sight->table(now);
  in.ledger = sight->ledger;
  in.jobs = sight->jobs;
  in.quotas = sight->testbed.quotas();
  in.exclusive = !sight->testbed.shared();
  std::size_t entries = 1;
  bool before = false;
  for (const SchedulingView& one : sight->schedulings) {
    const bool drafted = question.draft == one.object().key();
    if (in.exclusive && one.completed() && sight->ledger.owner &&
        sight->ledger.owner->uid == one.object().uid() && !one.object().deleting())
      question.assumes.push_back(
          fmt::format("Scheduling {}, which is complete and has the Testbed, is deleted now",
                      one.object().key().text()));
    if (!controllers::is_live(one)) continue;
    if (drafted && before && in.exclusive)
      question.assumes.emplace_back("Schedulings are deleted as soon as they are complete");
    before = true;
    in.by_ticket.push_back(slots::demand_of(one, true, now));
    entries += in.by_ticket.back().entries.size();
    const Key key = one.object().key();
    if (one.status()["acquiredTime"].present()) in.acquired.insert(key);
    if (auto why = stopped(one, *sight)) in.stopped.emplace(key, *std::move(why));
    if (auto kept = kept_from(view, one); !kept.empty()) in.kept.emplace(key, std::move(kept));
  }
  for (const auto& [job, fact] : sight->jobs)
    if (const kube::Object* known = view.get(kinds.batch_job, job))
      in.samples.emplace(job, slots::samples_of(kube::BatchJobView(*known)));
  for (const auto& [id, grant] : in.ledger.grants())
    if (const auto since = kube::parse_time(grant.since))
      in.ages.emplace(id, std::max(now - *since, Duration{}));
  question.draws = static_cast<int>(
      std::clamp<std::size_t>(kMostWork / ((in.table.slots.size() + 1) * entries), 10, 200));
  return question;
}

std::string timeline_json(const TimelineQuestion& question) {
  const slots::Forecast told = slots::forecast(question.input, question.seed, question.draws);
  return Answer(question, told).json();
}

Result<std::string> slots_json(const runtime::View& view, const kube::Object& testbed,
                               WallTime now) {
  Result<SlotSight> sight = controllers::look(view, kube::thesis_kinds(), testbed);
  if (!sight) return tl::unexpected(sight.error());
  const slots::SlotTable table = sight->table(now);
  json::Writer out;
  out.array();
  for (const slots::Slot& slot : table.slots) {
    if (slot.state == slots::SlotState::kAbsent && !slot.wanted) continue;
    const auto& pod = slot.executor ? slot.executor : slot.promised ? slot.promised : slot.ghost;
    const slots::Grant* grant = sight->ledger.find(slot.grant);
    const slots::SlotExplanation why = slots::explain_slot(table, slot.number);
    out.object().member("position").integer(slot.number).member("nodeName").string(slot.node);
    out.member("nodeId").integer(slot.node_id).member("slotPositionOnNode").integer(slot.on_node);
    out.member("class").string(slot.slot_class);
    out.member("state").string(slots::wire_name_of(slot.state));
    out.member("phase").string(slots::name_of(slot.state));
    out.member("podName").string(pod ? pod->key.name : "").member("podUId");
    out.string(pod ? pod->uid : "");
    if (grant != nullptr) {
      out.member("job").object().member("name").string(grant->job.name);
      out.member("namespace").string(grant->job.ns).end();
      out.member("scheduling").string(grant->scheduling.name);
      out.member("since").string(grant->since);
    }
    out.member("cause").string(why.cause).member("remedy").string(why.remedy).end();
  }
  return out.end().take();
}

}  // namespace berth::gateway
