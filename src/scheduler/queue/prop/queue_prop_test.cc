// SPDX-License-Identifier: Apache-2.0
// Random histories of the queue against the model. After every step everything is compared: each
// heap as it stands, the pool in its order, every field of every pod, what is in flight, the
// nominations, and what an observer has counted.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/queue/planted_fault.h"
#include "scheduler/queue/prop/queue_model.h"

namespace berth::scheduler {
Fault planted_fault = Fault::kNone;

namespace test {
namespace {

constexpr int kSequences = 10'000;
constexpr int kSteps = 80;
constexpr unsigned kPlugins = 5;  // ordinary ones; then two gates, then the extenders
constexpr unsigned kFirstGate = 5, kSecondGate = 6, kExtender = 7;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xbf58476d1ce4e5b9ull;
  return a ^ (a >> 29);
}
std::uint64_t text_hash(const std::string& text) { return std::hash<std::string>{}(text); }

std::uint64_t number_of(const Change& change) {
  if (const Pod* pod = change.pod()) return pod->revision;
  return change.node_after ? change.node_after->revision : 7;
}

// What a hint may depend on, and nothing else.
Hint random_hint(std::uint64_t salt, const Pod& pod, const Change& change) {
  std::uint64_t h = mix(salt, static_cast<std::uint64_t>(pod.priority()));
  h = mix(h, pod.spec->tolerations.size());
  h = mix(h, text_hash(pod.labels->pairs().front().second));
  h = mix(h, text_hash(pod.ns));
  if (pod.volumes) h = mix(h, text_hash(pod.uid));
  h = mix(h, change.event.action);
  h = mix(h, number_of(change));
  h = mix(h, change.pod() != nullptr && change.pod()->uid == pod.uid ? 1 : 2);
  const std::uint64_t answer = h % 10;
  return answer < 5 ? Hint::kSkip : answer < 9 ? Hint::kQueue : Hint::kError;
}

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), salt_(seed) {
    options_.pop_from_backoff = !random_.chance(0.35);
    if (random_.chance(0.1)) options_.max_backoff = 0s;
    std::vector<QueueProfile> profiles;
    for (const char* name : {"default-scheduler", "second"}) profiles.push_back(profile(name));
    const bool extenders = random_.chance(0.5);
    const auto known = [this](std::string_view ns, std::string_view name) -> PodPtr {
      const auto found = known_.find(std::string(ns) + "/" + std::string(name));
      return found == known_.end() ? nullptr : found->second;
    };
    QueueSetup setup{.options = options_,
                     .sort = &sort_,
                     .profiles = profiles,
                     .extender = extenders ? static_cast<PluginId>(kExtender) : PluginId::kNone,
                     .cluster = no_cluster(),
                     .known_pod = known,
                     .observer = &observer_};
    observer_.keep_story = false;
    clock_.advance(Duration(random_.below(2'000'000'000)));
    queue_ = std::make_unique<SchedulingQueue>(clock_, std::move(setup));
    if (extenders)
      for (QueueProfile& p : profiles)
        p.plugins.push_back({static_cast<PluginId>(kExtender), std::nullopt});
    model_ = std::make_unique<QueueModel>(clock_, options_, std::move(profiles), known);
  }

  // Empty: no difference.
  std::string run() {
    for (int i = 0; i < kSteps; ++i) {
      const std::string what = step();
      if (std::string difference = compare(); !difference.empty())
        return fmt::format("step {} ({}): {}", i, what, difference);
      if (!problem_.empty()) return fmt::format("step {} ({}): {}", i, what, problem_);
    }
    return "";
  }

 private:
  QueueProfile profile(const char* name) {
    static const ClusterEvent kPalette[] = {
        {EventResource::kNode, action::kAdd},
        {EventResource::kNode, action::kAdd | action::kUpdateNodeTaint},
        {EventResource::kNode, action::kUpdateNodeLabel},
        {EventResource::kPod, action::kDelete},
        {EventResource::kPod, action::kAdd | action::kUpdatePodLabel},
        {EventResource::kPod, action::kUpdate},
        {EventResource::kPod, action::kUpdatePodToleration},
        {EventResource::kPod, action::kUpdatePodGatesEliminated},
        {EventResource::kPersistentVolumeClaim, action::kAdd | action::kUpdate},
        {EventResource::kWildcard, action::kAdd},
        {EventResource::kWildcard, action::kAll},
    };
    QueueProfile made;
    made.scheduler_name = name;
    made.pre_enqueue = {&first_gate_, &second_gate_};
    if (random_.chance(0.5)) std::swap(made.pre_enqueue[0], made.pre_enqueue[1]);
    for (unsigned plugin = 0; plugin <= kSecondGate; ++plugin) {
      PluginEvents& of = made.plugins.emplace_back();
      of.id = static_cast<PluginId>(plugin);
      if (random_.chance(0.05)) continue;
      of.events.emplace();
      for (std::uint64_t n = random_.below(4); n > 0; --n) {
        const std::uint64_t salt = mix(salt_, plugin * 8 + n);
        HintFn hint = [salt](const Pod& pod, const Change& change, const ClusterState&) {
          return random_hint(salt, pod, change);
        };
        // A plugin that registered everything would leave nothing to find.
        const std::uint64_t last = random_.chance(0.1) ? std::size(kPalette) : 10;
        of.events->push_back({kPalette[random_.below(last)],
                              random_.chance(0.2) ? nullptr : HintFn(std::move(hint))});
      }
    }
    return made;
  }

  PodPtr make_pod(std::uint64_t slot, const std::string& uid) {
    auto builder = pod(fmt::format("p{}", slot))
                       .ns(slot % 3 == 0 ? "a" : "b")
                       .uid(uid)
                       .priority(static_cast<std::int32_t>(random_.below(2)))
                       .tolerations(static_cast<int>(random_.below(2)))
                       .app(random_.chance(0.5) ? "x" : "y")
                       .revision(++revision_);
    if (random_.chance(0.1)) builder.scheduler(random_.chance(0.7) ? "second" : "nobody");
    if (random_.chance(0.15)) builder.nominated(random_.chance(0.5) ? "n1" : "n2");
    if (random_.chance(0.1)) builder.volumes();
    if (random_.chance(0.1)) builder.gated();
    return builder;
  }
  PodPtr any_known() {
    if (known_.empty()) return nullptr;
    auto at = known_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(known_.size())));
    return at->second;
  }
  std::set<unsigned> some_plugins(double chance) {
    std::set<unsigned> plugins;
    for (unsigned plugin = 0; plugin <= kExtender; ++plugin)
      if (random_.chance(chance)) plugins.insert(plugin);
    return plugins;
  }
  static PluginSet set_of(const std::set<unsigned>& plugins) {
    PluginSet set;
    for (const unsigned plugin : plugins) set.insert(static_cast<PluginId>(plugin));
    return set;
  }

  std::string step() {
    const std::uint64_t what = random_.below(100);
    if (what < 16) return add();
    if (what < 28) return update();
    if (what < 31) return remove();
    if (what < 46) return pop();
    if (what < 62) return finish();
    if (what < 79) return event();
    if (what < 82) return activate();
    if (what < 84) return pop_specific();
    if (what < 92) return advance();
    if (what < 95) return nominate();
    gates_ = random_.next();
    return "gates";
  }

  std::string add() {
    const std::uint64_t slot = random_.below(9);
    const std::string key = fmt::format("{}/p{}", slot % 3 == 0 ? "a" : "b", slot);
    if (known_.contains(key) && !random_.chance(0.1)) return pop();
    const PodPtr fresh = make_pod(slot, fmt::format("u{}", ++uids_));
    known_[key] = fresh;
    queue_->add(fresh);
    model_->add(fresh);
    return "add " + key;
  }
  std::string update() {
    const PodPtr before = any_known();
    if (!before) return "nothing";
    const PodPtr after = make_pod(std::stoul(before->name.substr(1)), before->uid);
    known_[after->text()] = after;
    queue_->update(before, after);
    model_->update(before, after);
    return "update " + after->text();
  }
  std::string remove() {
    const PodPtr gone = any_known();
    if (!gone) return "nothing";
    known_.erase(gone->text());
    queue_->remove(*gone);
    model_->remove(*gone);
    return "remove " + gone->text();
  }
  std::string took(QueuedPodPtr mine, const ModelPodPtr& theirs, const char* how) {
    if ((mine != nullptr) != (theirs != nullptr))
      problem_ = "one popped, the other did not";
    else if (mine && mine->pod != theirs->pod)
      problem_ = fmt::format("popped {} instead of {}", mine->pod->text(), theirs->pod->text());
    else if (mine)
      problem_ = differ(*mine, *theirs);
    if (mine && theirs) held_.emplace_back(std::move(mine), theirs);
    return how;
  }
  std::string pop() {
    QueuedPodPtr mine = queue_->pop();
    return took(std::move(mine), model_->pop(), "pop");
  }
  std::string pop_specific() {
    const PodPtr pod = any_known();
    if (!pod) return "nothing";
    QueuedPodPtr mine = queue_->pop_specific(*pod);
    return took(std::move(mine), model_->pop_specific(*pod), "pop specific");
  }
  // An attempt ends: it fails, by plugins or by an error, or is done.
  std::string finish() {
    if (held_.empty()) return pop();
    const auto at = held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size()));
    auto [mine, theirs] = std::move(*at);
    held_.erase(at);
    const std::string uid = mine->pod->uid;
    if (random_.chance(0.15)) {
      queue_->done(uid);
      model_->done(uid);
      if (random_.chance(0.7)) return "done";
      // A binding that fails afterwards comes back all the same.
    }
    const auto now = known_.find(mine->pod->text());
    if (now != known_.end() && now->second->uid == uid) mine->pod = theirs->pod = now->second;
    std::set<unsigned> unschedulable, pending;
    if (!random_.chance(0.15)) unschedulable = some_plugins(0.2);
    if (random_.chance(0.35)) pending = some_plugins(0.25);
    const Rejectors rejectors{set_of(unschedulable), set_of(pending)};
    const bool ok =
        queue_->add_unschedulable_if_not_present(std::move(mine), rejectors).has_value();
    if (ok != model_->fail(theirs, unschedulable, pending)) problem_ = "one refused the pod";
    return "fail " + uid;
  }
  std::string event() {
    Change change;
    switch (random_.below(8)) {
      case 0:
        change.event = {EventResource::kNode, action::kAdd};
        break;
      case 1:
        change.event = {EventResource::kNode, action::kUpdateNodeLabel};
        break;
      case 2:
        change.event = {EventResource::kNode, action::kUpdateNodeTaint};
        break;
      case 3:
        change.event = {EventResource::kPersistentVolumeClaim, action::kAdd};
        break;
      case 4:
        change.event = {EventResource::kAssignedPod, action::kAdd};
        break;
      case 5:
        change.event = {EventResource::kAssignedPod, action::kDelete};
        break;
      case 6:
        change.event = {EventResource::kUnscheduledPod, action::kAdd};
        break;
      default:
        change.event = {EventResource::kWildcard, action::kAll, "Everything"};
    }
    if (change.event.resource == EventResource::kNode) {
      auto node = std::make_shared<Node>();
      node->revision = ++revision_;
      change.node_after = node;
      if (change.event.action != action::kAdd) change.node_before = node;
    } else if (change.event.resource != EventResource::kPersistentVolumeClaim) {
      // Often a pod that waits here itself.
      PodPtr pod = random_.chance(0.6) ? any_known() : nullptr;
      if (!pod && !(change.event.wildcard() && random_.chance(0.3))) pod = make_pod(90, "other");
      (change.event.action == action::kDelete ? change.pod_before : change.pod_after) = pod;
    }
    std::function<bool(const Pod&)> check;
    if (random_.chance(0.2)) check = [](const Pod& pod) { return pod.name.back() % 2 == 0; };
    queue_->move_all(change, check);
    model_->move_all(change, check);
    return change.event.label();
  }
  std::string activate() {
    std::vector<PodPtr> pods;
    for (std::uint64_t n = random_.below(4); n > 0; --n)
      if (const PodPtr pod = any_known()) pods.push_back(pod);
    queue_->activate(pods);
    model_->activate(pods);
    return "activate";
  }
  std::string advance() {
    static constexpr Duration kWaits[] = {1ms, 300ms, 1s, 1s, 2500ms, 7s, 40s, 301s};
    clock_.advance(kWaits[random_.below(std::size(kWaits))]);
    if (random_.chance(0.8)) {
      queue_->flush_backoff_completed();
      model_->flush_backoff();
    }
    if (random_.chance(0.6)) {
      queue_->flush_unschedulable_leftover();
      model_->flush_leftover();
    }
    return "advance";
  }
  std::string nominate() {
    const PodPtr pod = any_known();
    if (!pod) return "nothing";
    std::optional<std::string> node;
    if (random_.chance(0.8)) node = random_.chance(0.2) ? "" : random_.chance(0.5) ? "n1" : "n2";
    queue_->nominator().add(*pod, node);
    model_->nominate(*pod, node);
    if (random_.chance(0.2)) {
      queue_->nominator().remove(*pod);
      model_->denominate(*pod);
    }
    return "nominate";
  }

  static std::string differ(const QueuedPod& a, const ModelPod& b) {
    const std::string& name = b.pod->name;
    if (a.pod != b.pod) return name + ": another pod";
    if (a.timestamp != b.timestamp) return name + ": timestamp";
    if (a.attempts != b.attempts) return name + ": attempts";
    if (a.unschedulable_count != b.refused) return name + ": unschedulable count";
    if (a.consecutive_errors_count != b.errors) return name + ": error count";
    if (a.was_flushed != b.flushed || a.flush_timestamp != b.flush_time) return name + ": flush";
    if (a.initial_attempt_timestamp != b.first_attempt) return name + ": first attempt";
    if (a.unschedulable_plugins != set_of(b.unschedulable)) return name + ": unschedulable";
    if (a.pending_plugins != set_of(b.pending)) return name + ": pending";
    const PluginId gate = b.gate ? static_cast<PluginId>(*b.gate) : PluginId::kNone;
    if (a.gating_plugin != gate) return name + ": gate";
    return "";
  }
  std::string compare_list(const char* name, const std::vector<PodPtr>& mine,
                           const std::vector<ModelPodPtr>& theirs) const {
    const auto names = [](const auto& list, auto&& pod_of) {
      std::string text;
      for (const auto& one : list) text += pod_of(one)->text() + " ";
      return text;
    };
    bool same = mine.size() == theirs.size();
    for (std::size_t i = 0; same && i < mine.size(); ++i) same = mine[i] == theirs[i]->pod;
    if (!same)
      return fmt::format("{}: [{}] instead of [{}]", name,
                         names(mine, [](const PodPtr& p) { return p; }),
                         names(theirs, [](const ModelPodPtr& p) { return p->pod; }));
    for (const ModelPodPtr& one : theirs) {
      const QueuedPod* found = queue_->find(one->pod->ns, one->pod->name);
      if (found == nullptr) return fmt::format("{}: {} is not to be found", name, one->pod->name);
      if (std::string difference = differ(*found, *one); !difference.empty())
        return fmt::format("{}: {}", name, difference);
    }
    return "";
  }
  template <class Map>
  static bool same_counts(const Map& a, const Map& b) {  // a zero is as good as nothing
    const auto within = [](const Map& x, const Map& y) {
      for (const auto& [key, count] : x) {
        const auto other = y.find(key);
        if (count != (other == y.end() ? 0 : other->second)) return false;
      }
      return true;
    };
    return within(a, b) && within(b, a);
  }

  std::string compare() {
    const auto values = [](const QueueModel::Heap& heap, std::vector<ModelPodPtr> list = {}) {
      for (const auto& entry : heap.entries()) list.push_back(entry.value);
      return list;
    };
    std::vector<ModelPodPtr> pool;
    int gated = 0;
    for (const auto& entry : model_->pool) {
      pool.push_back(entry.queued);
      gated += entry.queued->gate ? 1 : 0;
    }
    std::string text = compare_list("active", queue_->active_pods(), values(model_->active));
    if (text.empty())
      text = compare_list("backoff", queue_->backoff_pods(),
                          values(model_->errors, values(model_->backoff)));
    if (text.empty()) text = compare_list("pool", queue_->unschedulable_pods(), pool);
    if (!text.empty()) return text;

    std::vector<PodPtr> flying;
    for (const auto& entry : model_->flight)
      if (entry.pod) flying.push_back(entry.pod);
    if (queue_->in_flight_pods() != flying) return "in flight";
    if (queue_->in_flight_events() != model_->flight.size() - flying.size())
      return "events kept for pods in flight";
    for (const auto& [uid, node] : model_->node_of()) {
      const std::string* mine = queue_->nominator().node_of(uid);
      if (mine == nullptr || *mine != node) return "where " + uid + " is nominated";
    }
    for (const char* node : {"n1", "n2"}) {
      std::vector<std::string> mine;
      for (const PodPtr& pod : queue_->nominator().on(node))
        mine.push_back(pod->uid + (pod->revision == 0 ? "?" : ""));
      if (mine != model_->nominated(node)) return fmt::format("nominated on '{}'", node);
    }
    const Counts& counts = observer_.counts;
    const std::map<QueueName, int> pending{
        {QueueName::kActive, model_->active.len()},
        {QueueName::kBackoff, model_->backoff.len() + model_->errors.len()},
        {QueueName::kGated, gated},
        {QueueName::kUnschedulable, static_cast<int>(model_->pool.size()) - gated}};
    if (!same_counts(counts.pending, pending)) return "pending gauge";
    if (!same_counts(counts.incoming, model_->counts.incoming)) return "incoming counter";
    if (!same_counts(counts.unschedulable, model_->counts.unschedulable))
      return "unschedulable gauge";
    if (!same_counts(counts.in_flight_events, model_->counts.in_flight_events))
      return "in-flight events gauge";
    return "";
  }

  bool closed(unsigned gate, const Pod& pod) const {
    if (!pod.spec->gates.empty() && gate == kFirstGate) return true;
    return mix(mix(gates_, gate), text_hash(pod.uid)) % 6 == 0;
  }

  Random random_;
  std::uint64_t salt_;
  QueueOptions options_;
  ManualClock clock_;
  ByPriority sort_;
  Gate first_gate_{kFirstGate, [this](const Pod& pod) { return closed(kFirstGate, pod); }};
  Gate second_gate_{kSecondGate, [this](const Pod& pod) { return closed(kSecondGate, pod); }};
  std::uint64_t gates_ = 1;
  std::map<std::string, PodPtr> known_;  // what the informer has
  CountingObserver observer_;
  std::unique_ptr<SchedulingQueue> queue_;
  std::unique_ptr<QueueModel> model_;
  std::vector<std::pair<QueuedPodPtr, ModelPodPtr>> held_;
  std::string problem_;
  kube::Revision revision_ = 0;
  int uids_ = 0;
};

