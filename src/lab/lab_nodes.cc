// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kube/pod_view.h"
#include "kube/time.h"
#include "lab/kubelet_events.h"
#include "lab/lab_state.h"
#include "lab/script.h"

namespace berth::lab {
namespace {

constexpr std::string_view kFake = "kwok.x-k8s.io/node";
constexpr std::string_view kFail = "berth.dev/fail", kSlow = "berth.dev/slow";

struct Failure {
  std::string_view text;
  Outage outage = Outage::kNone;
  Health health = Health::kReady;
};
constexpr Failure kFailures[] = {
    {"crash", Outage::kCrashed},
    {"cut-off", Outage::kCutOff},
    {"not-ready", Outage::kNone, Health::kNotReady},
    {"memory-pressure", Outage::kNone, Health::kMemoryPressure},
    {"disk-pressure", Outage::kNone, Health::kDiskPressure},
    {"pid-pressure", Outage::kNone, Health::kPidPressure},
};

// "10.1.2.0/24" as its first address and how many follow.
struct Range {
  std::uint32_t first = 0;
  std::uint16_t hosts = 0;
};
std::optional<Range> parse_range(std::string_view text) {
  std::uint32_t address = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int part = 0; part < 4; ++part) {
    std::uint8_t byte = 0;
    const auto [next, error] = std::from_chars(at, end, byte);
    if (error != std::errc() || next == end || *next != (part < 3 ? '.' : '/')) return std::nullopt;
    address = address << 8 | byte;
    at = next + 1;
  }
  unsigned bits = 0;
  const auto [next, error] = std::from_chars(at, end, bits);
  if (error != std::errc() || next != end || bits > 30) return std::nullopt;
  const std::uint32_t size = bits <= 16 ? 65'536u : 1u << (32 - bits);
  return Range{address, static_cast<std::uint16_t>(size - 2)};
}

bool says(json::Slice status, Health health) {
  const auto holds = [&](std::string_view type, bool wanted) {
    return kube::find_condition(status, type)["status"].equals(wanted ? "True" : "False");
  };
  return holds("Ready", health != Health::kNotReady) &&
         holds("MemoryPressure", health == Health::kMemoryPressure) &&
         holds("DiskPressure", health == Health::kDiskPressure) &&
         holds("PIDPressure", health == Health::kPidPressure);
}

}  // namespace

void Lab::on_node(const kube::WatchEvent& event) {
  const kube::Object& node = event.object;
  if (event.type == kube::WatchEvent::Type::kDeleted) {
    if (const std::uint32_t row = node_row(node.name(), false); row != kNoRow) drop_node(row);
    return;
  }
  const std::uint32_t at = node_row(node.name(), true);
  if (nodes_[at].node.valid() && nodes_[at].node.uid() != node.uid()) drop_node(at);
  NodeRow& row = nodes_[at];
  const bool known = row.node.valid();
  row.node = node;
  row.seen = true;
  const bool managed = options_.every_node || node.annotation(kFake) == "fake";
  const std::optional<Range> range = parse_range(node.member("spec")["podCIDR"].text());
  const std::optional<Range> usual = range ? range : parse_range(pod_range(at));
  row.range = usual->first;
  row.hosts = usual->hosts;
  if (managed && !row.managed) {
    row.managed = true;
    // Spread, so that not all nodes report at once later.
    Random chance = parts_.random.fork(fmt::format("report/{}", node.name()));
    row.reported =
        wall() - Duration(static_cast<std::int64_t>(
                     chance.unit() * static_cast<double>(options_.status_period.count())));
    begin_beating(at);
    read_node_annotations(at);
    look_at_node(at);
    look_at_pods_of(at);
    return;
  }
  if (!managed && known && row.managed) {
    row.managed = false;
    row.outage = Outage::kNone;
    return tell(at);
  }
  if (!row.managed) return;
  read_node_annotations(at);
  look_at_node(at);
}

