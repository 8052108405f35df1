// SPDX-License-Identifier: Apache-2.0
// A GromacsToTune runs as a ScavengerJob of the largest size that finds room: one that does not
// start within its patience goes and the next smaller one is tried. One that was interrupted keeps
// its place in the queue: it changes its size, to a larger one if that would start now. The number
// of a ScavengerJob, and its size, are written before it is made or changed.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/configurations.h"
#include "controllers/scavenger/job_builder.h"
#include "controllers/scavenger/queue_facts.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/time.h"
#include "policy/scavenge/admit.h"
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
  GromacsRun(const View& view, QueueFacts& facts, const Object& object, WallTime now)
      : view_(view),
        facts_(facts),
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
    ++made_;
    status_.number("made", made_);
    status_.text("scavengerJob", name_of_job(made_)).text("scavengerJobUid", "");
    status_.text("phase", kube::kScavengerPending);
    try_size(size);
    after_.push_back(create());
  }
  void try_size(std::int64_t size) {
    current_ = size;
    states_[at(size)] = "Waiting";
    ++tried_[at(size)];
    status_.number("current", current_);
    status_.text("since", kube::micro_time_text(now_));
    condition("Running", false, reason::kTrying, size_text());
    plan_.again_at(now_ + patience());
  }
  // The same ScavengerJob in another size: what it went through counts for its turn.
  void resize(const Object& job, std::int64_t size) {
    try_size(size);
    give_size(job);
  }
  void give_size(const Object& job) {
    const Configuration& size = sizes_[at(current_)];
    after_.push_back(PatchAction{
        .target = target_of(job),
        .patch = fmt::format(
            R"([{{"op":"add","path":"/spec/resources","value":{}}},{{"op":"add","path":"/spec/replicas","value":{}}}])",
            size.resources, size.replicas),
        .type = kube::PatchType::kJson});
  }
  Result<Members> members_in(std::int64_t size) const {
    const auto job = Object::parse(kind(), document(size));
    if (!job) return tl::unexpected(job.error());
    return members_of(kube::ScavengerJobView(*job));
  }
  bool has_size(const kube::ScavengerJobView& job, std::int64_t size) const {
    const auto is = held_members(job), wanted = members_in(size);
    return is && wanted && *is == *wanted;
  }
  // The best size above the present one that would start now.
  std::optional<std::int64_t> larger_that_fits() {
    scavenge::AdmitQuestion question =
        queue_question(facts_, view_, {kube::scavenger_kinds().job, kube::cerit_kinds().job}, now_)
            .question;
    scavenge::Waiting one{.uid = std::string(object_.uid()),
                          .ns = std::string(object_.ns()),
                          .name = std::string(object_.name()),
                          .user = std::string(object_.ns())};
    for (const scavenge::Waiting& other : question.waiting)
      if (other.ns == object_.ns() && other.name == name_of_job(made_))
        one.node_names = other.node_names;
    for (std::int64_t size = 0; size < current_; ++size) {
      const auto members = members_in(size);
      if (!members) continue;
      one.member = members->each;
      one.members = members->count;
      question.waiting = {one};
      if (!scavenge::admit(question).starts.empty()) return size;
    }
    return std::nullopt;
  }
  static std::size_t at(std::int64_t size) { return static_cast<std::size_t>(size); }
  std::string size_text() const {
    return fmt::format("size {} of {}", current_ + 1, sizes_.size());
  }

  Action create() const { return CreateAction{{kind(), key()}, document(current_)}; }
  std::string document(std::int64_t of_size) const {
    Writer w;
    w.object().member("apiVersion").string(kube::kind_of(kind()).api_version());
    w.member("kind").string("ScavengerJob").member("metadata").object();
    w.member("name").string(name_of_job(made_)).member("namespace").string(object_.ns());
    w.member("ownerReferences").array().raw(controller_ref(object_)).end().end();
    w.member("spec").object();
    for (auto each = spec_["scavengerJob"].members().begin(); each != nullptr; ++each)
      if ((*each).key != "resources" && (*each).key != "replicas")
        w.member((*each).key).raw((*each).value.raw());
    const Configuration& size = sizes_[at(of_size)];
    w.member("resources").raw(size.resources).member("replicas").integer(size.replicas);
    w.end().end();
    return w.take();
  }

  void create_or_next() {
    if (status_["scavengerJobUid"].text().empty()) {  // not made yet, or not seen
      if (const FailedAction* failed = view_.failed()) {
        status_.text("message", failed->error.message);
        condition("Running", false, reason::kInvalidJob, failed->error.message);
      }
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
    if (status_["scavengerJobUid"].text().empty()) {
      status_.text("scavengerJobUid", job.uid()).text("message", "");
      condition("Running", false, reason::kTrying, size_text());
    }
    const kube::ScavengerJobView view(job);
    const std::string phase = view.phase();
    const bool waits =
        !view.open() && (phase == kube::kScavengerPending || phase == kube::kScavengerInterrupted);
    // Another size was written down than the one it had when it started.
    if (!waits && !has_size(view, current_))
      for (std::int64_t size = 0; size < std::ssize(sizes_); ++size)
        if (has_size(view, size)) {
          current_ = size;
          status_.number("current", size);
          break;
        }
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
    }
    if (job.deleting() || !waits) return;
    if (!has_size(view, current_)) return give_size(job);
    // Once nothing of the last run is left: a larger size, if there is room for one. The checkpoint
    // is in the claim, so nothing is lost.
    if (states_[at(current_)] == "Interrupted" && view.status()["waitingSince"].present()) {
      const auto larger = upgrades() ? larger_that_fits() : std::nullopt;
      if (larger) return resize(job, *larger);
      states_[at(current_)] = "Waiting";
    }
    // While it backs off it is not for lack of room that it waits.
    const auto backs_off = kube::parse_time(view.status()["notBefore"].text());
    const WallTime due = std::max(since(), backs_off.value_or(since())) + patience();
    if (now_ < due) {
      plan_.again_at(due);
      return;
    }
    states_[at(current_)] = "NoRoom";
    note("NoRoom", view.status()["message"].text());
    status_.text("since", kube::micro_time_text(now_));
    status_.text("message", fmt::format("{} found no room within {}", size_text(),
                                        kube::duration_text(patience())));
    if (interrupted) return resize(job, (current_ + 1) % std::ssize(sizes_));
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
  QueueFacts& facts_;
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
    spec.creates(kinds.job).patches(kinds.job).erases(kinds.job);
    // Whether a larger size would fit is the queue's to say, from the same sight.
    for (const KindId read : {kube::kNode, kube::kPod, kinds.policy, kinds.quota}) spec.reads(read);
    spec.watches_if_served(kube::cerit_kinds().job,
                           [](const View&, const Change&, std::vector<Key>&) {});
    return spec.patches_status(kinds.gromacs).tells();
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* object = view.get(kube::scavenger_kinds().gromacs, key);
    return object == nullptr ? Plan::done() : GromacsRun(view, facts_, *object, now).plan();
  }

 private:
  mutable QueueFacts facts_;  // what was read of objects; changes no decision
};

}  // namespace

std::unique_ptr<Controller> make_gromacs() { return std::make_unique<Gromacs>(); }

}  // namespace berth::controllers
