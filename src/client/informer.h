// SPDX-License-Identifier: Apache-2.0
// A local copy of a server's objects that follows every change. What it promises:
//  1. Per key, revisions rise strictly; a new uid under the same name arrives as delete, then add.
//     (Also the one way a lower revision can follow: the server was restored from an older state.)
//  2. Intermediate states may be skipped, the last one never.
//  3. The cache already shows an event when its handler runs; handlers run one at a time.
//  4. A key missing after a relist is delivered as deleted, with the last known object.
//  5. seen() is the revision up to which the cache is complete.
//  6. While the server is away: one timer, no CPU.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/informer_feed.h"

namespace berth::client {

enum class Keep : std::uint8_t {
  kDocument,  // whole objects
  kCompiled,  // what `compile` made of them; the document is dropped
  kMetadata,  // objects cut down to their metadata
};

struct InformerOptions {
  FeedOptions feed;
  Keep keep = Keep::kDocument;
};

// Handlers may read the informer and close its scope, but not destroy it.
template <class T>
struct InformerHandler {
  Fn<void(const T&)> added = nullptr;
  Fn<void(const T& before, const T& after)> updated = nullptr;
  Fn<void(const T& last)> deleted = nullptr;  // the last state known
};

// The object with nothing but its metadata.
kube::Object metadata_only(const kube::Object&);

// Orders keys by namespace, then name; finds them by views.
struct KeyLess {
  using is_transparent = void;
  using View = std::pair<std::string_view, std::string_view>;
  static View view(const kube::Key& key) { return {key.ns, key.name}; }
  static View view(const View& key) { return key; }
  static View view(const kube::Key* key) { return view(*key); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return view(a) < view(b);
  }
};

// Loop-confined to its scope's executor; outlives that scope. Ends when the scope closes.
template <class T = kube::Object>
class Informer final : private FeedSink {
  static constexpr bool kPlain = std::is_same_v<T, kube::Object>;

 public:
  using Compile = Fn<T(const kube::Object&)>;
  using IndexBy = Fn<std::vector<std::string>(const kube::Object&)>;

  Informer(Scope& parent, Transport& transport, Random random,
           InformerOptions options) requires kPlain
      : Informer(parent, transport, random, options,
                 options.keep == Keep::kMetadata
                     ? Compile(&metadata_only)
                     : Compile([](const kube::Object& object) { return object; })) {
    BERTH_CHECK(options.keep != Keep::kCompiled, "Keep::kCompiled needs a compile function");
  }
  Informer(Scope& parent, Transport& transport, Random random, InformerOptions options,
           Compile compile)
      : scope_(parent.child("informer " + kube::kind_of(options.feed.kind).plural)),
        feed_(scope_, transport, random, std::move(options.feed), *this),
        compile_(std::move(compile)) {
    scope_.on_close([this] {
      stopped_ = true;
      feed_.stop();
    });
  }
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Before start().
  void add_index(std::string name, IndexBy by) {
    BERTH_CHECK(!started_, "indexes are added before the start");
    indexes_.push_back({std::move(name), std::move(by), {}});
  }
  // At any time: what the cache holds by then arrives as adds, then every change. Never inline.
  void add_handler(InformerHandler<T> handler) {
    if (stopped_) return;
    handlers_.push_back(std::make_unique<Listener>(Listener{std::move(handler)}));
    scope_.post([this, listener = handlers_.back().get()] { introduce(*listener); });
  }
  // Runs once the cache is complete for the first time, after every handler saw its adds.
  void on_synced(Task then) {
    if (stopped_) return;
    if (synced())
      scope_.post(std::move(then));
    else
      waiting_.push_back(std::move(then));
  }
  // Runs whenever seen() may have grown: after events, bookmarks and snapshots. One listener; set
  // it before start().
  void on_advanced(Task listener) { advanced_ = std::move(listener); }
  // Runs when withheld() begins to be true. One listener; set it before start().
  void on_withheld(Task listener) { withheld_ = std::move(listener); }
  void start() {
    BERTH_CHECK(!started_, "an informer starts once");
    started_ = true;
    scope_.post([this] { feed_.start(); });
  }

