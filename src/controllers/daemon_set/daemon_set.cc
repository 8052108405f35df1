// SPDX-License-Identifier: Apache-2.0
// Keeps one pod of a DaemonSet on every node that suits it, and rolls them to a new template some
// nodes at a time.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controllers/daemon_set/daemons.h"
#include "controllers/history.h"
#include "controllers/ownership.h"
#include "controllers/pod_failures.h"
#include "controllers/pod_template.h"
#include "controllers/pods.h"
#include "controllers/status.h"
#include "json/writer.h"
#include "kube/int_or_string.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using client::EventType;
using kube::kControllerRevision;
using kube::kDaemonSet;
using kube::kNode;
using kube::kPod;
using kube::LabelSelector;

constexpr std::size_t kBurst = 250;  // k8s 1.36: so many pods a run
// Nodes come by the thousand; one look a moment later is enough for all of them.
constexpr Duration kNodeBatch = 100ms;

using Pods = std::vector<const Object*>;

// Those with a node first, then the oldest.
void by_age(Pods& pods) {
  std::stable_sort(pods.begin(), pods.end(), [](const Object* a, const Object* b) {
    const bool here = !a->member("spec")["nodeName"].text().empty();
    const bool there = !b->member("spec")["nodeName"].text().empty();
    if (here != there) return here;
    return a->created() == b->created() ? a->name() < b->name() : a->created() < b->created();
  });
}

// One run for one DaemonSet.
class Run {
 public:
  Run(const View& view, const Object& set, LabelSelector selector, WallTime now)
      : view_(view),
        set_(set),
        spec_(set.member("spec")),
        selector_(std::move(selector)),
        now_(now),
        min_ready_(std::chrono::seconds(spec_["minReadySeconds"].integer().value_or(0))),
        generation_(template_generation(set)),
        fit_(spec_["template"]),
        failures_(view.remembered(), set.status()["observedGeneration"].integer().value_or(0)) {}

  Plan plan() {
    plan_.remember(std::string(view_.remembered()));
    const Claimed history = claim(view_, plan_, set_, selector_, kControllerRevision);
    if (history.unsettled) return std::move(plan_);
    const Claimed pods = claim(view_, plan_, set_, selector_, kPod);
    if (pods.unsettled) return std::move(plan_);
    all_ = pods.objects;
    if (!find_revision(history.objects)) return std::move(plan_);
    for (const Object* node : view_.list(kNode)) nodes_.emplace_back(node, fit_.on(*node));
    for (const Object* pod : all_) {
      if (pod_ended(*pod) && pod->deleting()) continue;
      if (const std::string node = target_node(*pod); !node.empty()) by_node_[node].push_back(pod);
    }

    const FailedAction* failed = pod_failure(view_);
    if (failed != nullptr) {
      tell_pod_failure(plan_, set_, *failed);
      write_status();
    }
    manage();
    if (created_ + erased_ == 0 && !spec_["updateStrategy"]["type"].equals("OnDelete")) roll();
    clean_up();
    if (failed == nullptr) write_status();
    plan_.remember(failures_.text(now_));
    return std::move(plan_);
  }

 private:
  bool available(const Object& pod) const { return pod_available(pod, min_ready_, now_); }
  bool updated(const Object& pod) const { return daemon_is_updated(pod, hash_, generation_); }

  // The revision of the present template; the others are old. False: something was written first.
  bool find_revision(Pods revisions) {
    const std::string data = revision_data(spec_["template"]);
    std::int64_t newest_old = 0;
    Pods present;
    for (const Object* one : revisions) {
      if (one->label(kDaemonHash).empty()) {
        plan_.patch(*one, fmt::format(R"({{"metadata":{{"labels":{{"{}":{}}}}}}})", kDaemonHash,
                                      json::quoted(one->name())));
        return false;
      }
      if (same_revision(*one, data)) {
        present.push_back(one);
        continue;
      }
      newest_old = std::max(newest_old, revision_number(*one));
      old_.push_back(one);
    }
    if (present.empty()) return make_revision(data, newest_old + 1);
    sort_revisions(present);
    const Object& current = *present.back();
    hash_ = current.label(kDaemonHash);
    for (std::size_t i = 0; i + 1 < present.size(); ++i) forget_twin(*present[i]);
    if (revision_number(current) <= newest_old)
      plan_.patch(current, fmt::format(R"({{"revision":{}}})", newest_old + 1));
    return plan_.empty();
  }

