// SPDX-License-Identifier: Apache-2.0
#include "controllers/testbed/testbed_status.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/status.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"

namespace berth::controllers {
namespace {

using slots::Slot;
using slots::SlotState;

constexpr std::size_t kMostNamed = 5;  // nodes in a message

std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostNamed);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

class Summary {
 public:
  Summary(const SlotSight& sight, const slots::SlotTable& table, const TestbedFindings& found,
          WallTime now)
      : sight_(sight),
        table_(table),
        found_(found),
        now_(now),
        status_(sight.testbed.status()),
        conditions_(status_["conditions"]) {}

  std::string json() {
    for (const Slot& slot : table_.slots) {
      if (slot.state == SlotState::kAbsent) continue;
      shown_.push_back(&slot);
      nodes_.insert(slot.node);
    }
    write_slots();
    write_problems();
    ready();
    const bool conflict = first_problem(kube::reason::kNodeConflict) != nullptr;
    put("Conflicted", conflict, conflict ? kube::reason::kNodeConflict : kube::reason::kNoConflict,
        conflict ? problem_text(kube::reason::kNodeConflict) : "");
    const std::string before = status_["state"].text(), state = this->state();
    status_.text("state", state);
    if (state != "IN_PROGRESS")
      status_.text("schedulingInProgressTimestamp", "");
    else if (before != state)
      status_.text("schedulingInProgressTimestamp", kube::time_text(now_));
    status_.number("observedGeneration", sight_.testbed.object().generation());
    status_.number("size", static_cast<std::int64_t>(shown_.size()));
    status_.number("nodes", static_cast<std::int64_t>(nodes_.size()));
    status_.text("idleSince", found_.idle.since ? kube::time_text(*found_.idle.since) : "");
    status_.raw("held", found_.idle.held ? std::to_string(*found_.idle.held) : "");
    status_.raw("conditions", conditions_.json());
    return status_.json();
  }

 private:
  std::size_t count(SlotState state) const { return table_.count(state); }

  void write_slots() {
    json::Writer counts;
    const auto number = [&](const char* name, std::size_t n) {
      counts.member(name).integer(static_cast<std::int64_t>(n));
    };
    counts.object();
    number("free", count(SlotState::kFree));
    number("reserved", count(SlotState::kReserved) + count(SlotState::kHolding));
    number("occupied", count(SlotState::kOccupied) + count(SlotState::kDraining));
    number("error", count(SlotState::kError));
    status_.raw("slotCounts", counts.end().take());
    const bool omitted = shown_.size() > kMostSlotsListed;
    status_.raw("slotsOmitted", omitted ? "true" : "");
    if (omitted) {
      status_.raw("slots", "");
      return;
    }
    json::Writer w;
    w.array();
    for (const Slot* slot : shown_) write_slot(w, *slot);
    status_.raw("slots", w.end().take());
  }
  static void write_slot(json::Writer& w, const Slot& slot) {
    const std::optional<slots::SlotPod>& pod = slot.executor ? slot.executor : slot.ghost;
    std::string reserved;
    if (slot.state == SlotState::kHolding) reserved = "ghost";
    if (slot.state == SlotState::kReserved)
      reserved = slot.promised ? slot.promised->key.name : slot.job.name;
    w.object().member("position").integer(slot.number).member("nodeName").string(slot.node);
    w.member("nodeId").integer(slot.node_id).member("slotPositionOnNode").integer(slot.on_node);
    w.member("state").string(slots::wire_name_of(slot.state));
    w.member("class").string(slot.slot_class).member("reservedFor").string(reserved);
    w.member("podName")
        .string(pod ? pod->key.name : "")
        .member("podUId")
        .string(pod ? pod->uid : "");
    if (slot.state == SlotState::kDraining) w.member("draining").boolean(true);
    if (!slot.problem.empty()) w.member("problem").string(slot.problem);
    w.end();
  }