  bool synced() const { return feed_.synced(); }
  // The server has no such kind, or not for us. Both can be true: a kind can go away.
  bool withheld() const { return feed_.withheld(); }
  kube::Revision seen() const { return feed_.seen(); }
  const FeedStats& stats() const { return feed_.stats(); }
  std::size_t size() const { return entries_.size(); }
  bool has(const kube::Key& key) const { return entries_.count(key) > 0; }
  // Valid until the key changes; null when there is none.
  const T* get(const kube::Key& key) const {
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  // In key order; pointers as above.
  std::vector<const T*> list() const {
    std::vector<const T*> out;
    out.reserve(entries_.size());
    for (const auto& [key, entry] : entries_) out.push_back(&entry.value);
    return out;
  }
  std::vector<const T*> list(std::string_view ns) const {  // of one namespace
    std::vector<const T*> out;
    for (auto at = entries_.lower_bound(KeyLess::View{ns, {}});
         at != entries_.end() && at->first.ns == ns; ++at)
      out.push_back(&at->second.value);
    return out;
  }
  std::vector<const T*> by_index(std::string_view index, std::string_view value) const {
    std::vector<const T*> out;
    for (const Index& candidate : indexes_) {
      if (candidate.name != index) continue;
      auto bucket = candidate.buckets.find(value);
      if (bucket == candidate.buckets.end()) return out;
      for (const kube::Key* key : bucket->second) out.push_back(&entries_.find(*key)->second.value);
      return out;
    }
    BERTH_CHECK(false, "no index of that name");
  }
  template <class F>
  void for_each(F&& f) const {  // f(const Key&, const T&), in key order
    for (const auto& [key, entry] : entries_) f(key, entry.value);
  }

 private:
  struct Empty {};
  struct Entry {
    T value;
    kube::Revision revision = 0;
    std::uint32_t round = 0;  // the snapshot that confirmed it
    std::vector<std::pair<std::uint32_t, const std::string*>> filed = {};  // index, value
    [[no_unique_address]] std::conditional_t<kPlain, Empty, std::string> uid = {};
  };
  using Entries = std::map<kube::Key, Entry, KeyLess>;
  struct Index {
    std::string name;
    IndexBy by;
    std::map<std::string, std::set<const kube::Key*, KeyLess>, std::less<>> buckets;
  };
  struct Listener {
    InformerHandler<T> handler;
    bool introduced = false;
  };

  static KeyLess::View view(const kube::Object& object) { return {object.ns(), object.name()}; }
  static std::string_view uid_of(const Entry& entry) {
    if constexpr (kPlain)
      return entry.value.uid();
    else
      return entry.uid;
  }

  // Revisions of a restored server may come back with another content.
  static bool unchanged(const Entry& entry, const kube::Object& object) {
    if constexpr (kPlain)
      return entry.revision == object.revision() && entry.value.json() == object.json();
    else
      return false;
  }

  void begin() override { ++round_; }

  bool put(kube::Object object, kube::Revision floor, bool rewound) override {
    auto at = entries_.find(view(object));
    if (at == entries_.end()) {
      if (object.revision() <= floor) return false;
      add(object);
      return true;
    }
    Entry& entry = at->second;
    entry.round = round_;
    const bool same = uid_of(entry) == object.uid();
    if (rewound ? same && unchanged(entry, object) : object.revision() <= entry.revision)
      return false;
    if (!same || rewound) {
      remove(at, nullptr);
      add(object);
      return true;
    }
    unfile(at);
    const T before = std::exchange(entry.value, compile_(object));
    entry.revision = object.revision();
    file(at, object);
    notify([&](InformerHandler<T>& h) {
      if (h.updated) h.updated(before, entry.value);
    });
    return true;
  }

  bool erase(kube::Object object) override {
    auto at = entries_.find(view(object));
    if (at == entries_.end() || object.revision() <= at->second.revision) return false;
    remove(at, uid_of(at->second) == object.uid() ? &object : nullptr);
    return true;
  }

  void commit() override {
    for (auto at = entries_.begin(); at != entries_.end();) {
      auto next = std::next(at);
      if (at->second.round != round_) remove(at, nullptr);
      at = next;
    }
    for (Task& task : std::exchange(waiting_, {})) scope_.post(std::move(task));
  }
  void advanced() override {
    if (advanced_ && !stopped_) advanced_();
  }
  void withheld_now() override {
    if (withheld_ && !stopped_) withheld_();
  }

  void add(const kube::Object& object) {
    Entry entry{.value = compile_(object), .revision = object.revision(), .round = round_};
    if constexpr (!kPlain) entry.uid = object.uid();
    auto at = entries_.emplace(object.key(), std::move(entry)).first;
    file(at, object);
    notify([&](InformerHandler<T>& h) {
      if (h.added) h.added(at->second.value);
    });
  }

  // `final`: the state the server deleted, when it told.
  void remove(typename Entries::iterator at, const kube::Object* final) {
    unfile(at);
    const T last = final != nullptr ? compile_(*final) : std::move(at->second.value);
    entries_.erase(at);
    notify([&](InformerHandler<T>& h) {
      if (h.deleted) h.deleted(last);
    });
  }

  void file(typename Entries::iterator at, const kube::Object& object) {
    for (std::uint32_t i = 0; i < indexes_.size(); ++i)
      for (std::string& value : indexes_[i].by(object)) {
        auto bucket = indexes_[i].buckets.try_emplace(std::move(value)).first;
        if (bucket->second.insert(&at->first).second)
          at->second.filed.push_back({i, &bucket->first});
      }
  }
  void unfile(typename Entries::iterator at) {
    for (const auto& [i, value] : std::exchange(at->second.filed, {})) {
      auto bucket = indexes_[i].buckets.find(*value);
      bucket->second.erase(&at->first);
      if (bucket->second.empty()) indexes_[i].buckets.erase(bucket);
    }
  }

  template <class F>
  void notify(F&& tell) {
    for (std::size_t i = 0; i < handlers_.size(); ++i)
      if (handlers_[i]->introduced && !stopped_) tell(handlers_[i]->handler);
  }
  void introduce(Listener& listener) {
    listener.introduced = true;
    if (!listener.handler.added) return;
    for (const auto& [key, entry] : entries_)
      if (!stopped_) listener.handler.added(entry.value);
  }

  Scope& scope_;
  Feed feed_;
  Compile compile_;
  Entries entries_;
  std::vector<Index> indexes_;
  std::vector<std::unique_ptr<Listener>> handlers_;
  std::vector<Task> waiting_;
  Task advanced_, withheld_;
  std::uint32_t round_ = 0;
  bool started_ = false, stopped_ = false;
};

}  // namespace berth::client