  bool make_revision(const std::string& data, std::int64_t number) {
    const std::int64_t collisions = set_.status()["collisionCount"].integer().value_or(0);
    hash_ = template_hash(spec_["template"], collisions);
    const Key key{std::string(set_.ns()), fmt::format("{}-{}", set_.name(), hash_)};
    if (const Object* there = view_.get(kControllerRevision, key)) {
      if (same_revision(*there, data)) return true;  // whoever owns it
      plan_.patch_status(set_,
                         fmt::format(R"({{"status":{{"collisionCount":{}}}}})", collisions + 1));
      return false;
    }
    json::Writer w;
    w.object().member("apiVersion").string("apps/v1").member("kind").string("ControllerRevision");
    w.member("metadata").object().member("name").string(key.name);
    w.member("namespace").string(key.ns);
    const std::string labelled = with_label(spec_["template"], kDaemonHash, hash_);
    w.member("labels").raw(json::Slice(std::string_view(labelled))["metadata"]["labels"].raw());
    if (set_.annotations().size() > 0) w.member("annotations").raw(set_.annotations().raw());
    w.member("ownerReferences").array().raw(controller_ref(set_)).end().end();
    w.member("data").raw(data).member("revision").integer(number).end();
    plan_.create(kControllerRevision, key, w.take());
    return false;
  }

