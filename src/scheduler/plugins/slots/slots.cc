// SPDX-License-Identifier: Apache-2.0
// Brings an executor of a BatchJob to the slot of a Testbed that it was granted, in the room of the
// ghost that holds it, and nowhere else. What a slot is and who gets it is the SlotBoard's to say,
// as it is the extender's; pods without a grant are not looked at.
//
//   PreFilter  asks for the slot: names its node, and has it judged without the slot's ghost
//   PostFilter nobody is evicted by priority for such a pod
//   Reserve    the slot is taken, as far as this process is concerned
//   PreBind    the ghost goes; its room is this pod's, which the cluster state holds already
//   Bind       node and slot are one write
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/log.h"
#include "client/api.h"
#include "kube/ours/ours.h"
#include "policy/slots/board.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/slot_holds.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

using slots::SlotBoard;

// What an attempt found out.
struct Chosen final : CycleState {
  bool is_ghost = false;  // it comes into the room that is held for it
  kube::Key testbed;
  slots::Assumed place;
  PodPtr ghost;  // null: there is none
};

kube::ResourceList requests_of(const Resources& asked) {
  using kube::Quantity;
  kube::ResourceList list;
  const auto put = [&](std::string_view name, std::int64_t amount, std::int32_t scale) {
    if (amount > 0) list.emplace(name, Quantity::of(amount, Quantity::Format::kDecimalSI, scale));
  };
  put("cpu", asked.millicores, -3);
  put("memory", asked.memory, 0);
  put("ephemeral-storage", asked.disk, 0);
  for (const auto& [name, amount] : asked.scalars) put(name, amount, 0);
  return list;
}

class Slots final : public Filter, public PostFilter, public Reserve, public PreBind, public Bind {
 public:
  explicit Slots(const PluginContext& context)
      : Plugin(context),
        services_(context.services),
        board_(services_ != nullptr ? services_->slots() : nullptr),
        elsewhere_(context.reasons.id(context.id, Code::kUnresolvable,
                                      {"node(s) didn't hold the slot that the pod was granted"})) {
    if (board_ != nullptr)
      listening_ = board_->on_change([this](const kube::Key& testbed) { slots_changed(testbed); });
  }

  void shape_key(const Pod& pod, const ClusterState&, std::string& key) const override {
    if (pod.labels->has(kube::kTestbedLabel)) key += "slot";
  }

  PreFilterResult prepare(Cycle& cycle) const override {
    if (board_ == nullptr) return PreFilterResult::skip();
    const auto grant = cycle.pod.labels->find(kube::kGrantLabel);
    if (!grant) return prepare_ghost(cycle);
    const SlotBoard::Answered answer = board_->ask(
        {cycle.pod.uid, std::string(*grant), requests_of(cycle.pod.spec->asked)}, now());
    if (answer.slot.kind != slots::SlotAnswer::Kind::kSlot) return wait(cycle.pod, answer);
    Chosen& chosen = cycle.emplace_state<Chosen>(slot());
    chosen.testbed = answer.testbed;
    chosen.place = {{cycle.pod.ns, cycle.pod.name},
                    cycle.pod.uid,
                    std::string(*grant),
                    answer.slot.slot,
                    answer.slot.node};
    chosen.ghost = ghost_of(cycle.cluster, answer);
    if (chosen.ghost) cycle.without.push_back(chosen.ghost);
    without_hold(cycle, chosen);
    return {.status = {}, .nodes = {{answer.slot.node}}};
  }

