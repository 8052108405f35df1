// SPDX-License-Identifier: Apache-2.0
// Holds the room of a Testbed's slots with ghost pods, and tells what every slot is. Never kills a
// pod that runs in a slot of its own grant; evicts one whose grant is not the ledger's.
#include <charconv>

#include <fmt/format.h>

#include "controllers/nodes.h"
#include "controllers/slot_sight.h"
#include "controllers/testbed/ghosts.h"
#include "controllers/testbed/idle.h"
#include "controllers/testbed/room.h"
#include "controllers/testbed/testbed_status.h"
#include "json/writer.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::SlotKinds;

constexpr Duration kQuotaPatience = 10s;  // between ghosts that a quota refuses
constexpr Duration kStatusEvery = 1s;     // a Testbed of thousands of slots has a large status
constexpr Duration kStrayPatience = 30s;  // caches of different kinds are not in step
constexpr std::size_t kBurst = 500;       // ghosts a run

// What is kept from run to run: "quota <nanos> <message>", "status <nanos>", "slot <n> <nanos>".
struct Notes {
  std::optional<WallTime> quota_at, status_at;
  std::string quota;
  Missing missing;

  static Notes parse(std::string_view text) {
    Notes notes;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const auto word = [rest = line]() mutable {
        const std::string_view one = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        return one;
      };
      auto next = word;
      const std::string_view kind = next();
      const auto number = [](std::string_view digits) {
        std::int64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
      };
      if (kind == "quota") {
        const std::string_view at = next();
        notes.quota_at = WallTime{number(at)};
        notes.quota = line.substr(std::min(line.size(), kind.size() + at.size() + 2));
      } else if (kind == "status") {
        notes.status_at = WallTime{number(next())};
      } else if (kind == "slot") {
        const auto slot = static_cast<slots::SlotNumber>(number(next()));
        notes.missing[slot] = WallTime{number(next())};
      }
    }
    return notes;
  }
  std::string text() const {
    std::string out;
    if (quota_at) out += fmt::format("quota {} {}\n", quota_at->unix_nanos, quota);
    if (status_at) out += fmt::format("status {}\n", status_at->unix_nanos);
    for (const auto& [slot, since] : missing)
      out += fmt::format("slot {} {}\n", slot, since.unix_nanos);
    return out;
  }
};

// One run for one Testbed.
class Run {
 public:
  Run(const View& view, const SlotKinds& kinds, SlotSight sight, WallTime now)
      : view_(view), sight_(std::move(sight)), now_(now), notes_(Notes::parse(view.remembered())) {
    found_.idle = idleness(sight_.testbed, sight_.idle(), now);
    if (found_.idle.look_again) plan_.again_at(*found_.idle.look_again);
    hear_refusal();
    found_.problems = nodes_without_room(view, kinds, sight_, table());
    for (const auto& [node, problem] : found_.problems)
      if (const auto fact = sight_.nodes.find(node); fact != sight_.nodes.end())
        fact->second.problem = problem.message;
    for (const Object* one : view.list(kube::kPriorityClass))
      if (one->member("value").integer().value_or(0) > kube::kGhostPriority &&
          one->name() != kube::kExecutorClass && !one->name().starts_with("system-"))
        found_.classes_above.emplace_back(one->name());
  }

  Plan plan() {
    const slots::SlotTable now = table();
    GhostPlan ghosts = plan_ghosts(view_, sight_, now, found_.problems, notes_.missing, now_);
    notes_.missing = std::move(ghosts.missing);
    if (ghosts.look_again) plan_.again_at(*ghosts.look_again);
    for (const auto& [pod, why] : ghosts.remove)
      plan_.erase(*pod, kube::Propagation::kBackground, Pin::kUid, 0);
    evict_strays(now);
    label_pods(now);
    look_for_weak_holds(now);
    tell(now);
    create(ghosts.create);
    plan_.remember(notes_.text());
    return std::move(plan_);
  }