  void forget_twin(const Object& twin) {
    for (const Object* pod : all_)
      if (pod->label(kDaemonHash) == twin.label(kDaemonHash))
        plan_.patch(
            *pod, fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})", kDaemonHash, hash_));
    plan_.erase(twin, kube::Propagation::kUnset);
  }

  void manage() {
    std::vector<std::string> needy;
    Pods extra;
    for (const auto& [node, fits] : nodes_) look_at(*node, fits, needy, extra);
    for (const auto& [node, pods] : by_node_) {
      if (view_.get(kNode, {"", node}) != nullptr) continue;
      for (const Object* pod : pods)
        if (pod->member("spec")["nodeName"].text().empty()) extra.push_back(pod);
    }
    perform(needy, extra);
  }

  void look_at(const Object& node, DaemonFit::Answer fits, std::vector<std::string>& needy,
               Pods& extra) {
    const std::string name(node.name());
    const auto found = by_node_.find(name);
    if (found == by_node_.end()) {
      if (fits.should_run) needy.push_back(name);
      return;
    }
    if (!fits.may_stay) {
      for (const Object* pod : found->second)
        if (!pod->deleting()) extra.push_back(pod);
      return;
    }
    Pods running;
    for (const Object* pod : found->second) {
      if (pod->deleting()) continue;
      if (pod_ended(*pod))
        replace_ended(*pod, name, extra);
      else
        running.push_back(pod);
    }
    by_age(running);
    if (!surges()) {
      extra.insert(extra.end(), running.begin() + (running.empty() ? 0 : 1), running.end());
      return;
    }
    if (running.empty() && fits.should_run) needy.push_back(name);
    if (running.size() > 1) keep_one_of_each(running, extra);
  }

  void replace_ended(const Object& pod, const std::string& node, Pods& extra) {
    const bool failed = pod.status()["phase"].equals("Failed");
    if (failed) {
      if (const auto until = failures_.waits_until(node, now_)) {
        plan_.again_at(*until);
        return;
      }
      failures_.replaced(node, now_);
    }
    plan_.event(set_, {failed ? EventType::kWarning : EventType::kNormal,
                       failed ? "FailedDaemonPod" : "SucceededDaemonPod", "Replace",
                       fmt::format("Found {} daemon pod {}/{} on node {}, will try to {} it",
                                   failed ? "failed" : "succeeded", pod.ns(), pod.name(), node,
                                   failed ? "kill" : "delete")});
    extra.push_back(&pod);
  }

  // While a node surges it has an old and a new pod; the old one stays until the new one is good.
  void keep_one_of_each(const Pods& running, Pods& extra) {
    const Object *fresh = nullptr, *old = nullptr;
    for (const Object* pod : running) {
      const Object*& kept = pod->label(kDaemonHash) == hash_ ? fresh : old;
      if (kept == nullptr)
        kept = pod;
      else
        extra.push_back(pod);
    }
    if (fresh != nullptr && old != nullptr && (!pod_ready(*old) || available(*fresh)))
      extra.push_back(old);
  }

  std::int64_t share(const char* what, std::int64_t of) const {
    const json::Slice given = spec_["updateStrategy"]["rollingUpdate"][what];
    if (!given.present() || given.is_null()) return 0;
    const auto read = kube::IntOrString::from_json(given);
    return read ? read->scaled(of, true).value_or(0) : 0;
  }
  bool surges() const {
    return !spec_["updateStrategy"]["type"].equals("OnDelete") && share("maxSurge", 1) > 0;
  }

  void roll() {
    std::int64_t desired = 0;
    for (const auto& [node, fits] : nodes_) {
      if (!fits.should_run) continue;
      ++desired;
      by_node_[std::string(node->name())];  // also where there is no pod yet
    }
    const std::int64_t surge = share("maxSurge", desired);
    std::int64_t down = share("maxUnavailable", desired);
    if (desired > 0 && surge == 0 && down == 0) down = 1;
    if (surge == 0)
      roll_by_replacing(down);
    else
      roll_by_surging(surge, desired);
  }

  struct Found {
    const Object *fresh = nullptr, *old = nullptr;
    bool several = false;
  };
  Found find(const Pods& pods) const {
    Found found;
    for (const Object* pod : pods) {
      if (pod->deleting()) continue;
      const Object*& kept = updated(*pod) ? found.fresh : found.old;
      found.several |= kept != nullptr;
      kept = pod;
    }
    return found;
  }

  void roll_by_replacing(std::int64_t most) {
    std::int64_t down = 0;
    Pods gone, candidates;
    for (const auto& [node, pods] : by_node_) {
      const Found found = find(pods);
      if (found.several || (found.fresh == nullptr) == (found.old == nullptr)) {
        ++down;
      } else if (found.fresh != nullptr) {
        down += available(*found.fresh) ? 0 : 1;
      } else if (!available(*found.old)) {
        gone.push_back(found.old);
        ++down;
      } else if (down < most) {
        candidates.push_back(found.old);
      }
    }
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>(most - down, 0));
    candidates.resize(std::min(candidates.size(), left));
    gone.insert(gone.end(), candidates.begin(), candidates.end());
    perform({}, gone);
  }

  void roll_by_surging(std::int64_t most, std::int64_t desired) {
    std::int64_t surging = 0, good = 0;
    Pods gone, misplaced;
    std::vector<std::string> needy, candidates;
    for (const auto& [node, pods] : by_node_) {
      const Found found = find(pods);
      if (found.several) {
        ++surging;
        continue;
      }
      const Object* counts = found.old != nullptr ? found.old : found.fresh;
      good += counts != nullptr && available(*counts) ? 1 : 0;
      if (found.old == nullptr) continue;
      if (found.fresh != nullptr) {
        if (available(*found.fresh))
          gone.push_back(found.old);
        else
          ++surging;
        continue;
      }
      const Object* its_node = view_.get(kNode, {"", node});
      if (its_node == nullptr) return;  // its pod goes with it
      const bool fits = fit_.on(*its_node).should_run;
      if (!available(*found.old)) {
        if (fits)
          needy.push_back(node);
        else
          gone.push_back(found.old);
      } else if (!fits) {
        misplaced.push_back(found.old);
      } else if (surging < most) {
        candidates.push_back(node);
      }
    }
    const auto spare = static_cast<std::size_t>(std::max<std::int64_t>(good - desired, 0));
    misplaced.resize(std::min(misplaced.size(), spare));
    gone.insert(gone.end(), misplaced.begin(), misplaced.end());
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>(most - surging, 0));
    candidates.resize(std::min(candidates.size(), left));
    needy.insert(needy.end(), candidates.begin(), candidates.end());
    perform(needy, gone);
  }

  void perform(std::vector<std::string> needy, Pods extra) {
    needy.resize(std::min(needy.size(), kBurst));
    extra.resize(std::min(extra.size(), kBurst));
    if (namespace_ends(view_)) needy.clear();
    if (!needy.empty()) {
      const auto names = new_pod_names(set_, needy.size(), view_.list(kPod, set_.ns()));
      for (std::size_t i = 0; i < needy.size(); ++i) {
        plan_.create(kPod, {std::string(set_.ns()), names[i]},
                     daemon_json(set_, {names[i], needy[i], hash_, generation_}));
        tell("SuccessfulCreate", "Create", fmt::format("Created pod: {}", names[i]));
      }
    }
    for (const Object* pod : extra) {
      plan_.erase(*pod, kube::Propagation::kUnset, Pin::kUid);
      tell("SuccessfulDelete", "Delete", fmt::format("Deleted pod: {}", pod->name()));
    }
    created_ += needy.size();
    erased_ += extra.size();
  }
  void tell(const char* reason, const char* action, std::string note) {
    plan_.event(set_, {EventType::kNormal, reason, action, std::move(note)});
  }

  // Keeps the last few old templates, and those that pods still have.
  void clean_up() {
    auto most = static_cast<std::int64_t>(old_.size()) -
                spec_["revisionHistoryLimit"].integer().value_or(10);
    sort_revisions(old_);
    for (const Object* one : old_) {
      if (most <= 0) return;
      const std::string hash = one->label(kDaemonHash);
      if (std::any_of(all_.begin(), all_.end(),
                      [&](const Object* pod) { return pod->label(kDaemonHash) == hash; }))
        continue;
      plan_.erase(*one, kube::Propagation::kUnset);
      --most;
    }
  }

  void write_status() {
    std::int64_t desired = 0, current = 0, misplaced = 0, ready = 0, fresh = 0, good = 0;
    for (const auto& [node, fits] : nodes_) {
      const auto found = by_node_.find(std::string(node->name()));
      const bool there = found != by_node_.end() && !found->second.empty();
      if (!fits.should_run) {
        misplaced += there ? 1 : 0;
        continue;
      }
      ++desired;
      if (!there) continue;
      ++current;
      Pods pods = found->second;
      by_age(pods);
      ready += pod_ready(*pods[0]) ? 1 : 0;
      good += available(*pods[0]) ? 1 : 0;
      fresh += updated(*pods[0]) ? 1 : 0;
      for (const Object* pod : pods)
        if (const auto when = available_at(*pod, min_ready_, now_)) plan_.again_at(*when);
    }
    StatusDraft status(set_.status());
    status.count("observedGeneration", set_.generation());
    status.number("currentNumberScheduled", current).number("numberMisscheduled", misplaced);
    status.number("desiredNumberScheduled", desired).number("numberReady", ready);
    status.count("updatedNumberScheduled", fresh).count("numberAvailable", good);
    status.count("numberUnavailable", desired - good);
    plan_.set_status(set_, status.json());
  }

  const View& view_;
  const Object& set_;
  json::Slice spec_;
  LabelSelector selector_;
  WallTime now_;
  Duration min_ready_;
  std::string generation_, hash_;
  DaemonFit fit_;
  FailedDaemons failures_;
  Pods all_, old_;  // our pods, and revisions of former templates
  std::vector<std::pair<const Object*, DaemonFit::Answer>> nodes_;
  std::map<std::string, Pods> by_node_;
  std::size_t created_ = 0, erased_ = 0;
  Plan plan_;
};

