// SPDX-License-Identifier: Apache-2.0
// Says of each PodDisruptionBudget how many more pods may be disrupted now. Evictions ask that
// number; without this controller it stays 0 and nothing can be evicted.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/disruption_budget_view.h"
#include "kube/time.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::DisruptionBudgetView;
using kube::kPod;
using kube::kPodDisruptionBudget;
using kube::LabelSelector;

// k8s 1.36: an eviction that was let through and is not followed by a deletion counts this long.
constexpr Duration kDeletionTimeout = 2min;
constexpr Duration kRetry = 30s, kUnknownPatience = 1s;  // with what the server could not tell

struct Expected {
  std::int64_t pods = 0, healthy = 0;
  bool unmanaged = false;  // some pods have no controller to count by
};

bool of_group(std::string_view api_version, std::string_view group) {
  const std::size_t slash = api_version.find('/');
  return (slash == api_version.npos ? "" : api_version.substr(0, slash)) == group;
}

class Run {
 public:
  Run(const View& view, const Object& budget, WallTime now)
      : view_(view), budget_(budget), spec_(budget), now_(now) {}

  Plan plan() {
    const Result<LabelSelector> selector = spec_.selector();
    if (!selector) return fail_safe(selector.error().message);
    for (const Object* pod : view_.list(kPod, budget_.ns()))
      if (selector->matches(pod->labels())) pods_.push_back(pod);
    if (pods_.empty()) tell(client::EventType::kNormal, "NoPods", "No matching pods found");
    const Result<Expected> expected = expect();
    if (unanswered_) return std::move(plan_);
    if (!expected) {
      tell(client::EventType::kWarning, "CalculateExpectedPodCountFailed",
           "Failed to calculate the number of expected pods: " + expected.error().message);
      return fail_safe(expected.error().message);
    }
    if (expected->unmanaged)
      tell(client::EventType::kWarning, "UnmanagedPods",
           fmt::format("Pods selected by this PodDisruptionBudget (selector: {}) were found to be "
                       "unmanaged. As a result, the status of the PDB cannot be calculated "
                       "correctly, which may result in undefined behavior. To account for these "
                       "pods please set \".spec.minAvailable\" field of the PDB to an integer "
                       "value.",
                       selector->text()));
    write(*expected);
    return std::move(plan_);
  }

 private:
  // Repeated with every look at the budget; the recorder makes one series of it.
  void tell(client::EventType type, const char* reason, std::string note) {
    notes_.push_back({type, reason, "Sync", std::move(note)});
  }

  Result<Expected> expect() {
    const auto most_down = spec_.max_unavailable();
    const auto least = spec_.min_available();
    if (!most_down) return tl::unexpected(most_down.error());
    if (!least) return tl::unexpected(least.error());
    Expected expected{.pods = static_cast<std::int64_t>(pods_.size())};
    if (!*most_down && !*least) return Expected{};
    if (!*most_down && (*least)->is_int()) {
      expected.healthy = (*least)->number();
      return expected;
    }
    Result<Expected> scale = count_by_controllers();
    if (!scale) return scale;
    const auto amount = (*most_down ? **most_down : **least).scaled(scale->pods, true);
    if (!amount) return tl::unexpected(amount.error());
    scale->healthy = *most_down ? std::max<std::int64_t>(0, scale->pods - *amount) : *amount;
    return scale;
  }

  struct Scale {
    std::string uid;  // of whoever is scaled
    std::int64_t pods = 0;
  };

  // As many pods as their controllers want together.
  Result<Expected> count_by_controllers() {
    Expected expected;
    std::set<std::string> counted;  // controllers, by uid
    for (const Object* pod : pods_) {
      const auto owner = pod->controller();
      if (!owner) {
        expected.unmanaged = true;
        continue;
      }
      if (counted.count(owner->uid) > 0) continue;
      const Object* workload = workload_of(*pod, *owner);
      const Result<Scale> scale =
          workload != nullptr ? Scale{std::string(workload->uid()),
                                      workload->member("spec")["replicas"].integer().value_or(1)}
                              : scale_of(*pod, *owner);
      if (!scale) return tl::unexpected(scale.error());
      if (counted.insert(scale->uid).second) expected.pods += scale->pods;
    }
    return expected;
  }

  // What the caches show of whose spec.replicas counts: of a ReplicaSet its Deployment, where it
  // has one. Null: none of these.
  const Object* workload_of(const Object& pod, const kube::OwnerRef& owner) const {
    for (const KindId id : {kube::kReplicaSet, kube::kStatefulSet, kube::kReplicationController}) {
      const kube::Kind& kind = kube::kind_of(id);
      if (owner.kind != kind.kind || !of_group(owner.api_version, kind.group)) continue;
      const Object* found = view_.get(id, {std::string(pod.ns()), owner.name});
      if (found == nullptr || found->uid() != owner.uid) return nullptr;
      const auto above = found->controller();
      if (!above || above->kind != "Deployment") return found;
      const Object* deployment = view_.get(kube::kDeployment, {std::string(pod.ns()), above->name});
      return deployment != nullptr && deployment->uid() == above->uid ? deployment : nullptr;
    }
    return nullptr;
  }

