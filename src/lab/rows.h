// SPDX-License-Identifier: Apache-2.0
// What the lab keeps of each simulated node and pod: a row in an array. All else stands in the
// objects themselves.
#pragma once

#include <cstdint>

#include "base/executor.h"
#include "kube/object.h"

namespace berth::lab {

inline constexpr std::uint32_t kNoRow = 0xffff'ffff;

struct PodRow {
  kube::Object pod = {};  // as last seen; not valid: the row is free
  TimerId timer = TimerId::kNone;
  WallTime last_start{};  // see LifeInput
  WallTime stopping{};
  std::uint32_t node = kNoRow;
  std::uint32_t next = kNoRow, before = kNoRow;  // on the same node; of free rows: the next one
  std::uint16_t host = 0;                        // its address within the node's range; 0: none
  bool writing : 1 = false;                      // a write is under way
  bool look : 1 = false;                         // afterwards
  bool crash : 1 = false;                        // its containers have to end
  bool seen : 1 = false;                         // during the relist under way
  std::uint8_t stage = 0;                        // where it goes next, with stages
};
static_assert(sizeof(PodRow) <= 48);

enum class Outage : std::uint8_t {
  kNone,
  kCrashed,  // what ran on it is dead; it starts again when the node is back
  kCutOff,   // nobody hears of it, and it goes on
};

struct NodeRow {
  kube::Object node = {};  // not valid: known only by the pods that name it
  WallTime born{};         // its heartbeats count from here
  WallTime renewed{};      // its last one
  WallTime reported{};     // its last status
  std::uint32_t first_pod = kNoRow, pods = 0;
  std::uint32_t range = 0;  // first address of its pods
  std::uint16_t next_host = 0, hosts = 0;
  Outage outage = Outage::kNone;
  std::uint8_t health = 0;
  std::uint8_t beat = 0;  // when within a period it sends its heartbeat
  bool managed : 1 = false;
  bool writing : 1 = false;
  bool wrapped : 1 = false;  // every address was given out once
  bool seen : 1 = false;
  bool by_annotation : 1 = false;  // its outage
  bool slow_by_annotation : 1 = false;
  bool rebooted : 1 = false;  // pods have to learn that they crashed
  float slow = 1;
};
static_assert(sizeof(NodeRow) <= 64);

}  // namespace berth::lab