 private:
  slots::SlotTable table() const {
    return slots::observe({sight_.ledger, sight_.wanted, sight_.classes, sight_.nodes, sight_.pods,
                           sight_.runs, found_.idle.held},
                          now_);
  }

  // A ghost that admission refused: the refusal is shown, and tried again after a while.
  void hear_refusal() {
    if (const FailedAction* failed = view_.failed(); failed != nullptr) {
      const auto* create = std::get_if<CreateAction>(&failed->action);
      if (create != nullptr && failed->error.reason == Reason::kForbidden) {
        notes_.quota_at = now_;
        notes_.quota = failed->error.message.substr(0, failed->error.message.find('\n'));
      }
    }
    if (notes_.quota_at) found_.quota = notes_.quota;
  }

  void create(const std::vector<const slots::Slot*>& wanted) {
    const Object& testbed = sight_.testbed.object();
    std::size_t most = kBurst;
    if (notes_.quota_at) {
      const WallTime next = *notes_.quota_at + kQuotaPatience;
      if (now_ < next) {
        plan_.again_at(next);
        return;
      }
      most = 1;  // to see whether it is still so
      notes_.quota_at.reset();
    }
    for (const slots::Slot* slot : wanted) {
      if (most-- == 0) break;
      plan_.create(
          kube::kPod,
          {std::string(testbed.ns()), ghost_name(testbed.name(), slot->node, slot->on_node)},
          ghost_json(testbed, *slot));
    }
  }

  void evict_strays(const slots::SlotTable& table) {
    for (const auto& [pod, why] : table.strays) {
      const Object* object = view_.get(kube::kPod, pod.key);
      if (object == nullptr || object->deleting()) continue;
      const WallTime due = object->created().value_or(now_) + kStrayPatience;
      if (now_ < due) {
        plan_.again_at(due);
        continue;
      }
      plan_.erase(*object, kube::Propagation::kBackground, Pin::kUid);
      plan_.event(sight_.testbed.object(),
                  {client::EventType::kWarning, "StrayExecutor", "Evict",
                   fmt::format("Deleted pod {}: {}", pod.key.text(), why)});
    }
  }

  // Executors at whose coming a stock scheduler would not make the ghost go. Ours does whatever
  // their class, and binds them with their slot.
  void look_for_weak_holds(const slots::SlotTable& table) {
    for (const slots::Slot& slot : table.slots)
      for (const auto* pod : {&slot.executor, &slot.promised}) {
        const Object* object = *pod ? view_.get(kube::kPod, (*pod)->key) : nullptr;
        if (object != nullptr && object->annotation(kube::kSlotAnnotation).empty() &&
            !object->member("spec")["priorityClassName"].equals(kube::kExecutorClass))
          found_.weak_holds.emplace_back(object->name());
      }
  }

  // For people and for the thesis' tools: which slot a pod has, and whom a ghost makes room for.
  void label_pods(const slots::SlotTable& table) {
    for (const slots::Slot& slot : table.slots) {
      if (slot.executor)
        set_labels(slot.executor->key, {{kube::kSlotIdLabel, std::to_string(slot.on_node)},
                                        {kube::kTargetNodeLabel, slot.node.substr(0, 63)}});
      if (slot.ghost)
        set_labels(slot.ghost->key,
                   {{kube::kPreemptedByLabel,
                     slot.promised ? slot.promised->key.name.substr(0, 63) : std::string()}});
    }
  }
  void set_labels(const Key& key,
                  const std::vector<std::pair<std::string_view, std::string>>& labels) {
    const Object* pod = view_.get(kube::kPod, key);
    if (pod == nullptr || pod->deleting()) return;
    json::Writer w;
    w.object().member("metadata").object().member("labels").object();
    bool changed = false;
    for (const auto& [name, value] : labels) {
      if (pod->label(name) == value) continue;
      changed = true;
      w.member(name);
      if (value.empty())
        w.null();
      else
        w.string(value);
    }
    w.end().end().end();
    if (changed) plan_.patch(*pod, w.take(), Pin::kUid);
  }