  // A nomination is of another node at times; what is named is judged here, too.
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const Chosen* chosen = executor_in(cycle);
    if (chosen == nullptr) return {};
    const NodeId wanted = cycle.cluster.node_id(chosen->place.node);
    const NodeId* node = rows.node;
    reject_rows(keep, why, elsewhere_, [=](std::uint32_t row) { return node[row] != wanted; });
    return {};
  }

  // Who is refused waits for its slot: slots_changed() tells when that may be another.
  std::optional<std::vector<EventInterest>> events() const override {
    return std::vector<EventInterest>{};
  }

  PostFilterResult post_filter(Cycle& cycle, const Diagnosis&) override {
    if (board_ == nullptr || !cycle.pod.labels->has(kube::kGrantLabel))
      return {Status{Code::kUnschedulable}};
    return {Status::unresolvable("a pod of a Testbed preempts nobody but its slot's ghost")};
  }

  Status reserve(Cycle& cycle, const std::string&) override {
    const Chosen* chosen = chosen_in(cycle);
    if (chosen == nullptr) return {};
    if (!chosen->is_ghost) board_->assume(chosen->place);
    if (SlotHolds* holds = services_->holds()) holds->take(chosen->testbed, chosen->place.slot);
    return {};
  }
  void unreserve(Cycle& cycle, const std::string&) override {
    const Chosen* chosen = chosen_in(cycle);
    if (chosen == nullptr) return;
    if (!chosen->is_ghost) board_->forget(chosen->place.uid);
    if (SlotHolds* holds = services_->holds())
      holds->give_back(chosen->testbed, chosen->place.slot);
  }

  Status pre_bind_pre_flight(Cycle& cycle, const std::string&) override {
    const Chosen* chosen = executor_in(cycle);
    return chosen == nullptr || !chosen->ghost ? Status::skip() : Status{};
  }
  void pre_bind(Cycle& cycle, const std::string&, Done<Status> done) override {
    const Pod& ghost = *chosen_in(cycle)->ghost;
    kube::Options options;
    options.grace_period_seconds = 0;
    options.precondition_uid = ghost.uid;
    services_->api().erase(
        kube::kPod, {ghost.ns, ghost.name},
        services_->scope().done<Ok>(kNoLimit,
                                    [done = std::move(done)](Result<Ok> answer) mutable {
                                      const bool gone =
                                          answer || answer.error().reason == Reason::kNotFound ||
                                          answer.error().reason == Reason::kConflict;
                                      done(gone ? Status{} : Status::error(answer.error().message));
                                    }),
        options);
  }

  // As DefaultBinder's: a refusal is handed on as the error it is.
  void bind(Cycle& cycle, const std::string& node, Done<Status> done) override {
    const Chosen* chosen = executor_in(cycle);
    if (chosen == nullptr) return done(Status::skip());
    services_->api().bind(
        chosen->place.pod, chosen->place.uid, node,
        services_->scope().done<Ok>(kNoLimit,
                                    [done = std::move(done)](Result<Ok> answer) mutable {
                                      if (answer)
                                        done(Status{});
                                      else
                                        done(tl::unexpected(std::move(answer.error())));
                                    }),
        {{std::string(kube::kSlotAnnotation), std::to_string(chosen->place.slot)}});
  }

 private:
  const Chosen* chosen_in(const Cycle& cycle) const { return cycle.state<Chosen>(slot()); }
  const Chosen* executor_in(const Cycle& cycle) const {
    const Chosen* chosen = chosen_in(cycle);
    return chosen == nullptr || chosen->is_ghost ? nullptr : chosen;
  }

  // A ghost names its node by itself; what it needs is the room that is held for it.
  PreFilterResult prepare_ghost(Cycle& cycle) const {
    SlotHolds* holds = services_->holds();
    if (holds == nullptr || holds->size() == 0 || !cycle.pod.labels->has(kube::kGhostLabel))
      return PreFilterResult::skip();
    const auto place = board_->place_of(cycle.pod.uid, now());
    if (!place || !holds->find(place->testbed, place->slot->number)) return PreFilterResult::skip();
    Chosen& chosen = cycle.emplace_state<Chosen>(slot());
    chosen.is_ghost = true;
    chosen.testbed = place->testbed;
    chosen.place.slot = place->slot->number;
    without_hold(cycle, chosen);
    return {};
  }
  void without_hold(Cycle& cycle, const Chosen& chosen) const {
    if (SlotHolds* holds = services_->holds())
      if (PodPtr hold = holds->find(chosen.testbed, chosen.place.slot))
        cycle.without.push_back(std::move(hold));
  }
  WallTime now() const { return services_->scope().executor().clock().wall(); }

  PreFilterResult wait(const Pod& pod, const SlotBoard::Answered& answer) const {
    waiting_[answer.testbed].insert({pod.ns, pod.name});
    std::string text = answer.why;
    for (const slots::SlotRefusal& each : answer.slot.why)
      text += fmt::format("{}slot {} on {}: {}", text.empty() ? "" : "; ", each.slot, each.node,
                          each.why);
    services_->event(pod, true, "NoFreeSlot", "Scheduling", text, nullptr);
    return {Status::unresolvable("no slot for this pod: " + text)};
  }

  // The ghost in whose room the slot is, as far as it still counts on its node. The board may know
  // already that it is gone.
  PodPtr ghost_of(const ClusterState& cluster, const SlotBoard::Answered& answer) const {
    const NodeId node = cluster.node_id(answer.slot.node);
    const slots::SlotTable* table = board_->table(answer.testbed, now());
    if (node == NodeId::kNone || table == nullptr) return nullptr;
    const std::string on_node = std::to_string(table->find(answer.slot.slot)->on_node);
    for (const PodPtr& pod : cluster.pods_on(node)) {
      if (pod->ns != answer.testbed.ns || pod->labels->find(kube::kGhostLabel) != "true") continue;
      if (answer.slot.ghost && answer.slot.ghost->uid == pod->uid) return pod;
      if (pod->labels->find(kube::kTestbedLabel) == answer.testbed.name.substr(0, 63) &&
          pod->labels->find(kube::kSlotIdLabel) == on_node)
        return pod;
    }
    return nullptr;
  }

  // Pods that had no slot there may have one now.
  void slots_changed(const kube::Key& testbed) {
    for (const kube::Key& key : {testbed, kube::Key()})
      if (const auto found = waiting_.find(key); found != waiting_.end()) {
        woken_.merge(found->second);
        waiting_.erase(found);
      }
    if (woken_.empty() || std::exchange(waking_, true)) return;
    services_->scope().post([this] {
      waking_ = false;
      std::vector<PodPtr> pods;
      for (const kube::Key& key : std::exchange(woken_, {}))
        if (PodPtr pod = services_->pending_pod(key.ns, key.name)) pods.push_back(std::move(pod));
      services_->activate(pods);
    });
  }

  Services* services_;
  SlotBoard* board_;
  ReasonId elsewhere_;
  // Pods without a slot, by Testbed; under no name those whose Testbed is not known.
  mutable std::map<kube::Key, std::set<kube::Key>> waiting_;
  std::set<kube::Key> woken_;
  bool waking_ = false;
  std::shared_ptr<const SlotBoard::Listener> listening_;
};

}  // namespace

std::unique_ptr<Plugin> make_slots(const PluginContext& context) {
  return std::make_unique<Slots>(context);
}

}  // namespace berth::scheduler
