// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/board.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/node_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"

namespace berth::slots {

struct SlotBoard::Testbed {
  Family* family = nullptr;
  Key key;
  kube::Object object, ledger_object;
  Ledger ledger;
  bool readable = false;  // the ledger
  std::vector<WantedClass> wanted;
  std::vector<kube::SlotClass> classes;
  std::string label;
  NodeFacts nodes;
  RunFacts runs;
  SlotTable table;
  bool geometry_stale = true, stale = true;
  std::optional<WallTime> made;
  bool waits = false;  // a ghost is on its way: what it is depends on the time
};

struct SlotBoard::Family {
  const kube::SlotKinds& kinds;
  std::map<Key, Testbed> testbeds = {};
  std::map<Key, kube::Object> jobs = {};
  std::map<GrantId, Key, std::less<>> grants = {};  // whose Testbed
};

kube::Object slot_node(const kube::Object& node) {
  json::Writer metadata;
  metadata.object().member("name").string(node.name());
  metadata.member("uid").string(node.uid());
  if (const json::Slice labels = node.labels()) metadata.member("labels").raw(labels.raw());
  if (node.deleting())
    metadata.member("deletionTimestamp").raw(node.metadata()["deletionTimestamp"].raw());
  metadata.end();
  const kube::NodeView view(node);
  const std::string body = view.unschedulable() ? R"({"spec":{"unschedulable":true}})" : "{}";
  const std::string status = view.ready() ? R"({"conditions":[{"type":"Ready","status":"True"}]})"
                                          : std::string(R"({"conditions":[]})");
  auto made = kube::Object::assemble(
      node.kind(), node.revision(),
      {.metadata = metadata.text(), .body = body, .status = std::string_view(status)});
  return made ? *made : node;
}

SlotBoard::SlotBoard() {
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()})
    families_.push_back(std::unique_ptr<Family>(new Family{*kinds}));
}
SlotBoard::~SlotBoard() = default;

SlotBoard::Family* SlotBoard::family_of(kube::KindId kind) {
  for (const auto& each : families_)
    if (kind == each->kinds.testbed || kind == each->kinds.ledger || kind == each->kinds.batch_job)
      return each.get();
  return nullptr;
}

SlotBoard::Testbed* SlotBoard::find(const Key& key) {
  for (const auto& family : families_)
    if (const auto found = family->testbeds.find(key); found != family->testbeds.end())
      return &found->second;
  return nullptr;
}

SlotBoard::Testbed* SlotBoard::of_grant(std::string_view grant) {
  for (const auto& family : families_)
    if (const auto found = family->grants.find(grant); found != family->grants.end())
      if (const auto testbed = family->testbeds.find(found->second);
          testbed != family->testbeds.end())
        return &testbed->second;
  return nullptr;
}

void SlotBoard::touch(Testbed& testbed, bool geometry) {
  testbed.stale = true;
  testbed.geometry_stale |= geometry;
  for (const auto& each : listeners_)
    if (const auto listener = each.lock()) (*listener)(testbed.key);
}
void SlotBoard::touch_all(const Key& key) {
  for (const auto& family : families_)
    if (const auto found = family->testbeds.find(key); found != family->testbeds.end())
      touch(found->second);
}
std::shared_ptr<const SlotBoard::Listener> SlotBoard::on_change(Listener listener) {
  std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
  auto kept = std::make_shared<const Listener>(std::move(listener));
  listeners_.push_back(kept);
  return kept;
}

void SlotBoard::begin() {
  if (std::exchange(begun_, true)) return;
  for (const auto& family : families_)
    for (auto& [key, testbed] : family->testbeds) touch(testbed);
}

void SlotBoard::put(const kube::Object& object) {
  const kube::KindId kind = object.kind();
  if (kind == kube::kNode) return put_node(object);
  if (kind == kube::kPod) return put_pod(object);
  Family* family = family_of(kind);
  if (family == nullptr) return;
  if (kind == family->kinds.batch_job) return put_job(*family, object);
  Testbed& testbed = family->testbeds[object.key()];
  testbed.family = family;
  testbed.key = object.key();
  if (kind == family->kinds.ledger) return put_ledger(*family, object);
  if (testbed.object.valid() && object.revision() <= testbed.object.revision() &&
      object.uid() == testbed.object.uid())
    return;
  const bool geometry =
      !testbed.object.valid() || testbed.object.member("spec").raw() != object.member("spec").raw();
  const bool held =
      geometry || kube::TestbedView(testbed.object).held() != kube::TestbedView(object).held();
  testbed.object = object;
  if (held) touch(testbed, geometry);
}

