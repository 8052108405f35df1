// SPDX-License-Identifier: Apache-2.0
// Tells people what happened to an object, as events.k8s.io/v1 Events. Telling never blocks and
// never takes more than a fixed amount of memory: equal events become one series, an object that
// causes too many is silenced for a while, and what cannot be written in time is counted and lost.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "kube/object.h"

namespace berth::client {

struct ObjectRef {
  std::string api_version, kind, ns, name, uid, revision;
  friend auto operator<=>(const ObjectRef&, const ObjectRef&) = default;
};
ObjectRef ref_of(const kube::Object&);

enum class EventType : std::uint8_t { kNormal, kWarning };

struct EventNote {
  EventType type = EventType::kNormal;
  std::string reason;  // "Scheduled": UpperCamelCase
  std::string action;  // "Binding"
  std::string note;    // at most 1,024 bytes, cut otherwise
  std::map<std::string, std::string> annotations = {};
  friend auto operator<=>(const EventNote&, const EventNote&) = default;
};

struct EventRecorderOptions {
  std::string controller = {};     // "berth-scheduler"
  std::string instance = {};       // "berth-scheduler-host1"
  Duration series_interval = 10s;  // a running series is written this often
  Duration series_end = 6min;      // after so long without another, the next one is new
  double burst = 25;               // events of one object at once
  Duration refill = 5min;          // for one more
  std::size_t pending = 4096;      // writes not done yet
  std::size_t remembered = 4096;   // series, and objects in the spam filter
  unsigned in_flight = 4;
  unsigned attempts = 12;      // for one write, each with the Api's own retries
  Duration retry = 10s;        // jittered by a quarter
  Metrics* metrics = nullptr;  // outlives the recorder
};

struct EventStats {
  std::uint64_t written = 0;     // creates and patches that were accepted
  std::uint64_t aggregated = 0;  // became part of a series
  std::uint64_t spam = 0;        // held back by the filter
  std::uint64_t dropped = 0;     // too many pending, refused, or tried too often
};

// Loop-confined to its scope's executor; outlives that scope. Closing the scope writes what is
// pending, within the grace.
class EventRecorder {
 public:
  EventRecorder(Scope& parent, Api& api, Random random, EventRecorderOptions options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void event(const ObjectRef& regarding, EventNote note, const ObjectRef* related = nullptr);
  void event(const kube::Object& regarding, EventNote note, const ObjectRef* related = nullptr) {
    event(ref_of(regarding), std::move(note), related);
  }
  // Whoever tells things until its own end lives in a child of this: children close first.
  Scope& scope() { return scope_; }
  const EventStats& stats() const { return stats_; }
  std::size_t pending() const { return pending_; }

 private:
  struct Key {
    ObjectRef regarding, related;
    EventNote note;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class Work : std::uint8_t {
    kNone,
    kDue,      // waits for the end of the series interval
    kQueued,   // waits for a free place among the calls
    kSending,  // also while it waits to be tried again
  };
  struct Series {
    std::string name;      // of the Event
    std::string revision;  // of the object, when it was first seen
    WallTime first, last;
    Instant seen{};  // the last occurrence
    std::int64_t count = 1;
    std::int64_t written = 0;  // the count the server has; 0: no Event yet
    Work work = Work::kNone;
    unsigned tries = 0;
    std::list<const Key*>::iterator recent = {};
  };
  using All = std::map<Key, Series>;
  struct Bucket {
    double tokens = 0;
    Instant filled{};
    std::list<const ObjectRef*>::iterator recent = {};
  };

  void tally(std::uint64_t EventStats::*outcome, std::uint64_t by = 1);
  bool admit(const ObjectRef&);
  bool room();  // for one more series; forgets the oldest idle one
  std::string new_name(const std::string& object);
  void due(All::iterator);
  void arm();
  void queue(All::iterator);
  void send_more();
  void send(All::iterator);
  void on_reply(All::iterator, std::int64_t count, bool created, Result<kube::ApiReply>);
  void settle(All::iterator, bool ok);
  void flush();
  std::string document(const Key&, const Series&) const;
  Instant now() const { return scope_.executor().clock().now(); }

  Scope& scope_;  // gone once it has closed
  Api& api_;
  Random random_;
  EventRecorderOptions options_;
  EventStats stats_;
  std::optional<Labelled<Counter>> outcomes_;
  All all_;
  std::list<const Key*> recent_;  // oldest first
  std::map<ObjectRef, Bucket> buckets_;
  std::list<const ObjectRef*> recent_objects_;
  std::deque<std::pair<Instant, All::iterator>> due_;  // in order: the interval is one for all
  std::deque<All::iterator> queue_;
  std::size_t pending_ = 0;  // series with work
  unsigned sending_ = 0, retrying_ = 0;
  bool closing_ = false;
  std::int64_t last_stamp_ = 0;
};

}  // namespace berth::client