void wake_for_node(const View& view, const Change& change, std::vector<Key>& wake) {
  if (change.before != nullptr && change.after != nullptr &&
      change.before->labels().raw() == change.after->labels().raw() &&
      change.before->member("spec")["taints"].raw() == change.after->member("spec")["taints"].raw())
    return;
  for (const Object* set : view.list(kDaemonSet)) wake.push_back(set->key());
}

class DaemonSet final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("daemonset-controller");
    spec.reconciles(kDaemonSet).watches(kPod, owner_or_selector(kDaemonSet));
    spec.watches(kControllerRevision, owner_or_selector(kDaemonSet));
    spec.watches(kNode, &wake_for_node, kNodeBatch);
    index_owned(spec, kPod);
    index_owned(spec, kControllerRevision);
    spec.creates(kPod).patches(kPod).erases(kPod);
    spec.creates(kControllerRevision).patches(kControllerRevision).erases(kControllerRevision);
    spec.patches_status(kDaemonSet).tells();
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* set = view.get(kDaemonSet, key);
    if (set == nullptr) return Plan::done();
    return with_selector(*set, [&](LabelSelector selector) -> Plan {
      if (selector.everything())
        return Plan().event(
            *set, {EventType::kWarning, "SelectingAll", "Select",
                   "This daemon set is selecting all pods. A non-empty selector is required."});
      if (set->deleting()) return Plan::done();
      return Run(view, *set, std::move(selector), now).plan();
    });
  }
};

}  // namespace

std::unique_ptr<Controller> make_daemon_set() { return std::make_unique<DaemonSet>(); }

}  // namespace berth::controllers