void SlotBoard::put_ledger(Family& family, const kube::Object& object) {
  Testbed& testbed = family.testbeds[object.key()];
  if (testbed.ledger_object.valid() && object.revision() <= testbed.ledger_object.revision() &&
      object.uid() == testbed.ledger_object.uid())
    return;
  for (const auto& [id, grant] : testbed.ledger.grants()) family.grants.erase(id);
  auto read = Ledger::parse(object);
  testbed.readable = read.has_value();
  const bool blocks = !read || testbed.ledger.blocks != read->blocks;
  testbed.ledger = read ? std::move(*read) : Ledger();
  testbed.ledger_object = object;
  for (const auto& [id, grant] : testbed.ledger.grants()) family.grants[id] = object.key();
  std::erase_if(gone_, [this](const auto& each) { return of_grant(each.first) == nullptr; });
  touch(testbed, blocks);
}

void SlotBoard::put_job(Family& family, const kube::Object& object) {
  kube::Object& known = family.jobs[object.key()];
  if (known.valid() && object.revision() <= known.revision() && object.uid() == known.uid()) return;
  known = object;
  // Its Testbed is the one that it has a grant of.
  for (auto& [key, testbed] : family.testbeds)
    if (!testbed.ledger.of_job(object.key()).empty()) touch(testbed);
}

void SlotBoard::put_node(const kube::Object& full) {
  const kube::Object node = slot_node(full);
  kube::Object& known = nodes_[std::string(node.name())];
  if (known.valid() && node.revision() <= known.revision() && node.uid() == known.uid()) return;
  const kube::Object before = std::exchange(known, node);
  node_changed(before, node);
}

void SlotBoard::node_changed(const kube::Object& before, const kube::Object& after) {
  if (before.valid() && after.valid() && before.uid() == after.uid() &&
      before.labels().raw() == after.labels().raw() && before.body().raw() == after.body().raw() &&
      before.status().raw() == after.status().raw() && before.deleting() == after.deleting())
    return;
  const std::string_view name = after.valid() ? after.name() : before.name();
  for (const auto& family : families_)
    for (auto& [key, testbed] : family->testbeds) {
      if (!testbed.object.valid()) continue;
      const std::string label = kube::TestbedView(testbed.object).node_label();
      const auto labelled = [&](const kube::Object& node) {
        return node.valid() && node.labels()[label].present();
      };
      const bool in_blocks = std::any_of(
          testbed.ledger.blocks.begin(), testbed.ledger.blocks.end(), [&](const Block& block) {
            return std::find(block.nodes.begin(), block.nodes.end(), name) != block.nodes.end();
          });
      if (in_blocks || labelled(before) || labelled(after)) touch(testbed, true);
    }
}

void SlotBoard::put_pod(const kube::Object& object) {
  const Key testbed = testbed_of(object);
  if (testbed.name.empty()) return;
  const std::string uid(object.uid());
  const auto known = pods_.find(uid);
  if (known != pods_.end() && object.revision() <= known->second.revision) return;
  auto fact = pod_fact(object);
  if (!fact) return drop_pod(uid);
  if (known != pods_.end() && known->second.testbed != testbed) {
    pods_of_[known->second.testbed].erase(uid);
    touch_all(known->second.testbed);
  }
  if (!fact->node.empty()) assumed_.erase(uid);
  pods_[uid] = {std::move(*fact), testbed, object.revision()};
  pods_of_[testbed].insert(uid);
  touch_all(testbed);
}

void SlotBoard::drop_pod(std::string_view uid) {
  forget(uid);
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  const Key testbed = known->second.testbed;
  if (const GrantId& grant = known->second.fact.grant; of_grant(grant) != nullptr)
    gone_[grant].insert(known->first);
  pods_of_[testbed].erase(known->first);
  pods_.erase(known);
  touch_all(testbed);
}

