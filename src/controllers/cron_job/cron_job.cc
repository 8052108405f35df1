// SPDX-License-Identifier: Apache-2.0
// Makes a Job whenever a CronJob is due. The name of the Job follows from the time it was due, so
// one time makes one Job, whatever happens in between.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/cron_schedule.h"
#include "kube/job_view.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using client::EventType;
using kube::CronSchedule;
using kube::JobView;
using kube::kCronJob;
using kube::kJob;

constexpr Duration kDelta = 100ms;  // k8s 1.36: looked at a little later than due
constexpr const char* kScheduled = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr std::int64_t kManyMissed = 100;

// "Mon, 02 Jan 2006 15:04:05 +0000"
std::string mail_time(WallTime at) {
  using namespace std::chrono;  // NOLINT: calendars are all over this
  constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const sys_seconds time = floor<seconds>(sys_time<nanoseconds>(nanoseconds(at.unix_nanos)));
  const sys_days day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} +0000", kDays[weekday{day}.c_encoding()],
                     static_cast<unsigned>(date.day()),
                     kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

// One run for one CronJob.
class Run {
 public:
  Run(const View& view, const Object& cron, WallTime now)
      : view_(view),
        cron_(cron),
        spec_(cron.member("spec")),
        now_(now),
        status_(cron.status()),
        last_(kube::parse_time(status_["lastScheduleTime"].text())) {
    for (const json::Slice one : status_["active"].elements())
      active_.push_back({one["name"].text(), one["uid"].text(), std::string(one.raw())});
    jobs_ = view.by_index(kJob, kByController, cron.uid());
  }

  Plan plan() {
    tell_failure();
    clean_up();
    look_at_jobs();
    if (!look_at_missing()) return std::move(plan_);
    if (!cron_.deleting()) start_if_due();
    write_status();
    for (Action& action : writes_.actions()) plan_.add(std::move(action));
    return std::move(plan_);
  }

