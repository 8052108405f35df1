// SPDX-License-Identifier: Apache-2.0
// How a cache keeps up with a server: list, watch, resume, relist, wait. Pure: it is told what
// happened and answers what to do next.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/random.h"
#include "base/result.h"
#include "kube/api.h"

namespace berth::client {

// What a failed request means to a list/watch.
enum class Failure : std::uint8_t {
  kGone,         // 410 in either form: the revision is no longer kept
  kTooLarge,     // the server has not reached our revision; after a restore it never may
  kThrottled,    // 429
  kDenied,       // 401, 403: nothing about the request's form
  kRefused,      // any other 4xx
  kServer,       // 5xx, or an ERROR event we cannot name
  kUnreachable,  // no connection, or it broke, or no answer in time
};
Failure failure_of(const Error&);

struct ListWatchSettings {
  bool stream = true;                // try WatchList first
  Duration bookmark_interval = 60s;  // twice as much silence ends a watch
  Duration stream_progress = 30s;    // a WatchList that stands still this long is given up
  Duration short_watch = 1s;         // one that ends sooner counts as a failure
  Duration first_wait = 800ms, most_wait = 30s, forget_failures = 2min;
};

// Thread-compatible; a value.
class ListWatch {
 public:
  enum class State : std::uint8_t { kIdle, kStreaming, kListing, kWaiting, kWatching };

  // Inputs. One request runs at a time, and Opened, Page, Event, Ended and Failed are about it.
  struct Start {};
  struct Opened {};  // the watch was accepted
  struct Page {
    kube::Revision revision = 0;
    bool last = true;
  };
  struct Event {
    kube::WatchEvent::Type type{};
    kube::Revision revision = 0;
    bool initial_events_end = false;
    Failure failure{};  // of an ERROR event
    std::optional<Duration> retry_after = {};
  };
  struct Ended {};  // the server ended the watch cleanly
  struct Failed {
    Failure failure{};
    std::optional<Duration> retry_after = {};
  };
  struct Wake {};   // the wait is over
  struct Quiet {};  // quiet_deadline() has passed
  using What = std::variant<Start, Opened, Page, Event, Ended, Failed, Wake, Quiet>;
  struct Input {
    Instant now;
    What what;
  };

  struct WatchRequest {
    kube::Revision from = 0;  // meaningless with initial_events
    bool initial_events = false;
    std::int64_t timeout_seconds = 0;
  };
  struct ListRequest {
    std::optional<kube::Revision> not_older_than = {};  // none: a consistent read
    bool paged = true;
  };
  // What to do, in this order. At most one of list, watch, wait and next_page is set.
  struct Effects {
    bool ignored = false;       // the input is about something already given up
    bool rewound = false;       // the server went back in time: accept lower revisions
    bool apply = false;         // the event's object or the page's items go into the cache
    bool commit = false;        // the snapshot is complete: what it did not hold is gone
    bool drop = false;          // end the running request
    bool no_streaming = false;  // remember for this server: WatchList does not work
    bool next_page = false;
    bool begin = false;  // a new snapshot begins
    std::optional<ListRequest> list = {};
    std::optional<WatchRequest> watch = {};
    std::optional<Duration> wait = {};
  };

  ListWatch(ListWatchSettings settings, Random random) : set_(settings), random_(random) {}

  Effects on(const Input&);

  State state() const { return state_; }
  kube::Revision seen() const { return last_; }  // complete up to here, once committed
  // When the running watch counts as dead unless something arrives.
  std::optional<Instant> quiet_deadline() const { return quiet_; }

 private:
  enum class Snapshot : std::uint8_t { kSinceLast, kConsistent, kUnpaged };

  Effects on_start();
  Effects on_opened(Instant now);
  Effects on_page(const Page&);
  Effects on_event(Instant now, const Event&);
  Effects on_bookmark(Instant now, const Event&);
  Effects on_ended(Instant now);
  Effects on_failed(Instant now, const Failed&);
  Effects streaming_failed(Instant now, const Failed&);
  Effects listing_failed(Instant now, const Failed&);
  Effects watching_failed(Instant now, const Failed&);
  Effects on_wake();
  Effects on_quiet(Instant now);

  Effects stream();
  Effects list(Snapshot);
  Effects watch();
  Effects wait(Instant now, State next, std::optional<Duration> at_least);
  Effects give_up_streaming();
  void progress(Instant now);

  ListWatchSettings set_;
  Random random_;
  State state_ = State::kIdle;
  State next_ = State::kIdle;  // after kWaiting
  Snapshot snapshot_ = Snapshot::kConsistent;
  kube::Revision last_ = 0;     // resume here
  kube::Revision highest_ = 0;  // of everything applied; above a later snapshot's: a rewound server
  std::optional<Instant> opened_, quiet_, last_failure_;
  Duration next_wait_{};
  unsigned stream_failures_ = 0, refusals_ = 0, silences_ = 0;
  bool bookmarks_ = false;  // this server sends them
};

}  // namespace berth::client
