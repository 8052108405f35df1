// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/scavengers.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/scavenger/checkpoints.h"
#include "controllers/scavenger_diagnosis.h"
#include "gateway/replies.h"
#include "gateway/scavenge/wire.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_policy_view.h"
#include "policy/scavenge/resources.h"

namespace berth::gateway {
namespace {

constexpr Duration kSoon = 300ms;  // what happens together is told together
constexpr Duration kPeriod = 2s;   // of those who are looked at
constexpr Duration kUnseen = 10s;  // while nobody looks
constexpr Duration kStillHere = 15s;

Error not_ready() {
  return {.reason = Reason::kServiceUnavailable,
          .message =
              "the gateway has not seen scavenger jobs yet: are the kinds of berth.dev "
              "installed, and may it list them, nodes and pods?",
          .retry_after = 1s};
}

std::int64_t cpu_of(const kube::ResourceList& list) {
  const auto at = list.find("cpu");
  return at == list.end() ? 0 : scavenge::amount_of("cpu", at->second);
}

std::optional<WallTime> last_of(json::Slice list) {
  std::optional<WallTime> last;
  for (const json::Slice one : list.elements()) last = kube::parse_time(one.text());
  return last;
}

}  // namespace

Scavengers::Scavengers(Scope& scope, client::Transport& transport, const Random& random,
                       Metrics& metrics, Runtime* runtime)
    : scope_(scope),
      runtime_(runtime),
      objects_(scope, transport, random, metrics),
      audience_(scope) {}
Scavengers::~Scavengers() = default;

void Scavengers::start() {
  for (const kube::KindId kind : objects_.job_kinds()) follow_jobs(kind);
  objects_.of(kube::kPod)
      .add_handler({.updated =
                        [this](const kube::Object& before, const kube::Object& after) {
                          const auto old = controllers::reclaim_facts(before),
                                     fresh = controllers::reclaim_facts(after);
                          if (const auto took = reclaims_.changed(&old, &fresh, now()))
                            history_.given_back(now(), *took);
                          something_changed();
                        },
                    .deleted =
                        [this](const kube::Object& last) {
                          const auto old = controllers::reclaim_facts(last);
                          if (const auto took = reclaims_.changed(&old, nullptr, now()))
                            history_.given_back(now(), *took);
                          something_changed();
                        }});
  // Doors, wherever they run, tell the jobs why they have to go.
  const auto told = [this](const kube::Object& event) {
    const std::string record = event.annotation(scavenge::kVictimsAnnotation);
    if (record.empty()) return;
    if (auto read = scavenge::parse_victim_record(record)) chose(*std::move(read));
  };
  objects_.events().add_handler(
      {.added = told,
       .updated = [told](const kube::Object&, const kube::Object& event) { told(event); }});
  objects_.on_synced([this] { begin(); });
  objects_.start();
}

// What statuses tell of the time before.
void Scavengers::begin() {
  begun_ = true;
  for (const kube::KindId kind : objects_.job_kinds())
    for (const kube::Object* object : objects_.list(kind)) {
      const kube::ScavengerJobView job(*object);
      const auto basis = controllers::read_cost(job.status()["cost"]);
      const std::vector<PastRun> runs = past_runs(job);
      const std::int64_t lost = job.status()["lostCoreSeconds"].integer().value_or(0) * 1000;
      // How much each of them lost is not kept; on average it is right.
      const std::int64_t each = lost / std::max<std::int64_t>(1, job.interrupted_count());
      for (const PastRun& run : runs) {
        if (basis) history_.ran(run.from, run.to.value_or(now()), basis->rate_milli);
        if (run.interrupted)
          history_.interrupted({*run.to, std::string(object->uid()), "Interrupted", each});
      }
    }
  look();
}

void Scavengers::follow_jobs(kube::KindId kind) {
  objects_.of(kind).add_handler(
      {.added =
           [this](const kube::Object& job) {
             tracks_.put(kube::ScavengerJobView(job), now());
             something_changed();
           },
       .updated = [this](const kube::Object& before,
                         const kube::Object& after) { job_changed(before, after); },
       .deleted =
           [this](const kube::Object& last) {
             tracks_.remove(last.uid());
             something_changed();
           }});
}

void Scavengers::job_changed(const kube::Object& before, const kube::Object& after) {
  const kube::ScavengerJobView old(before), job(after);
  tracks_.put(job, now());
  if (begun_ && job.interrupted_count() > old.interrupted_count()) {
    const auto lost = [](const kube::ScavengerJobView& one) {
      return one.status()["lostCoreSeconds"].integer().value_or(0);
    };
    const WallTime at = last_of(job.status()["interruptedTimestamps"]).value_or(now());
    history_.interrupted({std::min(at, now()), std::string(after.uid()),
                          job.status()["verdict"]["reason"].text(),
                          std::max<std::int64_t>(0, lost(job) - lost(old)) * 1000});
  }
  something_changed();
}

// Levels are kept for the history where nobody looks; that can wait.
void Scavengers::something_changed() { arm(audience_.empty() ? kUnseen : kSoon); }

// The sooner of what is due.
void Scavengers::arm(Duration wait) {
  if (!begun_) return;
  if (timer_ != TimerId::kNone) {
    if (wait >= due_) return;
    scope_.cancel(timer_);
  }
  due_ = wait;
  timer_ = scope_.after(
      wait,
      [this] {
        timer_ = TimerId::kNone;
        look();
      },
      Timer::kBackground);
}

void Scavengers::look() {
  if (asking_) {
    stale_ = true;
    return;
  }
  const auto sight =
      controllers::queue_question(facts_, runtime::View(objects_), objects_.job_kinds(), now());
  std::int64_t worth = 0, scavengers = 0;
  for (const kube::KindId kind : objects_.job_kinds())
    for (const kube::Object* object : objects_.list(kind)) {
      const kube::ScavengerJobView job(*object);
      if (!job.open() || job.phase() != kube::kScavengerRunning) continue;
      if (const auto basis = controllers::read_cost(job.status()["cost"]))
        worth += basis->rate_milli;
    }
  const std::int64_t used = cpu_of(sight.used), ordinary = cpu_of(sight.ordinary);
  scavengers = std::max<std::int64_t>(0, used - ordinary);
  level_ = {.capacity = cpu_of(sight.capacity),
            .ordinary = ordinary,
            .scavengers = scavengers,
            .worth = worth};
  history_.level(now(), level_);
  if (audience_.empty()) return arm(kUnseen);
  auto question = std::make_shared<const scavenge::AdmitQuestion>(sight.question);
  if (runtime_ == nullptr) return answered(question, scavenge::admit(*question));
  asking_ = true;
  auto answer = std::make_shared<scavenge::AdmitAnswer>();
  auto done = std::make_shared<Done<Ok>>(
      scope_.done<Ok>(kNoLimit, [this, question, answer](const Result<Ok>& ran) {
        asking_ = false;
        if (ran) answered(question, std::move(*answer));
        if (std::exchange(stale_, false)) arm(kSoon);
      }));
  runtime_->offload(
      scope_.executor(), [question, answer] { *answer = scavenge::admit(*question); },
      [done] { (*done)(Ok{}); });
}

void Scavengers::answered(std::shared_ptr<const scavenge::AdmitQuestion> question,
                          scavenge::AdmitAnswer answer) {
  // Who could start now is told so until the operator has seen it.
  int turn = 0;
  for (const scavenge::Start& start : answer.starts)
    answer.waits.push_back({.uid = start.uid,
                            .reason = scavenge::WaitReason::kTurn,
                            .message = "there is room: it starts when the operator looks",
                            .turn = ++turn});
  question_ = std::move(question);
  answer_ = std::move(answer);
  waits_.clear();
  for (const scavenge::Wait& wait : answer_.waits) waits_[wait.uid] = &wait;
  wants_.clear();
  for (const scavenge::Waiting& one : question_->waiting) wants_[one.uid] = &one;
  send_rows();
  arm(kPeriod);
}

const Scavengers::Size& Scavengers::size_of(const kube::Object& job) const {
  Size& size = sizes_[std::string(job.uid())];
  if (size.generation == job.generation() && size.generation != 0) return size;
  const auto members =
      controllers::members_of(kube::ScavengerJobView(job)).value_or(controllers::Members{});
  return size = {job.generation(),
                 scavenge::saturating_multiply(cpu_of(members.each), members.count), members.count};
}

Scavengers::Rows Scavengers::rows() const {
  Rows all;
  for (const kube::KindId kind : objects_.job_kinds())
    for (const kube::Object* object : objects_.list(kind)) {
      const kube::ScavengerJobView job(*object);
      if (does(job) == ScavengerDoes::kHasEnded) continue;
      const Size& size = size_of(*object);
      RowFacts facts{.cores_milli = size.cores_milli,
                     .members = size.members,
                     .nodes = static_cast<int>(objects_.nodes_of(job.job_uid()).size()),
                     .track = tracks_.of(object->uid())};
      const auto wait = waits_.find(object->uid());
      if (does(job) == ScavengerDoes::kWaits && wait != waits_.end()) {
        facts.waits.wait = wait->second;
        const auto wants = wants_.find(object->uid());
        if (wants != wants_.end() && wait->second->reason == scavenge::WaitReason::kThreshold)
          facts.waits.shortage = shortage(*question_, answer_.threshold_percent, *wants->second);
        if (wants != wants_.end() && wait->second->reason == scavenge::WaitReason::kBackoff)
          facts.waits.until = wants->second->not_before;
      }
      all.emplace(object->key().text(), row_json(job, facts));
    }
  return all;
}

std::string Scavengers::summary() const {
  json::Writer out;
  out.object().member("time").integer(millis(now()));
  out.member("threshold").integer(answer_.threshold_percent);
  out.member("capacity").integer(level_.capacity).member("ordinary").integer(level_.ordinary);
  out.member("scavengers").integer(level_.scavengers);
  out.member("free").integer(question_ ? free_cores(*question_, answer_.threshold_percent) : 0);
  out.member("history").integer(static_cast<std::int64_t>(history_.version(now())));
  return out.end().take();
}

void Scavengers::send_rows() {
  Rows next = rows();
  std::string put, gone;
  for (const auto& [key, text] : next)
    if (const auto before = told_.find(key); before == told_.end() || before->second != text)
      put += (put.empty() ? "" : ",") + text;
  for (const auto& [key, text] : told_)
    if (next.count(key) == 0) gone += (gone.empty() ? "" : ",") + json::quoted(key);
  told_ = std::move(next);
  std::string text;
  if (!put.empty() || !gone.empty())
    text = event_text("changed", fmt::format(R"({{"put":[{}],"gone":[{}]}})", put, gone));
  const std::string now_told = summary();
  // The time alone is no news.
  const auto news = [](const std::string& all) {
    return all.substr(std::min(all.size(), all.find(',')));
  };
  if (news(now_told) != news(told_summary_)) {
    told_summary_ = now_told;
    text += event_text("summary", now_told);
  }
  if (!text.empty()) audience_.tell(text);
}

std::string Scavengers::jobs_json() const {
  std::string all = "[";
  for (const auto& [key, text] : told_) all += (all.size() > 1 ? "," : "") + text;
  return all + "]";
}

void Scavengers::keep_alive() {
  alive_timer_ = TimerId::kNone;
  if (audience_.empty()) return;
  audience_.tell(": still here\n\n");
  alive_timer_ = scope_.after(
      kStillHere, [this] { keep_alive(); }, Timer::kBackground);
}

void Scavengers::listen(std::shared_ptr<Stream> stream) {
  if (!begun_) return stream->refuse(not_ready());
  const bool first = audience_.empty();
  const auto listener = audience_.admit(std::move(stream));
  // Whoever comes first finds what was told long ago.
  if (first) {
    const auto sight =
        controllers::queue_question(facts_, runtime::View(objects_), objects_.job_kinds(), now());
    answer_.threshold_percent = sight.question.rules.threshold_percent;
    waits_.clear();
    told_ = rows();
    told_summary_ = summary();
    arm(Duration(1ms));
  }
  audience_.tell(*listener, event_text("summary", summary()));
  audience_.tell(*listener, event_text("victims", victims_.json()));
  audience_.tell(*listener, event_text("jobs", jobs_json()));
  if (alive_timer_ == TimerId::kNone)
    alive_timer_ = scope_.after(
        kStillHere, [this] { keep_alive(); }, Timer::kBackground);
}

void Scavengers::chose(scavenge::VictimRecord record) {
  const auto sizes = [this](const kube::Key& key) {
    VictimSize size;
    for (const kube::KindId kind : objects_.job_kinds())
      if (const kube::Object* object = objects_.get(kind, key)) {
        const kube::ScavengerJobView job(*object);
        size.cores_milli = size_of(*object).cores_milli;
        const auto basis = controllers::read_cost(job.status()["cost"]);
        if (basis && basis->reported) size.checkpoint = basis->since;
      }
    return size;
  };
  if (victims_.add(std::move(record), sizes))
    audience_.tell(event_text("victims", victims_.last_json()));
}

Result<Reply> Scavengers::explain(const kube::Key& key) {
  if (!begun_) return tl::unexpected(not_ready());
  std::vector<std::string> told;
  for (const kube::KindId kind : objects_.job_kinds())
    if (const kube::Object* job = objects_.get(kind, key); job != nullptr && told.empty())
      told = victims_.told_of(job->uid());
  auto said = controllers::diagnose_scavenger(runtime::View(objects_), key, std::move(told), now());
  if (!said) return tl::unexpected(said.error());
  return json_reply(controllers::diagnosis_json(*said));
}

void Scavengers::mount(Routes& routes) {
  const std::string group = kube::kind_of(kube::scavenger_kinds().job).group;
  const std::vector<Access> everything = {
      {.verb = "watch", .group = group, .resource = "scavengerjobs"},
      {.verb = "list", .resource = "nodes"},
      {.verb = "list", .resource = "pods"}};
  routes.add({.path = "/api/v1/scavengers/stream",
              .rights = everything,
              .stream = [this](Request, const kube::User&,
                               std::shared_ptr<Stream> stream) { listen(std::move(stream)); },
              .doc = {.summary = "Scavenger jobs, their queue and why victims were chosen, as they "
                                 "change (server-sent events)"}});
  routes.add({.path = "/api/v1/scavengers",
              .rights = everything,
              .handle =
                  [this](const Request&, const kube::User&, Done<Reply> done) {
                    if (!begun_) return done(tl::unexpected(not_ready()));
                    const auto sight = controllers::queue_question(facts_, runtime::View(objects_),
                                                                   objects_.job_kinds(), now());
                    auto question = std::make_shared<const scavenge::AdmitQuestion>(sight.question);
                    answered(question, scavenge::admit(*question));
                    json::Writer out;
                    out.object().member("summary").raw(summary()).member("jobs").raw(jobs_json());
                    out.member("victims").raw(victims_.json()).end();
                    done(json_reply(out.take()));
                  },
              .doc = {.summary = "Scavenger jobs that run or wait, by turn, and why victims were "
                                 "chosen",
                      .gives = "Scavengers"}});
  routes.add({.path = "/api/v1/scavengers/history",
              .rights = everything,
              .handle =
                  [this](const Request& request, const kube::User&, Done<Reply> done) {
                    if (!begun_) return done(tl::unexpected(not_ready()));
                    history_.look(now());
                    auto said = history_.json(request.asked("range").value_or("24h"), now());
                    if (!said) return done(tl::unexpected(said.error()));
                    done(json_reply(*std::move(said)));
                  },
              .doc = {.summary = "Work that was reclaimed and lost, over time",
                      .gives = "ScavengerHistory",
                      .query = {"range: 1h, 6h, 24h, 7d or 30d"}}});
  routes.add({.path = "/api/v1/scavengers/{ns}/{name}/explanation",
              .rights = {{.verb = "get",
                          .group = group,
                          .resource = "scavengerjobs",
                          .ns = "{ns}",
                          .name = "{name}"},
                         {.verb = "list", .resource = "nodes"}},
              .handle =
                  [this](const Request& request, const kube::User&, Done<Reply> done) {
                    done(explain({request.value("ns"), request.value("name")}));
                  },
              .doc = {.summary = "Why a scavenger job waits, what it would lose, why it was "
                                 "interrupted",
                      .gives = "Diagnosis"}});
}

}  // namespace berth::gateway
