// SPDX-License-Identifier: Apache-2.0
#include "controllers/node_lifecycle/zones.h"

#include <algorithm>
#include <tuple>

#include "controllers/nodes.h"
#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using kube::Object;

// k8s 1.36: 0.1 nodes a second, 0.01 in large zones that have mostly failed.
constexpr Duration kInterval = 10s, kSlowInterval = 100s;
constexpr std::size_t kLarge = 50;
constexpr double kUnhealthy = 0.55;
// Failures come together: a node waits so long for the others before it is judged alone.
constexpr Duration kSettle = 1s;

bool tainted(const Object& node) {
  return has_taint(node, kNotReady, "NoExecute") || has_taint(node, kUnreachable, "NoExecute");
}

WallTime transition(const Object& node) {
  const json::Slice ready = kube::find_condition(node.status(), "Ready");
  return kube::parse_time(ready["lastTransitionTime"].text()).value_or(WallTime{});
}

WallTime last_taint(const Object& node) {
  WallTime last{};
  for (const json::Slice taint : node.member("spec")["taints"].elements())
    if (taint["effect"].equals("NoExecute") &&
        (taint["key"].equals(kNotReady) || taint["key"].equals(kUnreachable)))
      last = std::max(last, kube::parse_time(taint["timeAdded"].text()).value_or(WallTime{}));
  return last;
}

struct Zone {
  std::size_t ready = 0, not_ready = 0;
  std::vector<const Object*> waiting;
  WallTime last{};  // when one was tainted, as far as the nodes say
  ZoneState state() const { return zone_state(ready, not_ready); }
};

}  // namespace

ZoneState zone_state(std::size_t ready, std::size_t not_ready) {
  if (ready == 0 && not_ready > 0) return ZoneState::kFullDisruption;
  const auto all = static_cast<double>(ready + not_ready);
  if (not_ready > 2 && static_cast<double>(not_ready) / all >= kUnhealthy)
    return ZoneState::kPartialDisruption;
  return ZoneState::kNormal;
}

std::optional<Duration> taint_interval(ZoneState state, std::size_t nodes) {
  if (state != ZoneState::kPartialDisruption) return kInterval;
  if (nodes > kLarge) return kSlowInterval;
  return std::nullopt;
}

std::string Turns::text() const {
  json::Writer w;
  w.object();
  for (const auto& [zone, time] : last) {
    w.member(zone);
    time ? w.integer(time->unix_nanos) : w.null();
  }
  w.end();
  return w.take();
}

Turns Turns::parse(std::string_view text) {
  Turns turns;
  for (auto at = json::Slice(text).members().begin(); at != nullptr; ++at) {
    const auto nanos = (*at).value.integer();
    turns.last[std::string((*at).key)] = nanos ? std::optional(WallTime{*nanos}) : std::nullopt;
  }
  return turns;
}

Verdict judge_zones(const std::vector<const Object*>& nodes, Turns& turns, WallTime now) {
  std::map<std::string, Zone> zones;
  for (const Object* node : nodes) {
    Zone& zone = zones[zone_of(*node)];
    const Readiness ready = readiness(*node);
    if (!node->labels()["node.kubernetes.io/exclude-disruption"].present())
      ++(ready == Readiness::kTrue ? zone.ready : zone.not_ready);
    if (tainted(*node))
      zone.last = std::max(zone.last, last_taint(*node));
    else if (ready == Readiness::kFalse || ready == Readiness::kUnknown)
      zone.waiting.push_back(node);
  }
  std::erase_if(turns.last, [&](const auto& turn) { return zones.count(turn.first) == 0; });

  Verdict verdict;
  const auto counted = [](const auto& of) { return of.second.ready + of.second.not_ready > 0; };
  const bool all_failed = std::any_of(zones.begin(), zones.end(), counted) &&
                          std::all_of(zones.begin(), zones.end(), [&](const auto& of) {
                            return !counted(of) || of.second.state() == ZoneState::kFullDisruption;
                          });
  if (all_failed) {
    for (const Object* node : nodes)
      if (tainted(*node)) verdict.clear.push_back(node);
    for (const auto& [name, zone] : zones) turns.last[name] = std::nullopt;
    return verdict;
  }
  const auto look_at = [&](WallTime when) {
    verdict.again = verdict.again ? std::min(*verdict.again, when) : when;
  };
  for (auto& [name, zone] : zones) {
    const auto interval = taint_interval(zone.state(), zone.ready + zone.not_ready);
    const auto turn = turns.last.find(name);
    if (!interval) {
      turns.last[name] = std::nullopt;
      continue;
    }
    WallTime last = zone.last;
    if (turn != turns.last.end()) {
      if (!turn->second) turn->second = now;
      last = *turn->second;
    }
    if (zone.waiting.empty()) continue;
    const Object* first = *std::min_element(
        zone.waiting.begin(), zone.waiting.end(), [](const Object* a, const Object* b) {
          return std::tuple(transition(*a), a->name()) < std::tuple(transition(*b), b->name());
        });
    const WallTime due = std::max(last + *interval, transition(*first) + kSettle);
    if (now < due) {
      look_at(due);
      continue;
    }
    verdict.taint.push_back(first);
    turns.last[name] = now;
    if (zone.waiting.size() > 1) look_at(now + *interval);
  }
  return verdict;
}

}  // namespace berth::controllers
