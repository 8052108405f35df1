// SPDX-License-Identifier: Apache-2.0
// What the store keeps of a watch, and where it finds those whom a change may concern.
#pragma once

#include <optional>
#include <vector>

#include "apiserver/store/list_run.h"

namespace berth::apiserver {

struct Watcher {
  WatchId id{};
  Table* table = nullptr;
  WatchSink* sink = nullptr;
  WatchSpec spec;
  Walk walk;
  std::optional<ListRun> initial = {};  // while what there is already is being read
  std::uint64_t place = 0;              // the next event to look at; not while idle
  kube::Revision after = 0;             // everything up to here was looked at
  bool idle = false;                    // all was read: only a change in its bucket concerns it
  bool bookmark = false;                // one is wanted at the end
  bool expired = false;                 // asked for what is no longer known
  bool over = false;
};

// Each watcher is in one bucket, the narrowest that holds all it may see.
struct WatchBuckets {
  std::vector<Watcher*> all;
  ByText<std::vector<Watcher*>> by_ns, by_key;
  std::vector<ByText<std::vector<Watcher*>>> by_value;  // an index each
  std::vector<Watcher*> bookmarked;                     // those who asked for bookmarks
  bool bookmarking = false;                             // the timer runs

  void add(Watcher&);
  void remove(Watcher&);
};

}  // namespace berth::apiserver
