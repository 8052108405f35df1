// SPDX-License-Identifier: Apache-2.0
// A GromacsToTune runs as a ScavengerJob of the largest size that finds room: one that does not
// start within its patience goes and the next smaller one is tried; whoever was interrupted may
// begin with the largest again. The number of a ScavengerJob is written before it is made.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/configurations.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using json::Writer;
namespace reason = kube::reason;

constexpr std::size_t kMostHistory = 50;
constexpr Duration kDefaultPatience = 10min;

class GromacsRun {
 public:
  GromacsRun(const View& view, const Object& object, WallTime now)
      : view_(view),
        object_(object),
        spec_(object.member("spec")),
        now_(now),
        status_(object.status()),
        conditions_(status_["conditions"]),
        sizes_(configurations_of(spec_)),
        current_(status_["current"].integer().value_or(0)),
        made_(status_["made"].integer().value_or(0)) {
    states_.resize(sizes_.size(), "Untried");
    tried_.resize(sizes_.size(), 0);
    std::size_t i = 0;
    for (const Slice one : status_["configurations"].elements()) {
      if (i == sizes_.size()) break;
      if (one["state"].present()) states_[i] = one["state"].text();
      tried_[i++] = one["tried"].integer().value_or(0);
    }
    current_ =
        std::clamp<std::int64_t>(current_, 0, std::max<std::int64_t>(0, std::ssize(sizes_) - 1));
  }

  Plan plan() {
    if (object_.deleting() || over()) return Plan::done();
    if (sizes_.empty()) return Plan::done();  // the schema does not let it be
    const Object* job = made_ == 0 ? nullptr : view_.get(kind(), key());
    if (job != nullptr && !ours(*job)) job = nullptr;
    if (made_ == 0)
      open(0);
    else if (job == nullptr)
      create_or_next();
    else
      follow(*job);
    write();
    for (Action& action : after_) plan_.add(std::move(action));
    return std::move(plan_);
  }

 private:
  KindId kind() const { return kube::scavenger_kinds().job; }
  Key key() const { return {std::string(object_.ns()), name_of_job(made_)}; }
  std::string name_of_job(std::int64_t made) const {
    return fmt::format("{}-{}", object_.name(), made);
  }
  bool ours(const Object& job) const {
    const auto owner = job.controller();
    return owner && owner->uid == object_.uid();
  }
  bool over() const {
    return status_["phase"].equals("Completed") || status_["phase"].equals("Failed");
  }
  Duration patience() const {
    return kube::parse_duration(spec_["patience"].text()).value_or(kDefaultPatience);
  }

  // The next ScavengerJob, of this size: first its number.
  void open(std::int64_t size) {
    current_ = size;
    ++made_;
    states_[at(size)] = "Waiting";
    ++tried_[at(size)];
    status_.number("current", current_).number("made", made_);
    status_.text("scavengerJob", name_of_job(made_)).text("scavengerJobUid", "");
    status_.text("since", kube::micro_time_text(now_));
    status_.text("phase", kube::kScavengerPending);
    condition("Running", false, reason::kTrying, size_text());
    after_.push_back(create());
    plan_.again_at(now_ + patience());
  }
  static std::size_t at(std::int64_t size) { return static_cast<std::size_t>(size); }
  std::string size_text() const {
    return fmt::format("size {} of {}", current_ + 1, sizes_.size());
  }

  Action create() const {
    Writer w;
    w.object().member("apiVersion").string(kube::kind_of(kind()).api_version());
    w.member("kind").string("ScavengerJob").member("metadata").object();
    w.member("name").string(name_of_job(made_)).member("namespace").string(object_.ns());
    w.member("ownerReferences").array().raw(controller_ref(object_)).end().end();
    w.member("spec").object();
    for (auto each = spec_["scavengerJob"].members().begin(); each != nullptr; ++each)
      if ((*each).key != "resources" && (*each).key != "replicas")
        w.member((*each).key).raw((*each).value.raw());
    const Configuration& size = sizes_[at(current_)];
    w.member("resources").raw(size.resources).member("replicas").integer(size.replicas);
    w.end().end();
    return CreateAction{{kind(), key()}, w.take()};
  }

  void create_or_next() {
    if (status_["scavengerJobUid"].text().empty()) {  // not made yet, or not seen
      after_.push_back(create());
      return;
    }
    // It was there and is gone: by us, because it found no room, or by somebody else.
    const bool no_room = states_[at(current_)] == "NoRoom";
    if (no_room && current_ + 1 < std::ssize(sizes_)) return open(current_ + 1);
    if (no_room && now_ < since() + patience()) {
      // None fits. The sizes are tried again from the largest, after a while.
      condition("Running", false, reason::kNoSizeFits, "no size finds room");
      plan_.again_at(since() + patience());
      return;
    }
    open(states_[at(current_)] == "NoRoom" || upgrades() ? 0 : current_);
  }
  bool upgrades() const { return !spec_["upgrade"].equals("Never"); }
  WallTime since() const { return kube::parse_time(status_["since"].text()).value_or(now_); }

