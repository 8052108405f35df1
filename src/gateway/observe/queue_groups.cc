// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/queue_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "gateway/observe/wire.h"
#include "json/writer.h"

namespace berth::gateway {
namespace {

constexpr std::string_view kNames[] = {"active", "backoff", "unschedulable", "gated"};

std::string waits_for(const QueueChange& pod) {
  switch (pod.place) {
    case Waiting::kActive:
      return pod.attempts == 0 || pod.event.empty() ? "next scheduling cycle"
                                                    : "woken: " + pod.event;
    case Waiting::kBackoff:
      return pod.pause > Duration{}
                 ? fmt::format("backoff {} s",
                               std::chrono::duration_cast<std::chrono::seconds>(pod.pause).count())
                 : "its pause to end";
    case Waiting::kGated:
      return "its gates to be removed";
    default:
      break;
  }
  static const std::map<std::string_view, std::string_view> kEvents = {
      {"NodeResourcesFit", "a pod to end or a node to grow"},
      {"TaintToleration", "a taint or toleration to change"},
      {"NodeAffinity", "a node with such labels"},
      {"NodeName", "the node that it names"},
      {"NodePorts", "a pod with that port to end"},
      {"NodeUnschedulable", "a node to be uncordoned"},
      {"PodTopologySpread", "a pod or node in another domain"},
      {"InterPodAffinity", "a pod to come or go"},
      {"VolumeBinding", "a claim, volume or class"},
      {"VolumeZone", "a volume or a node in its zone"},
      {"VolumeRestrictions", "a pod with that volume to end"},
      {"NodeVolumeLimits", "a volume to be detached"},
      {"DynamicResources", "a device to become free"},
  };
  if (pod.cause.starts_with("Persistentvolumeclaim ")) return "that claim to be created";
  const auto found = kEvents.find(pod.plugin);
  return found == kEvents.end() ? "an event that its plugins wait for" : std::string(found->second);
}

struct Group {
  const QueueChange* oldest = nullptr;
  std::uint32_t count = 0;
  int attempts = 0;
  std::optional<WallTime> next = {};
};

}  // namespace

void QueueGroups::take(const Batch& batch) {
  counts_ = batch.counts;
  if (batch.history) history_ = *batch.history;
  if (batch.queue_whole) pods_.clear();
  for (const QueueChange& change : batch.queue) {
    if (change.place == Waiting::kGone)
      pods_.erase(change.pod->uid);
    else
      pods_[change.pod->uid] = change;
  }
  for (const QueueMove& move : batch.moves) moves_.push_front(move);
  if (moves_.size() > kMostMoves) moves_.resize(kMostMoves);
}

std::string QueueGroups::json() const {
  using Key = std::tuple<Waiting, std::string_view, std::string_view, std::string_view>;
  std::map<Key, Group> groups;
  std::optional<WallTime> oldest;
  for (const auto& [uid, pod] : pods_) {
    const std::string_view owner = pod.pod->controller ? std::string_view(pod.pod->controller->uid)
                                                       : std::string_view(pod.pod->uid);
    Group& group = groups[{pod.place, pod.pod->ns, owner, pod.cause}];
    ++group.count;
    group.attempts = std::max(group.attempts, pod.attempts);
    const bool first =
        group.oldest == nullptr ||
        std::tie(pod.since, pod.pod->name) < std::tie(group.oldest->since, group.oldest->pod->name);
    if (first) group.oldest = &pod;
    if (pod.next && (!group.next || *pod.next < *group.next)) group.next = pod.next;
    if (!oldest || pod.since < *oldest) oldest = pod.since;
  }
  std::vector<const Group*> order;
  for (const auto& [key, group] : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(), [](const Group* a, const Group* b) {
    return std::tie(a->oldest->place, a->oldest->since, a->oldest->pod->name) <
           std::tie(b->oldest->place, b->oldest->since, b->oldest->pod->name);
  });

  json::Writer out;
  out.object().member("counts").object();
  for (std::size_t i = 0; i < kWaitings; ++i) out.member(kNames[i]).integer(counts_[i]);
  out.end();
  if (oldest) out.member("oldest").integer(millis(*oldest));
  out.member("groups").array();
  for (std::size_t i = 0; i < std::min(order.size(), kMostGroups); ++i) {
    const Group& group = *order[i];
    const QueueChange& pod = *group.oldest;
    out.object();
    out.member("place").string(kNames[static_cast<std::size_t>(pod.place)]);
    out.member("namespace").string(pod.pod->ns);
    out.member("name").string(group.count > 1 && pod.pod->controller ? pod.pod->controller->name
                                                                     : pod.pod->name);
    out.member("pod").string(pod.pod->name);
    out.member("count").integer(group.count);
    out.member("priority").integer(pod.pod->priority());
    out.member("scheduler").string(pod.pod->spec->scheduler_name);
    out.member("cause").string(pod.cause);
    out.member("plugin").string(pod.plugin);
    out.member("waitsFor").string(waits_for(pod));
    out.member("attempts").integer(group.attempts);
    out.member("since").integer(millis(pod.since));
    if (group.next) out.member("next").integer(millis(*group.next));
    if (pod.pause > Duration{})
      out.member("pause").integer(pod.pause / std::chrono::milliseconds(1));
    out.end();
  }
  out.end();
  out.member("more").integer(
      static_cast<std::int64_t>(order.size() - std::min(order.size(), kMostGroups)));
  out.member("moves").array();
  for (const QueueMove& move : moves_) {
    out.object().member("time").integer(millis(move.time)).member("event").string(move.event);
    out.member("woken").integer(move.woken).member("waiting").integer(move.waiting);
    if (!move.pod.empty()) out.member("pod").string(move.pod);
    out.end();
  }
  out.end();
  out.member("history").object().member("step").integer(QueueHistory::kStep /
                                                        std::chrono::milliseconds(1));
  const auto series = [&](std::string_view name, const std::vector<std::uint32_t>& values) {
    out.member(name).array();
    for (const std::uint32_t value : values) out.integer(value);
    out.end();
  };
  for (std::size_t i = 0; i < kWaitings; ++i) series(kNames[i], history_.waiting[i]);
  series("placed", history_.placed);
  out.end().end();
  return out.take();
}

}  // namespace berth::gateway
