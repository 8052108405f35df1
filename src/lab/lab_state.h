// SPDX-License-Identifier: Apache-2.0
// The inner parts of a Lab that its several files share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>

#include "lab/lab.h"

namespace berth::lab {

// Reads one kind's watch and hands its events on, a batch a turn.
class Lab::Feed final : public apiserver::WatchSink {
 public:
  Feed(Lab&, kube::KindId, void (Lab::*event)(const kube::WatchEvent&), void (Lab::*listed)());
  ~Feed() override;
  void ready(apiserver::WatchId) override;

 private:
  void begin();
  void read();

  Lab& lab_;
  kube::KindId kind_;
  void (Lab::*event_)(const kube::WatchEvent&);
  void (Lab::*listed_)();
  apiserver::WatchId id_{};
  bool reading_ = false;
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

// Where rows are found. Never walked: the order of rows is what is observable.
struct Lab::Index {
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> nodes;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> pods;  // "ns/name"
  std::vector<std::string> node_names;                                             // a row each
  std::vector<TimerId> node_timers;        // of stages; a row each, or none
  std::map<std::uint32_t, TimerId> flaps;  // when nodes that flap go down or up next
};

// Whose heartbeat is due when.
struct Lab::Beats {
  struct Due {
    Instant at;
    std::uint32_t node;
    WallTime born;  // of the node whose it is; another one in its row has its own
    friend bool operator>(const Due& a, const Due& b) {
      return a.at != b.at ? a.at > b.at : a.node > b.node;
    }
  };
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due = {};
  bool running = false;  // a timer is set
  std::weak_ptr<void> watched = {};
  Random uids{0};
};

// The creation of the first nodes.
struct Lab::Birth {
  Done<Ok> done = {};
  std::deque<std::string> waiting = {};  // documents
  std::size_t under_way = 0;
  std::optional<Error> failure = {};
};

}  // namespace berth::lab
