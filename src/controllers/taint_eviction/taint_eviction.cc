// SPDX-License-Identifier: Apache-2.0
// Removes pods from nodes whose taints they do not tolerate, or no longer.
#include <algorithm>

#include <fmt/format.h>

#include "controllers/nodes.h"
#include "kube/pod_view.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kNode;
using kube::kPod;
using kube::Taint;
using kube::Toleration;

// How long a pod may stay.
struct Stay {
  enum class How { kForever, kFor, kNotAtAll } how = How::kForever;
  Duration time{};
};

Stay stay(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations) {
  Stay shortest;
  for (const Taint& taint : taints) {
    const auto used = std::find_if(tolerations.begin(), tolerations.end(),
                                   [&](const Toleration& one) { return tolerates(one, taint); });
    if (used == tolerations.end()) return {Stay::How::kNotAtAll};
    if (!used->seconds) continue;
    const Duration time = std::chrono::seconds(std::max<std::int64_t>(*used->seconds, 0));
    if (shortest.how == Stay::How::kForever || time < shortest.time)
      shortest = {Stay::How::kFor, time};
  }
  if (shortest.how == Stay::How::kFor && shortest.time == Duration{})
    shortest.how = Stay::How::kNotAtAll;
  return shortest;
}

client::EventNote note(std::string text) {
  return {
      .reason = "TaintManagerEviction", .action = "TaintManagerEviction", .note = std::move(text)};
}

class TaintEviction final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("taint-eviction-controller");
    spec.reconciles(kPod, &wake_pod).watches(kNode, &wake_pods).index(kPod, kByNode, &node_of_pod);
    spec.patches_status(kPod).erases(kPod).tells();
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* pod = view.get(kPod, key);
    const auto node_name = pod == nullptr ? std::vector<std::string>{} : node_of_pod(*pod);
    const Object* node = node_name.empty() ? nullptr : view.get(kNode, {"", node_name[0]});
    Plan plan;
    if (node == nullptr) return cancel(view, key, pod, plan);
    const Stay how =
        stay(no_execute_taints(*node), kube::tolerations_of(kube::PodView(*pod).tolerations()));
    if (how.how == Stay::How::kForever) return cancel(view, key, pod, plan);
    // k8s 1.36: the time of the first decision stands, however tolerations change afterwards.
    WallTime due = now + how.time;
    if (how.how == Stay::How::kNotAtAll) {
      cancel(view, key, pod, plan);
      due = now;
    } else if (!view.remembered().empty()) {
      due = WallTime{std::stoll(std::string(view.remembered()))};
    }
    if (now < due) return plan.again_at(due).remember(std::to_string(due.unix_nanos));
    evict(plan, *pod, now);
    return plan.remember(std::to_string(due.unix_nanos) + kUnderWay);
  }

 private:
  static constexpr const char* kUnderWay = " under way";

  static Plan cancel(const View& view, const Key& key, const Object* pod, Plan& plan) {
    if (view.remembered().empty() || view.remembered().ends_with(kUnderWay)) return plan;
    client::ObjectRef ref;
    ref.api_version = "v1";
    ref.kind = "Pod";
    ref.ns = key.ns;
    ref.name = key.name;
    plan.add(EventAction{pod != nullptr ? client::ref_of(*pod) : std::move(ref),
                         note("Cancelling deletion of Pod " + key.text())});
    return plan;
  }

  static void evict(Plan& plan, const Object& pod, WallTime now) {
    Plan change;
    const bool marks =
        patch_pod_condition(change, pod,
                            PodConditionChange{"DisruptionTarget", "True", "DeletionByTaintManager",
                                               "Taint manager: deleting due to NoExecute taint"},
                            now);
    if (!marks && pod.deleting()) return;
    plan.event(pod, note("Marking for deletion Pod " + pod.key().text()));
    for (Action& action : change.actions()) plan.add(std::move(action));
    if (!pod.deleting()) plan.erase(pod, kube::Propagation::kUnset, Pin::kUid);
  }

  static void wake_pod(const View&, const Change& change, std::vector<Key>& wake) {
    const Object *before = change.before, *after = change.after;
    const bool same =
        before != nullptr && after != nullptr && node_of_pod(*before) == node_of_pod(*after) &&
        before->member("spec")["tolerations"].raw() == after->member("spec")["tolerations"].raw();
    if (!same) wake.push_back((after != nullptr ? after : before)->key());
  }

  static void wake_pods(const View& view, const Change& change, std::vector<Key>& wake) {
    const Object *before = change.before, *after = change.after;
    const auto taints = [](const Object* node) {
      return node == nullptr ? std::vector<Taint>{} : no_execute_taints(*node);
    };
    if (taints(before) == taints(after)) return;
    const Object& node = after != nullptr ? *after : *before;
    for (const Object* pod : view.by_index(kPod, kByNode, node.name())) wake.push_back(pod->key());
  }
};

}  // namespace

std::unique_ptr<Controller> make_taint_eviction() { return std::make_unique<TaintEviction>(); }

}  // namespace berth::controllers