  void tell(const slots::SlotTable& table) {
    const Object& testbed = sight_.testbed.object();
    Plan write;
    write.set_status(testbed, testbed_status(sight_, table, found_, now_));
    if (write.empty()) return;
    if (notes_.status_at && now_ - *notes_.status_at < kStatusEvery) {
      plan_.again_at(*notes_.status_at + kStatusEvery);
      return;
    }
    notes_.status_at = now_;
    for (Action& action : write.actions()) plan_.add(std::move(action));
  }

  const View& view_;
  SlotSight sight_;
  WallTime now_;
  Notes notes_;
  TestbedFindings found_;
  Plan plan_;
};

class Testbed final : public Controller {
 public:
  Testbed(std::string name, const SlotKinds& kinds) : name_(std::move(name)), kinds_(kinds) {}

  Spec spec() const override {
    Spec spec(name_);
    spec.reconciles(kinds_.testbed);
    watch_testbed_parts(spec, kinds_);
    // Room that another pod gives back, where it was missing.
    spec.watches(kube::kPod,
                 [kinds = kinds_](const View& view, const Change& change, std::vector<Key>& wake) {
                   const Object& pod = change.after != nullptr ? *change.after : *change.before;
                   const std::string node = pod.member("spec")["nodeName"].text();
                   if (node.empty() || (change.after != nullptr && slots::pod_fact(pod))) return;
                   for (const Object* testbed : view.list(kinds.testbed))
                     if (testbed->status()["nodeProblems"][node]) wake.push_back(testbed->key());
                 });
    // A Testbed that comes or goes makes others fit or not.
    spec.watches(kinds_.testbed, [kinds = kinds_](const View& view, const Change& change,
                                                  std::vector<Key>& wake) {
      if (change.before != nullptr && change.after != nullptr &&
          change.before->generation() == change.after->generation() &&
          change.before->deleting() == change.after->deleting())
        return;
      const bool comes = change.before == nullptr;
      const bool goes = change.after == nullptr || change.after->deleting();
      for (const Object* testbed : view.list(kinds.testbed))
        // The younger give way; those that have given way may have their chance.
        if (comes ? older(*change.after, *testbed) : !goes || testbed->status()["nodeProblems"])
          wake.push_back(testbed->key());
    });
    spec.watches(kube::kPriorityClass,
                 [kinds = kinds_](const View& view, const Change&, std::vector<Key>& wake) {
                   for (const Object* testbed : view.list(kinds.testbed))
                     wake.push_back(testbed->key());
                 });
    spec.index(kube::kPod, kByNode, &node_of_pod);
    spec.creates(kube::kPod).erases(kube::kPod).patches(kube::kPod);
    spec.patches_status(kinds_.testbed).tells();
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* testbed = view.get(kinds_.testbed, key);
    if (testbed == nullptr || testbed->deleting()) return Plan::done();  // ghosts go with it
    Result<SlotSight> sight = look(view, kinds_, *testbed);
    if (!sight || sight->ledger_object == nullptr) {
      if (testbed->status()["state"].present()) return Plan::done();
      return Plan().patch_status(*testbed, R"({"status":{"state":"INITIAL"}})");
    }
    return Run(view, kinds_, std::move(*sight), now).plan();
  }

 private:
  std::string name_;
  const SlotKinds& kinds_;
};

}  // namespace

std::unique_ptr<Controller> make_testbed() {
  return std::make_unique<Testbed>("testbed-controller", kube::thesis_kinds());
}
std::unique_ptr<Controller> make_testbed_alias() {
  return std::make_unique<Testbed>("testbed-alias-controller", kube::alias_kinds());
}

}  // namespace berth::controllers