void Lab::on_nodes_listed() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].node.valid() && !nodes_[i].seen) drop_node(i);
    nodes_[i].seen = false;
  }
}

// The row stays for the pods that name it: another node of that name may come.
void Lab::drop_node(std::uint32_t at) {
  NodeRow& row = nodes_[at];
  const std::uint32_t first = row.first_pod, pods = row.pods;
  row = NodeRow{};
  row.first_pod = first;
  row.pods = pods;
  row.wrapped = pods > 0;
  for (std::uint32_t pod = first; pod != kNoRow; pod = pods_[pod].next) {
    scope_.cancel(pods_[pod].timer);
    pods_[pod].timer = TimerId::kNone;
  }
  tell(at);
}

void Lab::read_node_annotations(std::uint32_t at) {
  NodeRow& row = nodes_[at];
  const std::string fail = row.node.annotation(kFail);
  if (!fail.empty()) {
    for (const Failure& each : kFailures) {
      if (each.text != fail) continue;
      row.by_annotation = true;
      row.health = static_cast<std::uint8_t>(each.health);
      if (each.outage != row.outage) {
        if (each.outage == Outage::kNone)
          come_back(at);
        else
          fall_silent(at, each.outage);
      }
    }
  } else if (row.by_annotation) {
    row.by_annotation = false;
    row.health = static_cast<std::uint8_t>(Health::kReady);
    come_back(at);
  }
  const std::string slow = row.node.annotation(kSlow);
  if (slow.empty() && !row.slow_by_annotation) return;
  row.slow_by_annotation = !slow.empty();
  const float factor = static_cast<float>(parse_factor(slow).value_or(1));
  if (factor == row.slow) return;
  row.slow = factor;
  look_at_pods_of(at);
}

void Lab::look_at_node(std::uint32_t at) {
  const NodeRow& row = nodes_[at];
  if (staged(kube::kNode)) return follow_node_stages(at);
  if (!beats(row) || row.writing) return;
  const json::Slice status = row.node.status();
  if (is_complete(status) && says(status, static_cast<Health>(row.health))) return;
  report(at);
}

void Lab::report(std::uint32_t at) {
  NodeRow& row = nodes_[at];
  if (row.writing) return;
  row.writing = true;
  row.reported = wall();
  kube::ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = kube::kNode;
  request.name = std::string(row.node.name());
  request.subresource = "status";
  request.options.patch_type = kube::PatchType::kStrategic;
  request.body.bytes = std::make_shared<const std::string>(
      node_status_patch(row.node, at, static_cast<Health>(row.health), row.reported));
  request.body.media_type = "application/strategic-merge-patch+json";
  send(std::move(request), [this, at, was = row.node](Result<kube::ApiReply> reply) {
    nodes_[at].writing = false;
    if (reply) {  // what was written comes back as an event, which looks again
      if (const auto* now = std::get_if<kube::Object>(&reply->body); now != nullptr && events_)
        events_->node_changed(was, *now);
      return;
    }
    if (reply.error().reason == Reason::kNotFound || reply.error().reason == Reason::kCancelled)
      return;
    parts_.log.warn("a node's status was refused",
                    {{"node", index_->node_names[at]}, {"error", reply.error()}});
    scope_.after(5s, [this, at] {
      if (nodes_[at].node.valid()) look_at_node(at);
    });
  });
}

void Lab::fall_silent(std::uint32_t at, Outage outage) {
  NodeRow& row = nodes_[at];
  if (row.outage == Outage::kNone) {
    // The last sign of life, with the time it would have had.
    const WallTime last = last_beat(row, wall());
    if (last > row.renewed) renew(at, last);
  }
  row.outage = outage;
  if (outage == Outage::kCrashed) row.rebooted = true;
  for (std::uint32_t pod = row.first_pod; pod != kNoRow; pod = pods_[pod].next) {
    scope_.cancel(pods_[pod].timer);
    pods_[pod].timer = TimerId::kNone;
  }
  tell(at);
}

