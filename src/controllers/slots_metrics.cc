// SPDX-License-Identifier: Apache-2.0
#include "controllers/slots_metrics.h"

#include <algorithm>

#include "kube/ours/ours.h"
#include "policy/slots/facts.h"

namespace berth::controllers {
namespace {

constexpr std::string_view kStates[] = {"free", "reserved", "occupied", "error"};
constexpr Duration kLongestHandover = 10min;  // whose ghost went before went for another reason

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }
const kube::Object& either(const runtime::Change& change) {
  return change.after != nullptr ? *change.after : *change.before;
}
bool is(kube::KindId kind, kube::KindId kube::SlotKinds::*which) {
  return kind == kube::thesis_kinds().*which || kind == kube::alias_kinds().*which;
}

}  // namespace

SlotsMetrics::SlotsMetrics(Metrics& metrics)
    : slots_(metrics.gauges("berth_slots", "Slots of a Testbed, by their state",
                            {"testbed", "state"})),
      bytes_(metrics.gauges("berth_ledger_bytes", "Size of a Testbed's ledger", {"testbed"})),
      grants_(metrics.counters("berth_grants_total",
                               "Grants of slots: granted, resized while they run, released",
                               {"result"})),
      wait_(metrics.histogram("berth_grant_wait_seconds",
                              "From a Scheduling's creation until a job of it had its slots",
                              exponential_buckets(0.25, 2, 18))),
      handover_(metrics.histogram("berth_handover_seconds",
                                  "From the end of a slot's ghost until its executor was bound",
                                  exponential_buckets(0.005, 2, 16))),
      conflicts_(metrics.counter("berth_ledger_conflicts_total",
                                 "Writes of a ledger that somebody else was faster at")) {
  for (const char* result : {"granted", "resized", "released"}) grants_.with({result}).add(0);
}

std::vector<kube::KindId> SlotsMetrics::kinds() const {
  std::vector<kube::KindId> all = {kube::kPod};
  for (const kube::SlotKinds* each : {&kube::thesis_kinds(), &kube::alias_kinds()})
    all.insert(all.end(), {each->testbed, each->ledger, each->scheduling});
  return all;
}

void SlotsMetrics::begin() {
  ledgers_.clear();
  submitted_.clear();
  left_.clear();
}

void SlotsMetrics::changed(const runtime::Change& change, WallTime now) {
  const kube::Object& object = either(change);
  const kube::KindId kind = object.kind();
  if (kind == kube::kPod) {
    pod(change, now);
  } else if (is(kind, &kube::SlotKinds::testbed)) {
    testbed(change);
  } else if (is(kind, &kube::SlotKinds::ledger)) {
    ledger(change, now);
  } else if (change.after == nullptr) {
    submitted_.erase(object.key());
  } else if (const auto created = object.created()) {
    submitted_[object.key()] = *created;
  }
}

void SlotsMetrics::outdated(kube::KindId kind) {
  if (is(kind, &kube::SlotKinds::ledger)) conflicts_.add();
}

void SlotsMetrics::testbed(const runtime::Change& change) {
  const std::string name = either(change).key().text();
  for (const std::string_view state : kStates) {
    const std::int64_t count =
        change.after == nullptr ? 0
                                : change.after->status()["slotCounts"][state].integer().value_or(0);
    slots_.with({name, state}).set(static_cast<double>(count));
  }
}

void SlotsMetrics::ledger(const runtime::Change& change, WallTime now) {
  const kube::Key key = either(change).key();
  if (change.after == nullptr) {
    bytes_.with({key.text()}).set(0);
    ledgers_.erase(key);
    return;
  }
  bytes_.with({key.text()}).set(static_cast<double>(change.after->json().size()));
  auto read = slots::Ledger::parse(*change.after);
  if (!read) return;  // its allocator says so
  const auto known = ledgers_.find(key);
  if (known != ledgers_.end()) {  // what was there when the term began is counted already
    const slots::Ledger& before = known->second;
    for (const auto& [id, grant] : read->grants()) {
      const slots::Grant* had = before.find(id);
      if (had != nullptr) {
        if (had->slots != grant.slots) grants_.with({"resized"}).add();
        continue;
      }
      grants_.with({"granted"}).add();
      const auto asked = submitted_.find(grant.scheduling);
      if (asked != submitted_.end() && now >= asked->second)
        wait_.observe(seconds(now - asked->second));
    }
    for (const auto& [id, grant] : before.grants())
      if (read->find(id) == nullptr) grants_.with({"released"}).add();
  }
  ledgers_.insert_or_assign(key, std::move(*read));
}

void SlotsMetrics::pod(const runtime::Change& change, WallTime now) {
  const kube::Object& object = either(change);
  const kube::Key testbed = slots::testbed_of(object);
  if (testbed.name.empty()) return;
  const auto node_of = [](const kube::Object* pod) {
    const auto fact = pod == nullptr ? std::nullopt : slots::pod_fact(*pod);
    return fact && !fact->deleting ? fact->node : std::string();
  };
  const std::string before = node_of(change.before), after = node_of(change.after);
  if (before == after) return;
  std::deque<WallTime>& left = left_[{testbed, after.empty() ? before : after}];
  std::erase_if(left, [&](WallTime at) { return now - at > kLongestHandover; });
  if (object.label(kube::kGhostLabel) == "true") {
    if (after.empty())
      left.push_back(now);
    else if (!left.empty())
      left.pop_front();  // it has come back: nobody took its place
    return;
  }
  if (after.empty() || left.empty()) return;
  handover_.observe(seconds(now - left.front()));
  left.pop_front();
}

}  // namespace berth::controllers
