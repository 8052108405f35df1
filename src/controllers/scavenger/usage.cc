// SPDX-License-Identifier: Apache-2.0
// What ScavengerJobs really use, where somebody serves metrics.k8s.io: all of them are measured at
// once, every minute, and one that asks for much more or less than it uses is told so in its
// status, once a window at most.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "controllers/scavenger/job_builder.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_policy_view.h"
#include "kube/time.h"
#include "policy/scavenge/recommend.h"
#include "policy/scavenge/resources.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using json::Slice;
using json::Writer;
using scavenge::UsageSample;

constexpr Duration kEvery = 1min, kUnservedPatience = 10min;
constexpr std::size_t kMostSamples = 240;  // of a job
constexpr const char* kQuestion = "usage";
const Key kUsage{"", "usage"};

KindId pod_metrics_kind() {
  static const KindId kind = kube::learn_kind({"metrics.k8s.io", "v1beta1", "PodMetrics", "pods"});
  return kind;
}

// What was measured of a job, the latest at the end.
struct Measured {
  std::vector<UsageSample> samples = {};
  std::map<std::string, WallTime, std::less<>> last = {};  // by pod
  std::string job_uid = {};                                // the controller of its pods
  bool seen = false;                                       // it still runs

  bool enough() const {
    const scavenge::RecommendRules rules;
    return samples.size() >= rules.least_samples &&
           samples.back().at - samples.front().at >= rules.least_time;
  }
};

kube::ResourceList usage_of(const Object& metrics) {
  kube::ResourceList sum;
  for (const Slice container : metrics.member("containers").elements())
    if (const auto usage = kube::parse_resource_list(container["usage"], "usage"))
      kube::add(sum, *usage);
  return sum;
}

std::string recommendation_json(const scavenge::Recommendation& advice, WallTime now) {
  Writer w;
  w.object().member("requests").object();
  for (const auto& [name, amount] : advice.requests) w.member(name).string(amount.text());
  w.end().member("message").string(advice.message);
  w.member("at").string(kube::micro_time_text(now)).end();
  return w.take();
}

// Is it another recommendation, and not the same with a digit changed?
bool differs(Slice told, const scavenge::Recommendation& advice) {
  const auto before = kube::parse_resource_list(told["requests"], "requests");
  if (!before || before->size() != advice.requests.size()) return true;
  const int percent = scavenge::RecommendRules().worth_it_percent;
  for (const auto& [name, amount] : advice.requests) {
    const auto was = before->find(name);
    if (was == before->end()) return true;
    const std::int64_t old = scavenge::amount_of(name, was->second),
                       now = scavenge::amount_of(name, amount);
    if (std::max(old, now) - std::min(old, now) > scavenge::scaled(old, percent, 100)) return true;
  }
  return false;
}

class Usage final : public Controller {
 public:
  Spec spec() const override {
    const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
    Spec spec("scavenger-usage-controller");
    // Somebody begins or ends to run.
    const Mapping runs = [](const View&, const Change& change, std::vector<Key>& wake) {
      const auto phase = [](const Object* job) {
        return job == nullptr ? std::string() : kube::ScavengerJobView(*job).phase();
      };
      if (phase(change.before) != phase(change.after)) wake.push_back(kUsage);
    };
    spec.reconciles(kinds.job, runs).patches_status(kinds.job);
    spec.watches_if_served(kube::cerit_kinds().job, runs).patches_status(kube::cerit_kinds().job);
    return spec.reads(kube::kPod).reads(kinds.policy).asks(pod_metrics_kind()).keys_in_flight(1);
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key != kUsage) return Plan::done();
    Plan plan;
    const std::vector<const Object*> jobs = running(view);
    if (jobs.empty()) return plan;
    if (const Answer* answer = view.answer(kQuestion)) {
      if (answer->error) return std::move(plan.again_at(now + kUnservedPatience));
      take(view, *answer, now);
      for (const Object* job : jobs) advise(view, *job, now, plan);
      return std::move(plan.again_at(now + kEvery).remember(std::to_string(now.unix_nanos)));
    }
    const std::string before(view.remembered());
    if (const WallTime due = WallTime{std::stoll("0" + before)} + kEvery; now < due)
      return std::move(plan.again_at(due).remember(before));
    kube::ApiRequest list;
    list.verb = kube::Verb::kList;
    list.kind = pod_metrics_kind();
    list.options.label_selector = std::string(kube::kScavengerLabel);
    return std::move(plan.ask(kQuestion, std::move(list)));
  }

 private:
  std::vector<const Object*> running(const View& view) const {
    std::vector<const Object*> out;
    for (auto& [uid, one] : measured_) one.seen = false;
    for (const KindId kind : {kube::scavenger_kinds().job, kube::cerit_kinds().job})
      for (const Object* job : view.list(kind)) {
        const kube::ScavengerJobView seen(*job);
        if (seen.phase() != kube::kScavengerRunning) continue;
        Measured& measured = measured_[std::string(job->uid())];
        measured.seen = true;
        measured.job_uid = seen.job_uid();
        out.push_back(job);
      }
    std::erase_if(measured_, [](const auto& one) { return !one.second.seen; });
    return out;
  }

  void take(const View& view, const Answer& answer, WallTime now) const {
    for (const Object& metrics : answer.objects) {
      const Object* pod = view.get(kube::kPod, metrics.key());
      if (pod == nullptr) continue;
      const auto found = measured_.find(pod->label(kube::kScavengerLabel));
      if (found == measured_.end()) continue;
      Measured& job = found->second;
      // A label is anybody's to write.
      if (const auto owner = pod->controller(); !owner || owner->uid != job.job_uid) continue;
      const WallTime at =
          std::min(now, kube::parse_time(metrics.member("timestamp").text()).value_or(now));
      auto& last = job.last[std::string(pod->uid())];
      if (at <= last) continue;
      last = at;
      job.samples.push_back({at, usage_of(metrics)});
      if (job.samples.size() > kMostSamples)
        job.samples.erase(job.samples.begin(), job.samples.end() - kMostSamples);
    }
  }

  void advise(const View& view, const Object& object, WallTime now, Plan& plan) const {
    const Measured& measured = measured_.find(std::string(object.uid()))->second;
    const kube::ScavengerJobView job(object);
    const auto members = held_members(job);
    // Of the launcher of an MPIJob nothing is said, and it is measured with the workers.
    if (!members || members->launcher || !measured.enough()) return;
    const Slice told = job.status()["recommendation"];
    const auto advice = scavenge::recommend(members->each, measured.samples);
    if (advice ? !differs(told, *advice) : !told.is_object()) return;
    const kube::ScavengerPolicy policy = kube::read_scavenger_policy(
        view.get(kube::scavenger_kinds().policy, {"", std::string(kube::kScavengerPolicyName)}));
    if (const auto at = kube::parse_time(told["at"].text());
        at && now < *at + policy.window(job.duration()))
      return;
    StatusDraft status(job.status());
    status.raw("recommendation", advice ? recommendation_json(*advice, now) : std::string());
    plan.set_status(object, status.json());
  }

  // What was measured goes with the process: who starts anew says something a few minutes later.
  mutable std::unordered_map<std::string, Measured> measured_;  // by the ScavengerJob's uid
};

}  // namespace

std::unique_ptr<Controller> make_scavenger_usage() { return std::make_unique<Usage>(); }

}  // namespace berth::controllers