void Lab::come_back(std::uint32_t at) {
  NodeRow& row = nodes_[at];
  if (row.outage == Outage::kNone) return look_at_node(at);
  row.outage = Outage::kNone;
  if (row.rebooted)
    for (std::uint32_t pod = row.first_pod; pod != kNoRow; pod = pods_[pod].next)
      pods_[pod].crash = true;
  row.rebooted = false;
  begin_beating(at);
  tell(at);
  look_at_node(at);
  look_at_pods_of(at);
}

bool Lab::fail_node(std::string_view name, Outage outage) {
  const std::uint32_t at = node_row(name, false);
  if (at == kNoRow || !nodes_[at].managed) return false;
  if (const auto flapping = index_->flaps.find(at); flapping != index_->flaps.end()) {
    scope_.cancel(flapping->second);
    index_->flaps.erase(flapping);
  }
  if (outage == Outage::kNone)
    come_back(at);
  else
    fall_silent(at, outage);
  return true;
}

bool Lab::recover_node(std::string_view name) { return fail_node(name, Outage::kNone); }

bool Lab::flap_node(std::string_view name, Duration down, Duration up, int times) {
  if (!recover_node(name)) return false;
  flap(node_row(name, false), down, up, times, true);
  return true;
}

void Lab::flap(std::uint32_t at, Duration down, Duration up, int times, bool failing) {
  index_->flaps.erase(at);
  if ((failing && times == 0) || !nodes_[at].managed) return;
  if (failing)
    fall_silent(at, Outage::kCutOff);
  else
    come_back(at);
  index_->flaps[at] = scope_.after(failing ? down : up, [this, at, down, up, times, failing] {
    flap(at, down, up, failing ? times : times - 1, !failing);
  });
}

std::vector<std::string> Lab::nodes_in(std::string_view zone) const {
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].managed &&
        (zone.empty() || nodes_[i].node.label("topology.kubernetes.io/zone") == zone))
      found.push_back(index_->node_names[i]);
  return found;
}

std::size_t Lab::fail_zone(std::string_view zone, Outage outage) {
  if (zone.empty()) return 0;
  const std::vector<std::string> lost = nodes_in(zone);
  for (const std::string& node : lost) fail_node(node, outage);
  return lost.size();
}

std::size_t Lab::recover_zone(std::string_view zone) { return fail_zone(zone, Outage::kNone); }

bool Lab::slow_node(std::string_view name, double factor) {
  const std::uint32_t at = node_row(name, false);
  if (at == kNoRow || !nodes_[at].managed || !(factor > 0)) return false;
  nodes_[at].slow = static_cast<float>(factor);
  look_at_pods_of(at);
  return true;
}

bool Lab::set_health(std::string_view name, Health health) {
  const std::uint32_t at = node_row(name, false);
  if (at == kNoRow || !nodes_[at].managed) return false;
  nodes_[at].health = static_cast<std::uint8_t>(health);
  look_at_node(at);
  return true;
}

bool Lab::simulates_node(std::string_view name) const {
  const auto found = index_->nodes.find(name);
  return found != index_->nodes.end() && nodes_[found->second].managed;
}

std::vector<std::pair<std::string, std::string>> Lab::troubles() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeRow& row = nodes_[i];
    if (!row.managed) continue;
    std::vector<std::string> wrong;
    if (index_->flaps.contains(i)) wrong.emplace_back("flapping");
    if (row.outage != Outage::kNone)
      wrong.emplace_back(row.outage == Outage::kCrashed ? "crashed" : "cut off");
    for (const Failure& each : kFailures)
      if (each.health != Health::kReady && static_cast<Health>(row.health) == each.health)
        wrong.emplace_back(each.text);
    if (row.slow != 1) wrong.push_back(fmt::format("{} times slower", row.slow));
    if (!wrong.empty())
      out.emplace_back(index_->node_names[i], fmt::format("{}", fmt::join(wrong, ", ")));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace berth::lab
