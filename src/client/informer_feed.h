// SPDX-License-Identifier: Apache-2.0
// Runs a ListWatch over a Transport and hands what arrives to a cache, object by object, so that a
// snapshot never exists twice: its items go in as they come, and what it lacked goes at its end.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "base/scope.h"
#include "client/list_watch.h"
#include "client/transport.h"
#include "kube/api.h"

namespace berth::client {

// What informers of one server learn for each other. Thread-safe.
struct ServerTraits {
  std::atomic<bool> no_streaming{false};  // WatchList was refused or did not work
};

struct FeedOptions {
  kube::KindId kind{};
  std::string ns = {};  // "": all of them
  std::string label_selector = {}, field_selector = {};
  std::int64_t page = 500;
  bool managed_fields = false;
  Duration call_limit = 60s;  // a page, or the opening of a watch
  ListWatchSettings settings = {};
  std::shared_ptr<ServerTraits> server = {};
  Metrics* metrics = nullptr;  // outlives the feed
};

struct FeedStats {
  std::uint64_t relists = 0;         // snapshots after the first
  std::uint64_t watch_restarts = 0;  // watches opened after the first
  std::uint64_t stale = 0;           // events dropped because the cache knew as much or more
  std::uint64_t requests = 0;
};

// The cache behind a feed. The answers are false when the object was stale and left out.
class FeedSink {
 public:
  virtual ~FeedSink() = default;
  virtual void begin() = 0;  // a snapshot begins
  // `floor`: an unknown key at or below it was deleted already. `rewound`: the server went back in
  // time, so a lower revision replaces a higher one.
  virtual bool put(kube::Object, kube::Revision floor, bool rewound) = 0;
  virtual bool erase(kube::Object) = 0;
  virtual void commit() = 0;      // the snapshot is complete: what it did not hold is gone
  virtual void advanced() {}      // seen() may have grown
  virtual void withheld_now() {}  // the feed is, from now on
};

// Loop-confined to its scope's executor. `scope`, `transport` and `sink` outlive it.
class Feed {
 public:
  Feed(Scope& scope, Transport& transport, Random random, FeedOptions options, FeedSink& sink);
  void start();
  void stop();  // ends the running request; nothing is handed over any more
  bool synced() const { return synced_; }
  // The server said last that it has no such kind, or not for us. It is asked again.
  bool withheld() const { return withheld_; }
  kube::Revision seen() const { return synced_ ? machine_.seen() : 0; }
  const FeedStats& stats() const { return stats_; }

 private:
  void perform(const ListWatch::Effects&);
  ListWatch::Effects tell(const ListWatch::What& what);
  kube::ApiRequest request(kube::Verb) const;
  void ask_list(const ListWatch::ListRequest&);
  void ask_page();
  void on_page(kube::ObjectList);
  void ask_watch(const ListWatch::WatchRequest&);
  void read();
  void on_batch(const kube::WatchStream::Batch&);
  void on_event(const kube::WatchEvent&);
  void fail_with(const Error&);
  void arm_quiet();
  kube::Object trimmed(const kube::Object&) const;
  static void count(std::uint64_t& stat, const std::optional<Counter>& metric);

  Scope& scope_;
  Transport& transport_;
  FeedOptions options_;
  FeedSink& sink_;
  ListWatch machine_;
  FeedStats stats_;
  std::optional<Counter> relists_, watch_restarts_, stale_;
  bool synced_ = false, withheld_ = false;
  std::uint64_t turn_ = 0;  // of the running request; answers to earlier ones are dropped
  ListWatch::ListRequest list_;
  std::string continue_;
  std::unique_ptr<kube::WatchStream> stream_;
  std::uint64_t watches_ = 0, snapshots_ = 0;
  TimerId quiet_timer_ = TimerId::kNone;
};

}  // namespace berth::client