void SlotBoard::remove(const kube::Object& last) {
  const kube::KindId kind = last.kind();
  if (kind == kube::kPod) return drop_pod(last.uid());
  if (kind == kube::kNode) {
    const auto found = nodes_.find(last.name());
    if (found == nodes_.end() || found->second.uid() != last.uid()) return;
    const kube::Object before = found->second;
    nodes_.erase(found);
    return node_changed(before, {});
  }
  Family* family = family_of(kind);
  if (family == nullptr) return;
  if (kind == family->kinds.batch_job) {
    const auto found = family->jobs.find(last.key());
    if (found == family->jobs.end() || found->second.uid() != last.uid()) return;
    family->jobs.erase(found);
    for (auto& [key, testbed] : family->testbeds)
      if (!testbed.ledger.of_job(last.key()).empty()) touch(testbed);
    return;
  }
  const auto found = family->testbeds.find(last.key());
  if (found == family->testbeds.end()) return;
  Testbed& testbed = found->second;
  if (kind == family->kinds.ledger) {
    if (testbed.ledger_object.valid() && testbed.ledger_object.uid() != last.uid()) return;
    for (const auto& [id, grant] : testbed.ledger.grants()) family->grants.erase(id);
    testbed.ledger = {};
    testbed.ledger_object = {};
    testbed.readable = false;
  } else {
    if (testbed.object.valid() && testbed.object.uid() != last.uid()) return;
    testbed.object = {};
  }
  touch(testbed, true);
  if (!testbed.object.valid() && !testbed.ledger_object.valid()) family->testbeds.erase(found);
}

void SlotBoard::assume(const Assumed& promise) {
  assumed_[promise.uid] = promise;
  if (Testbed* testbed = of_grant(promise.grant)) touch(*testbed);
}

void SlotBoard::forget(std::string_view uid) {
  const auto found = assumed_.find(uid);
  if (found == assumed_.end()) return;
  const GrantId grant = found->second.grant;
  assumed_.erase(found);
  if (Testbed* testbed = of_grant(grant)) touch(*testbed);
}

void SlotBoard::look_at_nodes(Testbed& testbed) {
  testbed.geometry_stale = false;
  testbed.wanted.clear();
  testbed.classes.clear();
  testbed.nodes.clear();
  testbed.label.clear();
  std::vector<const kube::Object*> labelled;
  if (testbed.object.valid()) {
    const kube::TestbedView view(testbed.object);
    testbed.label = view.node_label();
    testbed.classes = view.classes();
    for (const auto& [name, node] : nodes_)
      if (node.labels()[testbed.label]) labelled.push_back(&node);
    testbed.wanted = wanted_classes(view, labelled);
  }
  for (const kube::Object* node : labelled)
    testbed.nodes.emplace(node->name(), node_fact(*node, testbed.label));
  for (const Block& block : testbed.ledger.blocks)
    for (const std::string& name : block.nodes)
      if (const auto node = nodes_.find(name); node != nodes_.end())
        testbed.nodes.emplace(name, node_fact(node->second, testbed.label));
}

void SlotBoard::refresh(Testbed& testbed, WallTime now) {
  // A ghost that is late is an error after a while; nothing else here depends on the time.
  if (!testbed.stale && !(testbed.waits && testbed.made && now - *testbed.made >= 1s)) return;
  if (testbed.geometry_stale) look_at_nodes(testbed);
  testbed.runs.clear();
  for (const auto& [id, grant] : testbed.ledger.grants())
    if (const auto job = testbed.family->jobs.find(grant.job); job != testbed.family->jobs.end())
      if (auto run = run_fact(kube::BatchJobView(job->second)))
        testbed.runs.insert(std::move(*run));
  std::vector<PodFact> pods;
  testbed.waits = false;
  std::set<std::string_view> seen;
  if (const auto uids = pods_of_.find(testbed.key); uids != pods_of_.end())
    for (const std::string& uid : uids->second) {
      PodFact& fact = pods.emplace_back(pods_.find(uid)->second.fact);
      testbed.waits |= fact.ghost && fact.node.empty();
      if (const auto promise = assumed_.find(uid); promise != assumed_.end()) {
        fact.node = promise->second.node;
        fact.slot = promise->second.slot;
        seen.insert(promise->first);
      }
    }
  for (const auto& [uid, promise] : assumed_)
    if (seen.count(uid) == 0 && testbed.ledger.find(promise.grant) != nullptr)
      pods.push_back({.key = promise.pod,
                      .uid = uid,
                      .node = promise.node,
                      .grant = promise.grant,
                      .slot = promise.slot});
  const std::optional<int> held =
      testbed.object.valid() ? kube::TestbedView(testbed.object).held() : std::optional<int>(0);
  testbed.table = observe(
      {testbed.ledger, testbed.wanted, testbed.classes, testbed.nodes, pods, testbed.runs, held},
      now);
  testbed.stale = false;
  testbed.made = now;
  ++tables_made_;
}

