// SPDX-License-Identifier: Apache-2.0
// Removes pods that nobody else will: those whose node is gone or out of service, those that are
// deleted before they had a node, and the oldest of too many that have ended. A key is a pod, or
// all that have ended together.
#include <algorithm>
#include <tuple>

#include "controllers/nodes.h"
#include "controllers/pods.h"
#include "controllers/registry.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kNode;
using kube::kPod;

// k8s 1.36: a node that is not in the cache may be on its way there.
constexpr Duration kQuarantine = 40s;
constexpr const char* kEnded = "ended";
constexpr const char* kAsked = "node";
const Key kAllEnded{"", "ended pods"};

std::vector<std::string> ended_index(const Object& pod) {
  const json::Slice phase = pod.status()["phase"];
  if (!phase.present() || phase.equals("Pending") || phase.equals("Running") ||
      phase.equals("Unknown"))
    return {};
  return {kEnded};
}

bool evicted(const Object& pod) {
  return pod.status()["phase"].equals("Failed") && pod.status()["reason"].equals("Evicted");
}

void remove(Plan& plan, const Object& pod, WallTime now,
            const std::optional<PodConditionChange>& why = {}) {
  // Nobody is left to say that it ended.
  if (!pod_ended(pod)) patch_pod_condition(plan, pod, why, now, "Failed");
  plan.erase(pod, kube::Propagation::kUnset, Pin::kUid, 0);
}

Plan remove_ended(const View& view, std::size_t kept, WallTime now) {
  std::vector<const Object*> pods = view.by_index(kPod, kEnded, kEnded);
  Plan plan;
  if (kept == 0 || pods.size() <= kept) return plan;
  const std::size_t count = pods.size() - kept;
  const auto order = [](const Object* pod) {
    return std::tuple(!evicted(*pod), pod->created().value_or(WallTime{}), pod->name());
  };
  std::partial_sort(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(count), pods.end(),
                    [&](const Object* a, const Object* b) { return order(a) < order(b); });
  pods.resize(count);
  for (const Object* pod : pods)
    if (!pod->deleting()) remove(plan, *pod, now);
  return plan;
}

class PodGc final : public Controller {
 public:
  explicit PodGc(std::size_t kept) : kept_(kept) {}

  Spec spec() const override {
    Spec spec("pod-garbage-collector-controller");
    spec.reconciles(kPod, &wake_pod).watches(kNode, &wake_pods);
    spec.index(kPod, kByNode, &node_of_pod).index(kPod, kEnded, &ended_index);
    spec.patches_status(kPod).erases(kPod).asks(kNode);
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    if (key == kAllEnded) return remove_ended(view, kept_, now);
    const Object* pod = view.get(kPod, key);
    Plan plan;
    if (pod == nullptr) return plan;
    const auto node_name = node_of_pod(*pod);
    if (node_name.empty()) {
      if (pod->deleting()) remove(plan, *pod, now);
      return plan;
    }
    const Object* node = view.get(kNode, {"", node_name[0]});
    if (node == nullptr) return orphaned(view, *pod, node_name[0], now);
    if (pod->deleting() && readiness(*node) != Readiness::kTrue &&
        has_taint(*node, kOutOfService, ""))
      remove(plan, *pod, now);
    return plan;
  }

 private:
  static Plan orphaned(const View& view, const Object& pod, const std::string& node, WallTime now) {
    Plan plan;
    const WallTime due = view.remembered().empty()
                             ? now + kQuarantine
                             : WallTime{std::stoll(std::string(view.remembered()))};
    if (now < due) return plan.again_at(due).remember(std::to_string(due.unix_nanos));
    const Answer* answer = view.answer(kAsked);
    if (answer == nullptr) {
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = kNode;
      get.name = node;
      plan.ask(kAsked, std::move(get));
      return plan.remember(std::to_string(due.unix_nanos));
    }
    if (answer->error && answer->error->reason == Reason::kNotFound)
      remove(plan, pod, now,
             PodConditionChange{"DisruptionTarget", "True", "DeletionByPodGC",
                                "PodGC: node no longer exists"});
    else
      plan.again_at(now + kQuarantine);  // it is there, or nobody could tell
    return plan;
  }

  static void wake_pod(const View&, const Change& change, std::vector<Key>& wake) {
    const Object *before = change.before, *after = change.after;
    if (after == nullptr) return;
    const bool same = before != nullptr && before->deleting() == after->deleting() &&
                      node_of_pod(*before) == node_of_pod(*after);
    if (!same) wake.push_back(after->key());
    if (!ended_index(*after).empty() && (before == nullptr || ended_index(*before).empty()))
      wake.push_back(kAllEnded);
  }

  static void wake_pods(const View& view, const Change& change, std::vector<Key>& wake) {
    const Object *before = change.before, *after = change.after;
    const auto dead = [](const Object* node) {
      return readiness(*node) != Readiness::kTrue && has_taint(*node, kOutOfService, "");
    };
    const bool matters = before == nullptr || after == nullptr || (!dead(before) && dead(after));
    if (!matters) return;
    const Object& node = after != nullptr ? *after : *before;
    for (const Object* pod : view.by_index(kPod, kByNode, node.name()))
      if (after == nullptr || pod->deleting()) wake.push_back(pod->key());
  }

  std::size_t kept_;
};

}  // namespace

std::unique_ptr<Controller> make_pod_gc(const ControllerOptions& options) {
  return std::make_unique<PodGc>(options.terminated_pods_kept);
}

}  // namespace berth::controllers