TEST(QueueProperty, EveryHistoryIsTheModels) {
  planted_fault = Fault::kNone;
  const char* only = std::getenv("BERTH_SEED");
  const int first = only != nullptr ? std::atoi(only) : 0;
  const int last = only != nullptr ? first + 1 : kSequences;
  for (int seed = first; seed < last; ++seed) {
    const std::string difference = History(static_cast<std::uint64_t>(seed)).run();
    ASSERT_EQ(difference, "") << "BERTH_SEED=" << seed << " repeats it";
  }
}

class PlantedFault : public testing::TestWithParam<std::pair<const char*, Fault>> {};

TEST_P(PlantedFault, IsFound) {
  planted_fault = GetParam().second;
  int seed = 0;
  while (seed < kSequences && History(static_cast<std::uint64_t>(seed)).run().empty()) ++seed;
  planted_fault = Fault::kNone;
  EXPECT_LT(seed, kSequences) << "nobody noticed";
}

INSTANTIATE_TEST_SUITE_P(Queue, PlantedFault,
                         testing::Values(std::pair{"BackoffCount", Fault::kBackoffCount},
                                         std::pair{"BackoffEquality", Fault::kBackoffEquality},
                                         std::pair{"ErrorHeap", Fault::kErrorHeap},
                                         std::pair{"ForgetReplay", Fault::kForgetReplay},
                                         std::pair{"TrimTooMuch", Fault::kTrimTooMuch},
                                         std::pair{"GroupMember", Fault::kGroupMember},
                                         std::pair{"GroupSubject", Fault::kGroupSubject},
                                         std::pair{"KeepGroup", Fault::kKeepGroup},
                                         std::pair{"GatingEvents", Fault::kGatingEvents},
                                         std::pair{"MoveOrder", Fault::kMoveOrder},
                                         std::pair{"Timestamp", Fault::kTimestamp},
                                         std::pair{"Nomination", Fault::kNomination},
                                         std::pair{"GatedInBackoff", Fault::kGatedInBackoff}),
                         [](const auto& fault) { return fault.param.first; });

}  // namespace
}  // namespace test
}  // namespace berth::scheduler