  void follow(const Object& job) {
    if (status_["scavengerJobUid"].text().empty()) status_.text("scavengerJobUid", job.uid());
    const kube::ScavengerJobView view(job);
    const std::string phase = view.phase();
    const bool waits =
        !view.open() && (phase == kube::kScavengerPending || phase == kube::kScavengerInterrupted);
    if (phase == kube::kScavengerCompleted || phase == kube::kScavengerFailed) {
      const bool well = phase == kube::kScavengerCompleted;
      states_[at(current_)] = phase;
      status_.text("phase", phase).text("message", view.status()["message"].text());
      condition("Running", false, well ? reason::kCompleted : reason::kAppFailed, "");
      condition("Complete", well, well ? reason::kCompleted : reason::kAppFailed,
                view.status()["message"].text());
      note(phase, view.status()["message"].text());
      return;
    }
    if (phase == kube::kScavengerRunning) {
      states_[at(current_)] = "Running";
      status_.text("phase", phase).text("message", "");
      condition("Running", true, reason::kRunning, size_text());
      return;
    }
    const bool interrupted = view.interrupted_count() > 0;
    if (interrupted && states_[at(current_)] == "Running") {
      states_[at(current_)] = "Interrupted";
      status_.text("phase", kube::kScavengerInterrupted);
      note("Interrupted", view.status()["message"].text());
      status_.text("since", kube::micro_time_text(now_));
      // A larger one is made in its place; the checkpoint is in the claim, so nothing is lost.
      if (upgrades() && current_ > 0 && waits) return leave(job);
    }
    if (job.deleting() || !waits) return;
    const WallTime due = since() + patience();
    if (now_ < due) {
      plan_.again_at(due);
      return;
    }
    states_[at(current_)] = "NoRoom";
    note("NoRoom", view.status()["message"].text());
    status_.text("since", kube::micro_time_text(now_));
    status_.text("message", fmt::format("{} found no room within {}", size_text(),
                                        kube::duration_text(patience())));
    leave(job);
  }
  void leave(const Object& job) {
    after_.push_back(EraseAction{target_of(job), kube::Propagation::kBackground, {}, Pin::kUid});
  }

  void note(std::string_view outcome, const std::string& message) {
    std::vector<std::string> all;
    for (const Slice one : status_["history"].elements()) all.emplace_back(one.raw());
    Writer w;
    w.object().member("configuration").integer(current_);
    w.member("job").string(name_of_job(made_)).member("outcome").string(outcome);
    if (!message.empty()) w.member("message").string(message.substr(0, 1'000));
    w.member("at").string(kube::micro_time_text(now_)).end();
    all.push_back(w.take());
    if (all.size() > kMostHistory) all.erase(all.begin(), all.end() - kMostHistory);
    Writer list;
    list.array();
    for (const std::string& one : all) list.raw(one);
    list.end();
    status_.raw("history", list.take());
    after_.push_back(
        EventAction{client::ref_of(object_),
                    {.reason = std::string(outcome),
                     .action = "Follow",
                     .note = fmt::format("{}, ScavengerJob {}: {}", size_text(), name_of_job(made_),
                                         message.empty() ? outcome : message)}});
  }
  void condition(std::string_view type, bool holds, std::string_view why, std::string message) {
    conditions_.set(type, holds, why, std::move(message), now_, object_.generation());
  }
  void write() {
    Writer w;
    w.array();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      w.object().member("resources").raw(sizes_[i].resources);
      w.member("replicas").integer(sizes_[i].replicas);
      if (!sizes_[i].ns_per_day.empty()) w.member("nsPerDay").raw(sizes_[i].ns_per_day);
      w.member("state").string(states_[i]).member("tried").integer(tried_[i]).end();
    }
    w.end();
    status_.raw("configurations", w.take());
    status_.raw("conditions", conditions_.json());
    status_.number("observedGeneration", object_.generation());
    plan_.set_status(object_, status_.json());
  }

  const View& view_;
  const Object& object_;
  Slice spec_;
  WallTime now_;
  StatusDraft status_;
  Conditions conditions_;
  std::vector<Configuration> sizes_;
  std::vector<std::string> states_;
  std::vector<std::int64_t> tried_;
  std::int64_t current_, made_;
  Plan plan_;
  std::vector<Action> after_;  // what follows the status
};

class Gromacs final : public Controller {
 public:
  Spec spec() const override {
    const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
    Spec spec("gromacs-controller");
    spec.reconciles(kinds.gromacs).watches(kinds.job, owner_of(kinds.gromacs));
    spec.creates(kinds.job).erases(kinds.job);
    return spec.patches_status(kinds.gromacs).tells();
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* object = view.get(kube::scavenger_kinds().gromacs, key);
    return object == nullptr ? Plan::done() : GromacsRun(view, *object, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_gromacs() { return std::make_unique<Gromacs>(); }

}  // namespace berth::controllers