  // Of an owner of any kind that has the subresource, as the server tells it.
  Result<Scale> scale_of(const Object& pod, const kube::OwnerRef& owner) {
    const auto id = view_.served(owner.api_version, owner.kind);
    if (!id) {
      unanswered_ |= !view_.served("v1", "Pod");  // it has not told yet which kinds it has
      plan_.again_at(now_ + (unanswered_ ? kUnknownPatience : kRetry));
      return invalid(fmt::format("no matches for kind \"{}\" in version \"{}\"", owner.kind,
                                 owner.api_version));
    }
    const kube::Kind& kind = kube::kind_of(*id);
    if (!view_.scales(*id))
      return invalid(fmt::format("{}{}{} does not implement the scale subresource", kind.plural,
                                 kind.group.empty() ? "" : ".", kind.group));
    const std::string question = "scale of " + owner.uid;
    const Answer* answer = view_.answer(question);
    if (answer == nullptr) {
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = *id;
      get.ns = kind.namespaced ? pod.ns() : "";
      get.name = owner.name;
      get.subresource = "scale";
      plan_.ask(question, std::move(get));
      unanswered_ = true;
      return Scale{owner.uid};
    }
    if (answer->error && answer->error->reason != Reason::kNotFound) {
      plan_.again_at(now_ + kRetry);
      return tl::unexpected(*answer->error);
    }
    if (answer->error || answer->objects.size() != 1 || answer->objects[0].uid() != owner.uid)
      return invalid(fmt::format("found no controllers for pod \"{}\"", pod.name()));
    return Scale{owner.uid, answer->objects[0].member("spec")["replicas"].integer().value_or(0)};
  }

  void write(const Expected& expected) {
    std::map<std::string, std::string> disrupted;  // still to be deleted: name, time
    std::int64_t healthy = 0;
    for (const Object* pod : pods_) {
      if (pod->deleting()) continue;
      const std::string name(pod->name());
      const std::string time = spec_.disrupted_pods()[name].text();
      if (const auto at = kube::parse_time(time)) {
        if (now_ <= *at + kDeletionTimeout) {
          disrupted[name] = time;
          plan_.again_at(*at + kDeletionTimeout + 1s);
        } else {
          plan_.event(*pod,
                      {client::EventType::kWarning, "NotDeleted", "Sync",
                       fmt::format("Pod was expected by PDB {}/{} to be deleted but it wasn't",
                                   budget_.ns(), budget_.name())});
        }
        if (now_ < *at + kDeletionTimeout) continue;
      }
      healthy += pod_ready(*pod) ? 1 : 0;
    }
    std::int64_t allowed = healthy - expected.healthy;
    // A budget that chooses no pods must not let the first ones go before anybody has counted.
    if (expected.pods <= 0 || allowed <= 0) allowed = 0;
    StatusDraft status(budget_.status());
    status.number("disruptionsAllowed", allowed).number("currentHealthy", healthy);
    status.number("desiredHealthy", expected.healthy).number("expectedPods", expected.pods);
    status.count("observedGeneration", budget_.generation());
    std::string list;
    if (!disrupted.empty()) {
      json::Writer w;
      w.object();
      for (const auto& [name, time] : disrupted) w.member(name).string(time);
      list = w.end().take();
    }
    status.raw("disruptedPods", std::move(list));
    finish(status, allowed > 0, allowed > 0 ? "SufficientPods" : "InsufficientPods", "",
           budget_.generation());
  }

  // What cannot be counted is not disrupted.
  Plan fail_safe(const std::string& why) {
    StatusDraft status(budget_.status());
    status.number("disruptionsAllowed", 0);
    finish(status, false, "SyncFailed", why, status["observedGeneration"].integer().value_or(0));
    return std::move(plan_);
  }

  void finish(StatusDraft& status, bool allowed, const char* reason, const std::string& message,
              std::int64_t generation) {
    Conditions conditions(status["conditions"]);
    Condition condition{.type = "DisruptionAllowed",
                        .status = allowed ? "True" : "False",
                        .reason = reason,
                        .message = message,
                        .last_transition = kube::time_text(now_),
                        .observed_generation = generation};
    const Condition* before = conditions.find(condition.type);
    if (before != nullptr && before->status == condition.status)
      condition.last_transition = before->last_transition;
    conditions.put_in_place(std::move(condition));
    status.raw("conditions", conditions.json());
    plan_.set_status(budget_, status.json());
    for (client::EventNote& note : notes_) plan_.event(budget_, std::move(note));
  }

  const View& view_;
  const Object& budget_;
  DisruptionBudgetView spec_;
  WallTime now_;
  std::vector<const Object*> pods_;
  std::vector<client::EventNote> notes_;
  bool unanswered_ = false;  // nothing can be said before the plan's questions are answered
  Plan plan_;
};

void wake_budgets(const View& view, const Object& pod, std::vector<Key>& wake) {
  for (const Object* budget : view.list(kPodDisruptionBudget, pod.ns())) {
    const auto selector = DisruptionBudgetView(*budget).selector();
    if (selector && selector->matches(pod.labels())) wake.push_back(budget->key());
  }
}

class Disruption final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("disruption-controller");
    spec.reconciles(kPodDisruptionBudget).watches(kPod, each_state(&wake_budgets));
    spec.reads(kube::kReplicaSet).reads(kube::kDeployment).reads(kube::kStatefulSet);
    spec.reads(kube::kReplicationController).asks_any_scale();
    spec.patches_status(kPodDisruptionBudget).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* budget = view.get(kPodDisruptionBudget, key);
    return budget == nullptr ? Plan::done() : Run(view, *budget, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_disruption() { return std::make_unique<Disruption>(); }

}  // namespace berth::controllers