const SlotTable* SlotBoard::table(const Key& key, WallTime now) {
  Testbed* testbed = find(key);
  if (testbed == nullptr || !testbed->ledger_object.valid()) return nullptr;
  refresh(*testbed, now);
  return &testbed->table;
}

std::vector<Key> SlotBoard::testbeds() const {
  std::vector<Key> keys;
  for (const auto& family : families_)
    for (const auto& [key, testbed] : family->testbeds)
      if (testbed.ledger_object.valid()) keys.push_back(key);
  return keys;
}

std::optional<SlotBoard::Place> SlotBoard::place_of(std::string_view uid, WallTime now) {
  Testbed* testbed = nullptr;
  if (const auto known = pods_.find(uid); known != pods_.end())
    testbed = find(known->second.testbed);
  else if (const auto promise = assumed_.find(uid); promise != assumed_.end())
    testbed = of_grant(promise->second.grant);
  if (testbed == nullptr) return std::nullopt;
  refresh(*testbed, now);
  for (const Slot& slot : testbed->table.slots)
    for (const auto* pod : {&slot.executor, &slot.ghost, &slot.promised})
      if (*pod && (*pod)->uid == uid) return Place{testbed->key, &slot};
  return std::nullopt;
}

SlotBoard::Answered SlotBoard::ask(const Asked& asked, WallTime now) {
  Answered answered;
  if (asked.grant.empty()) return answered;
  answered.slot.kind = SlotAnswer::Kind::kWait;
  if (!begun_) {
    answered.why = "what the cluster holds is not known yet";
    return answered;
  }
  Testbed* testbed = of_grant(asked.grant);
  if (testbed == nullptr) {
    answered.why = fmt::format("grant {} is in no ledger", asked.grant);
    return answered;
  }
  answered.testbed = testbed->key;
  refresh(*testbed, now);
  const Grant& grant = *testbed->ledger.find(asked.grant);
  for (const Slot& slot : testbed->table.slots)
    if (slot.grant == asked.grant) answered.nodes.insert(slot.node);
  if (const auto job = testbed->family->jobs.find(grant.job); job != testbed->family->jobs.end())
    answered.job = job->second;
  // I5: whoever is let in belongs to a run that is open and ordered.
  const auto run = testbed->runs.find(asked.grant);
  if (run == testbed->runs.end() || run->second.closing) {
    answered.why = fmt::format("run {} of {} is closed", run_of(asked.grant), grant.job.text());
    return answered;
  }
  answered.pins = pins_of(run->second.pins);
  if (const auto gone = gone_.find(asked.grant); gone != gone_.end())
    std::erase_if(answered.pins,
                  [&](const auto& pin) { return gone->second.count(pin.second) > 0; });
  for (const auto& [slot, pod] : asked.promised) answered.pins[slot] = pod;
  SlotQuestion question{asked.pod, asked.grant, asked.requests, run->second.ordered};
  if (asked.nodes) {
    std::set<SlotNumber> among;
    for (const Slot& slot : testbed->table.slots)
      if (slot.grant == asked.grant && asked.nodes->count(slot.node) > 0 &&
          (!question.among || question.among->count(slot.number) > 0))
        among.insert(slot.number);
    question.among = std::move(among);
  }
  answered.slot = choose_slot(testbed->table, answered.pins, question);
  return answered;
}

SlotBoard::Asked question_of(const kube::Object& pod) {
  return {std::string(pod.uid()), pod.label(kube::kGrantLabel),
          kube::pod_requests(pod, {.use_status = false}).value_or(kube::ResourceList())};
}

}  // namespace berth::slots