 private:
  struct Active {
    std::string name, uid, json;
  };
  void tell(EventType type, const char* reason, std::string note) {
    plan_.event(cron_, {type, reason, "Run", std::move(note)});
  }
  bool is_active(std::string_view uid) const {
    return std::any_of(active_.begin(), active_.end(),
                       [&](const Active& one) { return one.uid == uid; });
  }
  void forget(std::string_view uid) {
    std::erase_if(active_, [&](const Active& one) { return one.uid == uid; });
  }
  std::string job_name(WallTime scheduled) const {
    return fmt::format("{}-{}", cron_.name(), scheduled.unix_nanos / 1'000'000'000 / 60);
  }

  void tell_failure() {
    const FailedAction* failed = view_.failed();
    if (failed == nullptr || failed->error.reason == Reason::kAlreadyExists ||
        failed->error.reason == Reason::kConflict)
      return;
    if (std::holds_alternative<CreateAction>(failed->action))
      tell(EventType::kWarning, "FailedCreate", "Error creating job: " + failed->error.message);
    if (std::holds_alternative<EraseAction>(failed->action))
      tell(EventType::kWarning, "FailedDelete", "Deleted job: " + failed->error.message);
  }

  void remove(const Object& job) {
    writes_.erase(job, kube::Propagation::kBackground, Pin::kUid);
    writes_.event(cron_, {EventType::kNormal, "SuccessfulDelete", "Delete",
                          fmt::format("Deleted job {}", job.name())});
    forget(job.uid());
  }

  void clean_up() {
    for (const bool succeeded : {true, false}) {
      const auto limit =
          spec_[succeeded ? "successfulJobsHistoryLimit" : "failedJobsHistoryLimit"].integer();
      if (!limit) continue;
      std::vector<const Object*> done;
      for (const Object* job : jobs_) {
        const JobView read(*job);
        if (!job->deleting() && (succeeded ? read.complete() : read.has_failed()))
          done.push_back(job);
      }
      std::stable_sort(done.begin(), done.end(), [](const Object* a, const Object* b) {
        const auto first = kube::parse_time(a->status()["startTime"].text());
        const auto second = kube::parse_time(b->status()["startTime"].text());
        if (!first || !second) return first && !second;
        return *first == *second ? a->name() < b->name() : *first < *second;
      });
      const auto most = static_cast<std::int64_t>(done.size()) - *limit;
      for (std::int64_t i = 0; i < most; ++i) remove(*done[static_cast<std::size_t>(i)]);
    }
  }

  void look_at_jobs() {
    for (const Object* job : jobs_) {
      const JobView read(*job);
      // What was made for a time that the status does not know yet: it does from now on.
      const auto scheduled = kube::parse_time(job->annotation(kScheduled));
      const bool ours = scheduled && job->name() == job_name(*scheduled);
      if (ours && (!last_ || *last_ < *scheduled)) {
        last_ = scheduled;
        if (!job->deleting()) activate(*job);
      }
      if (!read.finished()) {
        if (!is_active(job->uid()) && !job->deleting())
          tell(EventType::kWarning, "UnexpectedJob",
               fmt::format("Saw a job that the controller did not create or forgot: {}",
                           job->name()));
        continue;
      }
      if (is_active(job->uid())) {
        forget(job->uid());
        tell(EventType::kNormal, "SawCompletedJob",
             fmt::format("Saw completed job: {}, condition: {}", job->name(),
                         read.complete() ? "Complete" : "Failed"));
      }
      const auto ended = kube::parse_time(job->status()["completionTime"].text());
      const auto before = kube::parse_time(status_["lastSuccessfulTime"].text());
      if (read.complete() && ended && (!before || *before < *ended))
        status_.text("lastSuccessfulTime", kube::time_text(*ended));
    }
  }

  void activate(const Object& job) {
    if (is_active(job.uid())) return;
    json::Writer w;
    w.object().member("kind").string("Job").member("namespace").string(job.ns());
    w.member("name").string(job.name()).member("uid").string(job.uid());
    w.member("apiVersion").string("batch/v1");
    w.member("resourceVersion").string(std::to_string(job.revision())).end();
    active_.push_back({std::string(job.name()), std::string(job.uid()), w.take()});
  }

  // False: the server has been asked about one that no cache shows.
  bool look_at_missing() {
    const std::vector<Active> all = active_;
    for (const Active& one : all) {
      const bool here = std::any_of(jobs_.begin(), jobs_.end(),
                                    [&](const Object* job) { return job->uid() == one.uid; });
      if (here) continue;
      const std::string question = "job " + one.uid;
      const Answer* live = view_.answer(question);
      if (live == nullptr) {
        kube::ApiRequest get;
        get.verb = kube::Verb::kGet;
        get.kind = kJob;
        get.ns = cron_.ns();
        get.name = one.name;
        plan_ = Plan();
        plan_.ask(question, std::move(get));
        return false;
      }
      if (!live->error || live->error->reason != Reason::kNotFound) {
        plan_.again_at(now_ + 1s);
        continue;
      }
      tell(EventType::kNormal, "MissingJob", "Active job went missing: " + one.name);
      forget(one.uid);
    }
    return true;
  }

  // The last time it was due and was not run, and whether many were missed.
  struct Due {
    WallTime from{};
    std::optional<WallTime> last = {};
    std::int64_t missed = 0;
  };
  Due due(const CronSchedule& schedule, bool within_deadline) const {
    Due out{last_ ? *last_ : cron_.created().value_or(now_)};
    const auto deadline = spec_["startingDeadlineSeconds"].integer();
    if (within_deadline && deadline)
      out.from = std::max(out.from, now_ - std::chrono::seconds(*deadline));
    const auto first = schedule.next(out.from);
    if (!first || now_ < *first) return out;
    const auto second = schedule.next(*first);
    if (!second || now_ < *second) {
      out.last = first;
      return out;
    }
    const auto between = std::chrono::round<std::chrono::seconds>(*second - *first).count();
    if (between < 1) return out;
    out.missed =
        std::chrono::duration_cast<std::chrono::seconds>(now_ - *first).count() / between + 1;
    const WallTime near = *first + std::chrono::seconds((out.missed - 2) * between);
    for (auto t = schedule.next(near); t && *t <= now_; t = schedule.next(*t)) out.last = t;
    return out;
  }

  void look_again(const CronSchedule& schedule) {
    const Due all = due(schedule, false);
    const WallTime from = all.last ? *all.last : all.missed == 0 ? all.from : now_;
    if (const auto next = schedule.next(from)) plan_.again_at(*next + kDelta);
  }

  void start_if_due() {
    const std::string name_of_zone = spec_["timeZone"].text();
    const auto zone = kube::time_zone(name_of_zone);
    if (!zone)
      return tell(EventType::kWarning, "UnknownTimeZone",
                  fmt::format("invalid timeZone: \"{}\": {}", name_of_zone, zone.error().message));
    if (spec_["suspend"].boolean()) return;
    const std::string text = spec_["schedule"].text();
    const auto schedule = CronSchedule::parse(text, *zone);
    if (!schedule)
      return tell(EventType::kWarning, "UnparseableSchedule",
                  fmt::format("unparseable schedule: \"{}\" : {}", text, schedule.error().message));
    const Due found = due(*schedule, true);
    if (!found.last) return look_again(*schedule);
    if (found.missed > kManyMissed)
      tell(EventType::kWarning, "TooManyMissedTimes",
           "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
           "clock skew");
    const WallTime scheduled = *found.last;
    const auto deadline = spec_["startingDeadlineSeconds"].integer();
    if (deadline && scheduled + std::chrono::seconds(*deadline) < now_) {
      tell(EventType::kWarning, "MissSchedule",
           "Missed scheduled time to start a job: " + mail_time(scheduled));
      return look_again(*schedule);
    }
    const std::string name = job_name(scheduled);
    if (last_ == scheduled || std::any_of(active_.begin(), active_.end(),
                                          [&](const Active& one) { return one.name == name; }))
      return look_again(*schedule);
    const json::Slice policy = spec_["concurrencyPolicy"];
    if (policy.equals("Forbid") && !active_.empty()) {
      tell(EventType::kNormal, "JobAlreadyActive",
           "Not starting job because prior execution is running and concurrency policy is Forbid");
      return look_again(*schedule);
    }
    if (policy.equals("Replace"))
      for (const Object* job : jobs_)
        if (is_active(job->uid())) remove(*job);
    start(name, scheduled, zone->ahead_at(scheduled));
    look_again(*schedule);
  }

  void start(const std::string& name, WallTime scheduled, Duration ahead) {
    const Key key{std::string(cron_.ns()), name};
    const json::Slice job = spec_["jobTemplate"];
    json::Writer w;
    w.object().member("apiVersion").string("batch/v1").member("kind").string("Job");
    w.member("metadata").object().member("name").string(name).member("namespace").string(key.ns);
    if (job["metadata"]["labels"].size() > 0)
      w.member("labels").raw(job["metadata"]["labels"].raw());
    w.member("annotations").object();
    for (auto at = job["metadata"]["annotations"].members().begin(); at != nullptr; ++at)
      if ((*at).key != kScheduled) w.member((*at).key).raw((*at).value.raw());
    w.member(kScheduled).string(local_text(scheduled, ahead)).end();
    w.member("ownerReferences").array().raw(controller_ref(cron_)).end().end();
    w.member("spec").raw(job["spec"].raw()).end();
    if (view_.get(kJob, key) != nullptr) return;  // somebody else's
    writes_.create(kJob, key, w.take());
    writes_.event(cron_, {EventType::kNormal, "SuccessfulCreate", "Create",
                          fmt::format("Created job {}", name)});
  }
  static std::string local_text(WallTime at, Duration ahead) {
    std::string text = kube::time_text(at + ahead);
    if (ahead == Duration{}) return text;
    text.pop_back();
    const auto minutes = std::abs(std::chrono::duration_cast<std::chrono::minutes>(ahead).count());
    return text +
           fmt::format("{}{:02}:{:02}", ahead < Duration{} ? '-' : '+', minutes / 60, minutes % 60);
  }

  void write_status() {
    std::string list;
    if (!active_.empty()) {
      json::Writer w;
      w.array();
      for (const Active& one : active_) w.raw(one.json);
      list = w.end().take();
    }
    status_.raw("active", std::move(list));
    if (last_) status_.text("lastScheduleTime", kube::time_text(*last_));
    plan_.set_status(cron_, status_.json());
  }

  const View& view_;
  const Object& cron_;
  json::Slice spec_;
  WallTime now_;
  StatusDraft status_;
  std::optional<WallTime> last_;
  std::vector<Active> active_;
  std::vector<const Object*> jobs_;
  Plan plan_, writes_;
};

class CronJob final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("cronjob-controller");
    spec.reconciles(kCronJob).watches(kJob, owner_of(kCronJob)).index_by_controller(kJob);
    spec.creates(kJob).erases(kJob).patches_status(kCronJob).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* cron = view.get(kCronJob, key);
    return cron == nullptr ? Plan::done() : Run(view, *cron, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_cron_job() { return std::make_unique<CronJob>(); }

}  // namespace berth::controllers
