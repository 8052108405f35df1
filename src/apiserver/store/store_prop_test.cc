// SPDX-License-Identifier: Apache-2.0
// Random histories against a model that is nothing but a list of what was published: writes with
// and without preconditions, durable and volatile; lists of every sort at every revision still
// known, in one go and in steps; watchers of every sort, quick and slow; compaction; commits that
// fail; a full disk; kills in the middle of a commit. Whatever the seed:
//  - revisions rise, also over failures and restarts;
//  - what was acknowledged is published with that revision, and is there after every restart;
//  - every list is the model's state at its revision;
//  - every watcher hears exactly what the model says it should, or 410.
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using Type = kube::WatchEvent::Type;

// One object as the model knows it.
struct Known {
  kube::Object object;
  bool durable = true;
};
using State = std::map<std::string, Known>;  // by key text, pods only

struct Happened {
  kube::Revision revision;
  std::string key;
  kube::Object before, after;  // after: not valid for a deletion
};

class Server final : public Component {
 public:
  Server(Env& env, SimDisk& disk, World& world, StoreOptions options)
      : journal_(env.runtime.loop("disk"), disk, env.faults,
                 {.work =
                      [&world, random = env.random.fork("disk")]() mutable {
                        world.busy(Duration(random.below(3'000'000)));
                      }}),
        scope_(env.runtime.loop("api"), env.name) {
    options.indexes = usual_indexes();
    store = std::make_unique<Store>(scope_, std::move(options), &journal_);
    const auto recovered = store->recover();
    EXPECT_TRUE(recovered.has_value()) << recovered.error().message;
  }

 private:
  SimJournal journal_;
  Scope scope_;

 public:
  std::unique_ptr<Store> store;
};

// A watcher and what it must hear.
struct Listener final : WatchSink {
  WatchId id{};
  WatchSpec spec;
  bool ready_now = true;
  bool slow = false;
  bool over = false;
  std::size_t next = 0;                           // in the model's events
  std::map<std::string, kube::Revision> initial;  // still to come
  bool bookmark_due = false;
  kube::Revision started = 0;
  void ready(WatchId) override {
    EXPECT_FALSE(ready_now) << "told twice";
    ready_now = true;
  }
};

class History {
 public:
  explicit History(Seed seed)
      : world_(seed, Order::kShuffled), random_(Random(seed).fork("driver")) {
    std::vector<FaultRule> rules;
    const auto add = [&](const char* point, double probability, FaultAction action) {
      FaultRule rule{.point = point, .probability = probability, .action = action};
      rule.restart_after = 10ms;
      rule.error = {.reason = Reason::kInternalError, .message = "injected"};
      rules.push_back(rule);
    };
    add("journal.commit", 0.02, FaultAction::kFail);
    add("journal.half", 0.005, FaultAction::kCrash);
    add("journal.kept", 0.01, FaultAction::kCrash);
    world_.plan(*FaultPlan::make(std::move(rules)));
    process_ = &world_.spawn("server", [this](Env& env) { return start(env); });
    settle_restart();
  }
  ~History() {
    client_.close({}, [] {});
    world_.run_for(1s);
  }

  void act() {
    if (!alive()) return;
    const std::uint64_t choice = random_.below(100);
    if (choice < 55)
      write();
    else if (choice < 65)
      list();
    else if (choice < 72)
      begin_run();
    else if (choice < 78)
      open_watch();
    else if (choice < 81)
      close_watch();
    else if (choice < 83)
      store().compact(store().published() - std::min(store().published(), random_.below(20)));
    else if (choice < 84)
      disk_.full = !disk_.full;
    else if (choice < 85)
      kill();
    else
      read_watches(false);
    step_runs();
    for (std::uint64_t steps = random_.below(12); steps > 0; --steps) {
      world_.step();
      settle_restart();
    }
  }

