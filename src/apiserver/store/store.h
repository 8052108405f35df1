// SPDX-License-Identifier: Apache-2.0
// What an embedded cluster knows: every object, what it was a while ago, and who wants to hear of
// changes. Writes become visible, to readers, watchers and their own writer alike, once the journal
// has them.
//
//  1. floor <= published <= tip. Revisions come from one counter and are never given out twice, not
//     after a failed commit and not after a restart.
//  2. For every revision from a kind's floor to the published one, list() answers as it was then.
//  3. Every published write is one event of its kind's history, in the order of revisions.
//  4. An answered write is published and in the journal. No watcher sees what a crash can undo,
//     volatile writes excepted.
//  5. A watcher is a cursor into the history. It costs nothing while nothing happens to what it
//     looks at, and holds nothing back: one that is too slow gets 410.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/store/journal.h"
#include "apiserver/store/key.h"
#include "apiserver/store/list_plan.h"
#include "apiserver/store/selector.h"
#include "apiserver/store/table.h"
#include "base/scope.h"
#include "kube/api.h"

namespace berth::apiserver {

class ListRun;
struct Watcher;
struct WatchBuckets;

// How much history is kept. The limits on count and bytes hold even where that means less than the
// minimum; age alone never takes the last min_events.
struct Window {
  std::size_t min_events = 100;      // a kind
  std::size_t max_events = 100'000;  // a kind
  Duration min_age = std::chrono::seconds(75);
  Duration max_age = std::chrono::minutes(5);
  std::size_t max_bytes = std::size_t{128} << 20;  // over all kinds, without what is shared
};

struct StoreOptions {
  std::vector<IndexSpec> indexes = {};
  Window window = {};
  Duration bookmark_period = std::chrono::seconds(60);
  Duration probe_period = std::chrono::seconds(1);
  kube::Revision reserve = 100'000;  // revisions reserved ahead
  // Told every published change, in order; must not call the store.
  std::function<void(const HistoryEvent&)> observe = {};
};

enum class View : std::uint8_t {
  kPublished,
  kTip,  // with what is still on its way to the journal: for preconditions and admission
};

enum class Durability : std::uint8_t {
  kDurable,
  kVolatile,  // never in the journal: gone after a restart, or back to its last durable version
};

// Makes the next version; the revision belongs into its metadata.
using MakeObject = Fn<Result<kube::Object>(kube::Revision)>;

struct Write {
  enum class Expect : std::uint8_t { kAny, kAbsent, kPresent };
  kube::KindId kind{};
  kube::Key key = {};
  Expect expect = Expect::kAny;
  std::string uid = {};         // that it must have; "": any
  kube::Revision revision = 0;  // that it must have; 0: any
  MakeObject next = nullptr;    // empty: delete it
  Durability durability = Durability::kDurable;
};
MakeObject stamped(kube::Object);  // the object as it is, with the revision

struct Committed {
  kube::Revision revision = 0;
  kube::Object object = {};  // of a deletion: the last state, with the deletion's revision
};

// Which objects of a kind. Narrowed further by what the selector's fields require.
struct Range {
  std::string ns = {};                 // "": all
  std::string name = {};               // "": all
  std::string index = {}, value = {};  // by a declared index; "": all
};

struct ListSpec {
  kube::KindId kind{};
  Range range = {};
  Selector selector = {};
  ListPlan plan = {};
};

struct Page {
  kube::Revision revision = 0;
  std::vector<kube::Object> items = {};  // in key order
  std::string continue_token = {};
  std::optional<std::int64_t> remaining = {};  // only without a selector
};

struct ListFailure {
  Error error;
  std::string fresh_token = {};  // how to go on with what there is now
};

struct WatchSpec {
  kube::KindId kind{};
  Range range = {};
  Selector selector = {};
  kube::Revision after = 0;       // events above it; not with initial_events
  bool initial_events = false;    // first what there is, as ADDED
  bool initial_bookmark = false;  // then a bookmark that says so
  bool bookmarks = false;
};

enum class WatchId : std::uint64_t { kNone = 0 };

class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // There is something to read. Comes once, then only after a read() has said `more` false.
  virtual void ready(WatchId) = 0;
};

struct WatchBatch {
  std::vector<kube::WatchEvent> events = {};  // kError comes alone and last
  bool more = false;                          // read on; there will be no ready()
  bool end = false;                           // after an error: the watch is over
};