  void write_problems() {
    json::Writer by_node;
    by_node.object();
    for (const auto& [node, problem] : found_.problems)
      by_node.member(node).array().string(problem.message).end();
    status_.raw("nodeProblems", found_.problems.empty() ? "" : by_node.end().take());
    std::vector<std::string> all;
    if (!found_.quota.empty()) all.push_back(found_.quota);
    for (const Slot* slot : shown_)
      if (slot->state == SlotState::kError && all.size() < kMostNamed)
        all.push_back(fmt::format("slot {}: {}", slot->number, slot->problem));
    json::Writer w;
    w.array();
    for (const std::string& each : all) w.string(each);
    status_.raw("problems", all.empty() ? "" : w.end().take());
  }

  const NodeProblem* first_problem(std::string_view reason) const {
    for (const auto& [node, problem] : found_.problems)
      if (problem.reason == reason) return &problem;
    return nullptr;
  }
  std::string problem_text(std::string_view reason) const {
    std::vector<std::string> nodes;
    for (const auto& [node, problem] : found_.problems)
      if (problem.reason == reason) nodes.push_back(fmt::format("{} ({})", node, problem.message));
    return some_of(nodes);
  }
  std::vector<std::string> nodes_without_number() const {
    std::vector<std::string> names;
    for (const auto& [name, fact] : sight_.nodes)
      if (nodes_.count(name) > 0 && !slots::node_number(fact.label_value)) names.push_back(name);
    return names;
  }

  void ready() {
    using namespace kube::reason;  // NOLINT: a table of them
    const std::size_t pending = count(SlotState::kHolding), errors = count(SlotState::kError);
    bool labelled = false;
    for (const slots::WantedClass& each : sight_.wanted) labelled |= !each.nodes.empty();
    if (!labelled)
      return put("Ready", false, kNoNodes,
                 fmt::format("no node has the label {}", sight_.testbed.node_label()));
    if (!found_.quota.empty()) return put("Ready", false, kQuotaExceeded, found_.quota);
    if (first_problem(kNoRoom) != nullptr)
      return put("Ready", false, kNoRoom, problem_text(kNoRoom));
    if (first_problem(kNodeConflict) != nullptr)
      return put("Ready", false, kNodeConflict, problem_text(kNodeConflict));
    if (pending + errors > 0)
      return put("Ready", false, kHoldPending,
                 fmt::format("{} of {} slots are not held yet", pending + errors, shown_.size()));
    if (!found_.classes_above.empty())
      return put("Ready", true, kSlotsPreemptible,
                 fmt::format("classes above ghosts: {}", some_of(found_.classes_above)));
    if (!found_.weak_holds.empty())
      return put("Ready", true, kWeakHold,
                 fmt::format("executors without the class {}: {}", kube::kExecutorClass,
                             some_of(found_.weak_holds)));
    if (const auto names = nodes_without_number(); !names.empty())
      return put("Ready", true, kNodeLabelNotInteger, some_of(names));
    if (found_.idle.held)
      return put("Ready", true, kIdleShrunk, fmt::format("{} slots are held", *found_.idle.held));
    if (count(SlotState::kDraining) > 0)
      return put("Ready", true, kResizePending,
                 fmt::format("{} slots drain", count(SlotState::kDraining)));
    put("Ready", true, kHeld, fmt::format("{} slots", shown_.size()));
  }

  void put(const char* type, bool holds, std::string_view reason, std::string message) {
    conditions_.set(type, holds, reason, std::move(message), now_,
                    sight_.testbed.object().generation());
  }

  std::string state() const {
    if (!found_.problems.empty() || !found_.quota.empty()) return "ERROR";
    if (count(SlotState::kOccupied) + count(SlotState::kDraining) > 0) return "RUNNING";
    if (count(SlotState::kError) > 0) return "ERROR";
    if (count(SlotState::kHolding) + count(SlotState::kReserved) > 0) return "IN_PROGRESS";
    return "SUCCESS";
  }

  const SlotSight& sight_;
  const slots::SlotTable& table_;
  const TestbedFindings& found_;
  WallTime now_;
  StatusDraft status_;
  Conditions conditions_;
  std::vector<const Slot*> shown_;
  std::set<std::string, std::less<>> nodes_;
};

}  // namespace

std::string testbed_status(const SlotSight& sight, const slots::SlotTable& table,
                           const TestbedFindings& found, WallTime now) {
  return Summary(sight, table, found, now).json();
}

}  // namespace berth::controllers