  void finish() {
    disk_.full = false;
    world_.plan({});
    world_.run_for(5s);
    settle_restart();
    world_.run_for(5s);
    ASSERT_TRUE(alive());
    while (!runs_.empty()) step_runs();
    read_watches(true);
    for (const auto& listener : listeners_) {
      if (listener->over) continue;
      EXPECT_FALSE(missing(*listener)) << "a watcher was not told";
    }
    list();
    kill();
    world_.run_for(1s);
    settle_restart();
    ASSERT_TRUE(alive());
    list();
  }
  std::uint64_t acknowledged() const { return acknowledged_; }
  int restarts() const { return process_->starts() - 1; }

 private:
  bool alive() { return process_->alive(); }
  Store& store() { return *process_->get<Server>().store; }

  std::unique_ptr<Component> start(Env& env) {
    StoreOptions options;
    options.window = {.min_events = 5, .max_events = 60, .max_bytes = 30'000};
    options.reserve = 40;
    options.observe = [this](const HistoryEvent& event) { observe(event); };
    fresh_ = true;
    return std::make_unique<Server>(env, disk_, world_, std::move(options));
  }

  // The model.
  void observe(const HistoryEvent& event) {
    EXPECT_GT(event.revision, newest_) << "revisions rise";
    newest_ = event.revision;
    const std::string key(event.entry->key);
    const auto before = now_.find(key);
    EXPECT_EQ(event.before.valid(), before != now_.end()) << key;
    Happened happened{event.revision, key, {}, {}};
    if (before != now_.end()) happened.before = before->second.object;
    if (event.before.valid() && before != now_.end()) {
      EXPECT_EQ(event.before.json(), before->second.object.json());
    }
    const auto sent = sent_.find(event.revision);
    ASSERT_NE(sent, sent_.end()) << "nobody wrote " << event.revision;
    EXPECT_EQ(sent->second.key, key);
    if (event.deleted) {
      EXPECT_FALSE(sent->second.object.valid());
      now_.erase(key);
      durable_.erase(key);
    } else {
      EXPECT_EQ(sent->second.object.json(), event.after.json());
      happened.after = event.after;
      now_[key] = {event.after, sent->second.durable};
      if (sent->second.durable) durable_[key] = {event.after, true};
    }
    events_.push_back(std::move(happened));
  }

  // After a restart: every durable write that was published is there, or one that was on its way
  // when the process died.
  void settle_restart() {
    if (!alive() || !fresh_) return;
    fresh_ = false;
    for (auto& listener : listeners_) listener->over = true;  // they died with it
    listeners_.clear();
    runs_.clear();
    EXPECT_GE(store().published(), newest_) << "revisions never fall";
    newest_ = store().published();
    const auto page = store().list({.kind = kube::kPod});
    ASSERT_TRUE(page.has_value());
    State found;
    for (const kube::Object& object : page->items) found[object.key().text()] = {object, true};
    for (const auto& [key, known] : durable_) {
      if (found.contains(key) && found[key].object.json() == known.object.json()) continue;
      const kube::Revision have = found.contains(key) ? found[key].object.revision() : 0;
      EXPECT_TRUE(was_on_its_way(key, have, known.object.revision()))
          << key << " was at " << known.object.revision() << ", is at " << have;
    }
    for (const auto& [key, known] : found) {
      if (durable_.contains(key)) continue;
      EXPECT_TRUE(was_on_its_way(key, known.object.revision(), 0)) << key << " came from nowhere";
    }
    durable_ = now_ = found;
    start_ = found;
    started_ = store().published();
    events_.clear();
    sent_.clear();
  }
  // Was there an unanswered durable write that explains `have` (0: gone) instead of `published`?
  bool was_on_its_way(const std::string& key, kube::Revision have, kube::Revision published) {
    for (const auto& [revision, write] : sent_) {
      if (write.key != key || !write.durable || revision <= published) continue;
      if (write.object.valid() ? revision == have : have == 0) return true;
    }
    return false;
  }

  State at(kube::Revision revision) const {
    State state = start_;
    for (const Happened& event : events_) {
      if (event.revision > revision) break;
      if (event.after.valid())
        state[event.key] = {event.after, true};
      else
        state.erase(event.key);
    }
    return state;
  }
  static bool wanted(const Range& range, const Selector& selector, const kube::Object& object) {
    if (!object.valid()) return false;
    if (!range.ns.empty() && object.ns() != range.ns) return false;
    if (!range.name.empty() && object.name() != range.name) return false;
    if (!range.index.empty()) {
      const std::vector<kube::OwnerRef> owners = object.owners();
      if (owners.empty() || owners[0].uid != range.value) return false;
    }
    return selector.matches(object);
  }

  // What is done to the store.
  kube::Key some_key() {
    return {fmt::format("ns{}", random_.below(3)), fmt::format("p{}", random_.below(5))};
  }
  std::string pick(std::string_view prefix, std::uint64_t of) {
    const std::uint64_t n = random_.below(of + 1);
    return n == 0 ? "" : fmt::format("{}{}", prefix, n);
  }
  void write() {
    const kube::Key key = some_key();
    const kube::Object* tip = store().get(kube::kPod, key, View::kTip);
    const std::uint64_t how = random_.below(10);
    Write write{.kind = kube::kPod, .key = key};
    kube::Object object = pod(key, {.node = pick("n", 3),
                                    .phase = pick("phase", 2),
                                    .app = pick("app", 2),
                                    .owner = pick("u", 2),
                                    .uid = fmt::format("uid{}", ++uids_)});
    bool fine = true;
    if (how < 2) {
      fine = tip != nullptr;
    } else {
      write.next = stamped(object);
      if (how == 2) {
        write.expect = Write::Expect::kAbsent;
        fine = tip == nullptr;
      } else if (how == 3) {
        write.revision = store().published();
        fine = tip != nullptr && tip->revision() == write.revision;
      } else if (how == 4) {
        write.uid = tip == nullptr ? "none" : std::string(tip->uid());
        fine = tip != nullptr;
      }
      if (random_.chance(0.2)) write.durability = Durability::kVolatile;
    }
    const bool refusing = store().refusing_writes();
    const bool deletes = !write.next;
    const bool durable = deletes || write.durability == Durability::kDurable;
    const kube::Revision revision = store().tip() + 1;
    if (fine && !refusing)
      sent_[revision] = {key.text(), deletes ? kube::Object() : *object.next(revision), durable};
    store().write(
        std::move(write),
        client_.done<Committed>(kNoLimit, [this, revision, fine, refusing](Result<Committed> done) {
          if (!done) {
            if (!fine && !refusing && done.error().reason != Reason::kCancelled) {
              EXPECT_NE(done.error().reason, Reason::kInternalError);
            }
            return;
          }
          ++acknowledged_;
          EXPECT_TRUE(fine && !refusing);
          EXPECT_EQ(done->revision, revision);
          EXPECT_LE(revision, newest_) << "acknowledged before it was published";
        }));
  }

  Range some_range() {
    Range range;
    if (random_.chance(0.4)) range.ns = fmt::format("ns{}", random_.below(3));
    if (!range.ns.empty() && random_.chance(0.3)) range.name = fmt::format("p{}", random_.below(5));
    if (range.name.empty() && random_.chance(0.2)) {
      range.index = "metadata.ownerReferences.uid";
      range.value = "u1";
    }
    return range;
  }
  Selector some_selector() {
    static const char* const kLabels[] = {"", "", "app=app1", "!app", "app in (app1,app2)"};
    static const char* const kFields[] = {"",
                                          "",
                                          "spec.nodeName=n1",
                                          "spec.nodeName=",
                                          "status.phase!=phase1",
                                          "spec.nodeName=n2,status.phase=phase2",
                                          "metadata.name=p2",
                                          "metadata.namespace=ns1"};
    return select(kLabels[random_.below(5)], kFields[random_.below(8)]);
  }
  kube::Revision some_revision() {
    const kube::Revision floor = store().floor(kube::kPod);
    return floor + random_.below(store().published() - floor + 1);
  }

  std::vector<std::string> expected(const ListSpec& spec, kube::Revision revision) {
    std::vector<std::string> lines;
    for (const auto& [key, known] : at(revision))
      if (wanted(spec.range, spec.selector, known.object)) lines.push_back(known.object.json());
    return lines;
  }
  static std::vector<std::string> lines_of(const std::vector<kube::Object>& items) {
    std::vector<std::string> lines;
    for (const kube::Object& item : items) lines.push_back(item.json());
    return lines;
  }
  void list() {
    ListSpec spec{.kind = kube::kPod, .range = some_range(), .selector = some_selector()};
    const bool exact = random_.chance(0.6);
    if (exact) spec.plan.exactly = some_revision();
    spec.plan.limit = random_.below(6);
    const kube::Revision revision = exact ? spec.plan.exactly : store().published();
    std::vector<std::string> found;
    for (int pages = 0; pages < 20; ++pages) {
      const auto page = store().list(spec);
      ASSERT_TRUE(page.has_value()) << page.error().error.message;
      EXPECT_EQ(page->revision, revision);
      for (std::string& line : lines_of(page->items)) found.push_back(std::move(line));
      if (page->continue_token.empty()) break;
      if (page->remaining) {
        EXPECT_EQ(static_cast<std::size_t>(*page->remaining) + found.size(),
                  expected(spec, revision).size());
      }
      const std::size_t limit = spec.plan.limit;
      spec.plan = *plan_list(
          {.limit = static_cast<std::int64_t>(limit), .continue_token = page->continue_token});
    }
    EXPECT_EQ(found, expected(spec, revision)) << "at " << revision;
  }

  // Lists in steps, with everything else going on between.
  struct Stepping {
    ListSpec spec;
    ListRun run;
  };
  void begin_run() {
    ListSpec spec{.kind = kube::kPod, .range = some_range(), .selector = some_selector()};
    if (random_.chance(0.5)) spec.plan.exactly = some_revision();
    auto run = store().begin_list(spec);
    ASSERT_TRUE(run.has_value());
    runs_.push_back({std::move(spec), std::move(*run)});
  }
  void step_runs() {
    if (!alive() || runs_.empty()) return;
    const std::size_t which = random_.below(runs_.size());
    Stepping& stepping = runs_[which];
    const auto done = stepping.run.step(1 + random_.below(4));
    if (!done) {
      EXPECT_NE(stepping.spec.plan.exactly, 0u) << "the newest state never expires";
      EXPECT_LT(stepping.spec.plan.exactly, store().floor(kube::kPod));
    } else if (*done) {
      const Page page = stepping.run.take();
      EXPECT_EQ(lines_of(page.items), expected(stepping.spec, page.revision));
    } else {
      return;
    }
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void open_watch() {
    if (listeners_.size() > 12) return;
    auto listener = std::make_unique<Listener>();
    listener->spec = {.kind = kube::kPod, .range = some_range(), .selector = some_selector()};
    listener->slow = random_.chance(0.3);
    WatchSpec& spec = listener->spec;
    spec.bookmarks = random_.chance(0.5);
    listener->started = store().published();
    if (random_.chance(0.4)) {
      spec.initial_events = true;
      spec.initial_bookmark = random_.chance(0.5);
      listener->bookmark_due = spec.initial_bookmark;
      for (const auto& [key, known] : at(store().published()))
        if (wanted(spec.range, spec.selector, known.object))
          listener->initial[key] = known.object.revision();
    } else {
      spec.after = some_revision();
      listener->started = spec.after;
    }
    while (listener->next < events_.size() && events_[listener->next].revision <= listener->started)
      ++listener->next;
    listener->id = store().watch(spec, *listener);
    listeners_.push_back(std::move(listener));
  }
  void close_watch() {
    if (listeners_.empty()) return;
    const std::size_t which = random_.below(listeners_.size());
    store().unwatch(listeners_[which]->id);
    listeners_.erase(listeners_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  // The next event the listener must hear, skipping those that do not concern it.
  bool missing(Listener& listener) {
    const Range& range = listener.spec.range;
    for (; listener.next < events_.size(); ++listener.next) {
      const Happened& event = events_[listener.next];
      if (wanted(range, listener.spec.selector, event.before) ||
          wanted(range, listener.spec.selector, event.after))
        return true;
    }
    return false;
  }
  void hear(Listener& listener, const kube::WatchEvent& event) {
    if (event.type == Type::kError) {
      EXPECT_EQ(event.error->reason, Reason::kExpired);
      const bool lost =
          !listener.initial.empty() || listener.bookmark_due ||
          (missing(listener) && events_[listener.next].revision <= store().floor(kube::kPod));
      // Something it had not looked at is gone; that need not be something it wanted.
      EXPECT_TRUE(lost || listener.slow || listener.started < store().floor(kube::kPod));
      listener.over = true;
      return;
    }
    if (event.type == Type::kBookmark) {
      if (event.initial_events_end) {
        EXPECT_TRUE(listener.bookmark_due && listener.initial.empty());
        EXPECT_EQ(event.revision, listener.started);
        listener.bookmark_due = false;
        return;
      }
      EXPECT_TRUE(listener.spec.bookmarks);
      EXPECT_FALSE(missing(listener) && events_[listener.next].revision <= event.revision)
          << "a bookmark before what it covers";
      return;
    }
    const std::string key = event.object.key().text();
    if (!listener.initial.empty()) {
      EXPECT_EQ(event.type, Type::kAdded);
      EXPECT_EQ(listener.initial.begin()->first, key) << "in the order of keys";
      EXPECT_EQ(listener.initial.begin()->second, event.revision);
      listener.initial.erase(listener.initial.begin());
      return;
    }
    EXPECT_FALSE(listener.bookmark_due);
    ASSERT_TRUE(missing(listener)) << "heard something that did not happen to it: " << key;
    const Happened& happened = events_[listener.next++];
    const Range& range = listener.spec.range;
    const bool was = wanted(range, listener.spec.selector, happened.before);
    const bool is = wanted(range, listener.spec.selector, happened.after);
    EXPECT_EQ(event.type, is ? (was ? Type::kModified : Type::kAdded) : Type::kDeleted);
    EXPECT_EQ(key, happened.key);
    EXPECT_EQ(event.revision, happened.revision);
    const kube::Object object = is ? happened.after : *happened.before.next(happened.revision);
    EXPECT_EQ(event.object.json(), object.json());
  }
  void read_watches(bool all) {
    for (const auto& listener : listeners_) {
      if (listener->over || !listener->ready_now) continue;
      if (!all && listener->slow && random_.chance(0.9)) continue;
      do {
        const WatchBatch batch = store().read(listener->id, 1 + random_.below(5));
        for (const kube::WatchEvent& event : batch.events) hear(*listener, event);
        listener->ready_now = batch.more;
        if (batch.end) {
          EXPECT_TRUE(listener->over);
        }
      } while (listener->ready_now && (all || random_.chance(0.7)));
    }
  }
  void kill() {
    listeners_.clear();
    runs_.clear();
    world_.kill(*process_);
    world_.restart(*process_);
    settle_restart();
  }

  World world_;
  Random random_;
  SimDisk disk_;
  Scope client_{world_.loop("client"), "client"};
  Process* process_ = nullptr;
  bool fresh_ = false;

  struct Sent {
    std::string key;
    kube::Object object;
    bool durable = true;
  };
  std::map<kube::Revision, Sent> sent_;
  State start_, now_, durable_;
  kube::Revision started_ = 0, newest_ = 0;
  std::vector<Happened> events_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Stepping> runs_;
  std::uint64_t uids_ = 0, acknowledged_ = 0;
};

TEST(StoreProperty, RandomHistoriesAgreeWithAListOfWhatWasPublished) {
  const char* const asked = std::getenv("BERTH_SEEDS");
  const char* const only = std::getenv("BERTH_SEED");
  const Seed first = only == nullptr ? 1 : std::stoull(only);
  const Seed last = only != nullptr ? first : asked == nullptr ? 30 : std::stoull(asked);
  std::uint64_t acknowledged = 0;
  int restarts = 0;
  for (Seed seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    History run(seed);
    for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) run.act();
    run.finish();
    acknowledged += run.acknowledged();
    restarts += run.restarts();
  }
  EXPECT_GT(acknowledged, 50 * (last - first + 1));
  if (only == nullptr) {
    EXPECT_GT(restarts, 10);
  }
}

}  // namespace
}  // namespace berth::apiserver