struct StoreStats {
  std::size_t objects = 0, events = 0, event_bytes = 0, watchers = 0, pending_writes = 0;
  bool refusing_writes = false;
};

// Loop-confined to its scope's executor; outlives that scope.
class Store {
 public:
  // Without a journal nothing survives, and writes are published in the same turn.
  Store(Scope& parent, StoreOptions, Journal* = nullptr);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  // Takes over what the journal has; before everything else. What a salvage lost is returned.
  Result<std::vector<Damage>> recover(Recovery = Recovery::kWhole);

  kube::Revision published() const { return published_; }
  kube::Revision tip() const { return tip_; }
  kube::Revision floor(kube::KindId) const;
  StoreStats stats() const;
  bool refusing_writes() const { return !refusal_.empty(); }
  std::size_t count(kube::KindId) const;
  std::vector<kube::KindId> kinds() const;  // of which there is or was something

  // Null when there is none. Valid until the next write and the next turn of the loop.
  const kube::Object* get(kube::KindId, KeyRef, View = View::kPublished) const;
  void write(Write, Done<Committed>);
  // When this revision is published; at once if it is.
  void when_published(kube::Revision, Done<Ok>);

  // A list at one revision, made in steps so that nobody waits long for the loop.
  tl::expected<ListRun, ListFailure> begin_list(ListSpec) const;
  tl::expected<Page, ListFailure> list(ListSpec) const;  // the same in one step

  // A new watch is ready to be read. The sink outlives it.
  WatchId watch(WatchSpec, WatchSink&);
  WatchBatch read(WatchId, std::size_t max_events);
  void bookmark(WatchId);  // one more at the end of what there is, whatever the period
  void unwatch(WatchId);

  // The kind is served from now on, or in another form than before: what watches ask for from
  // before is gone. k8s 1.36: a custom kind's watch cache begins with its definition.
  void open(kube::KindId);

  // History at or below it goes, of all kinds.
  void compact(kube::Revision floor);

  static constexpr std::size_t kStep = 2'000;  // entries or events looked at in one go

 private:
  friend class ListRun;
  struct Pending;
  struct Collected;

  Table& table(kube::KindId);
  const Table* find_table(kube::KindId) const;

  // store_write.cc
  Result<Ok> check(const Write&, const Entry*) const;
  void start_commit();
  void on_committed(Result<Ok>);
  void publish(std::vector<Pending>);
  void fail_all(const Error&);
  void probe_later();
  void trim(Table&, Instant now);
  void trim_bytes(Instant now);
  void trim_later();

  // store_watch.cc
  WatchBuckets& buckets(Table&);
  void wake(Table&, const HistoryEvent&, std::uint64_t place, std::vector<WatchId>& woken);
  void read_initial(Watcher&, std::size_t max, WatchBatch&);
  void read_history(Watcher&, std::size_t max, WatchBatch&);
  void expire(Watcher&, WatchBatch&);
  void bookmark_later(kube::KindId);

  Scope& scope_;
  StoreOptions options_;
  Journal* journal_;
  kube::Revision start_ = 1;  // where every kind's floor began
  kube::Revision published_ = 1, tip_ = 1;
  kube::Revision reserved_ = 0;  // in the journal
  std::int64_t next_row_ = 1;
  std::unordered_map<std::uint16_t, std::unique_ptr<Table>> tables_;
  std::vector<Table*> in_order_;  // as they were made: what is done to all goes in this order
  std::size_t history_bytes_ = 0;

  std::unique_ptr<Collected> collecting_;
  std::unique_ptr<Collected> committing_;  // null: none is under way
  std::string refusal_;                    // why no writes are taken; "": they are
  bool trimming_ = false;
  std::multimap<kube::Revision, Done<Ok>> waiting_;

  std::unordered_map<std::uint64_t, std::unique_ptr<Watcher>> watchers_;
  std::unordered_map<const Table*, std::unique_ptr<WatchBuckets>> buckets_;
  std::uint64_t last_watch_ = 0;

  // How many objects are left after a page, for those who ask for the next one.
  struct Remembered {
    std::uint64_t list;
    std::int64_t remaining;
  };
  mutable std::vector<Remembered> remembered_;
  mutable std::size_t next_remembered_ = 0;
};

}  // namespace berth::apiserver
