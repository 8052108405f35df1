// SPDX-License-Identifier: Apache-2.0
// Which failed nodes may lose their pods now. Taints that remove pods are handed out a node at a
// time in each zone, slower where much of a zone has failed, and not at all where everything has:
// then it is more likely that we are cut off than that all nodes are gone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "kube/object.h"

namespace berth::controllers {

enum class ZoneState : unsigned char { kNormal, kPartialDisruption, kFullDisruption };
// k8s 1.36: full where none is ready; partial from three on, where at least 55 % are not.
ZoneState zone_state(std::size_t ready, std::size_t not_ready);
// The time between two nodes of a zone; nothing: none is tainted.
std::optional<Duration> taint_interval(ZoneState, std::size_t nodes);

// When a zone's turn was last used, by zone; "stopped" ones wait a whole interval once they go on.
// A value.
struct Turns {
  std::map<std::string, std::optional<WallTime>> last;  // no time: stopped
  std::string text() const;
  static Turns parse(std::string_view);
};

struct Verdict {
  std::vector<const kube::Object*> taint;  // at most one a zone
  std::vector<const kube::Object*> clear;  // everything has failed: all that are tainted
  std::optional<WallTime> again;
};
Verdict judge_zones(const std::vector<const kube::Object*>& nodes, Turns&, WallTime now);

}  // namespace berth::controllers
