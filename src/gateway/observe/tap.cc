// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/tap.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/run/scheduler.h"

namespace berth::gateway {
namespace {

using scheduler::AttemptReport;
using scheduler::Place;
using scheduler::QueuedPod;
using scheduler::QueueName;

constexpr std::size_t kMovesKept = 20;
constexpr Duration kLongestSleep = std::chrono::minutes(5);

Waiting waiting_in(const QueuedPod& queued, Place place) {
  switch (place) {
    case Place::kActive:
      return Waiting::kActive;
    case Place::kBackoff:
    case Place::kErrorBackoff:
      return Waiting::kBackoff;
    case Place::kUnschedulable:
      return queued.gated() ? Waiting::kGated : Waiting::kUnschedulable;
    case Place::kNowhere:
    case Place::kInFlight:
      return Waiting::kGone;
  }
  return Waiting::kGone;
}

std::uint8_t state_of(const scheduler::Node& node) {
  const auto is = [&](std::string_view type, std::string_view status) {
    const auto found = node.conditions.find(std::string(type));
    return found != node.conditions.end() && found->second == status;
  };
  std::uint8_t state = 0;
  if (!is("Ready", "True")) state |= 1;
  if (is("MemoryPressure", "True") || is("DiskPressure", "True") || is("PIDPressure", "True"))
    state |= 2;
  if (node.unschedulable) state |= 4;
  return state;
}

// The resources that are drawn as GPUs.
std::vector<std::pair<scheduler::ResourceId, std::int64_t>> gpus_of(
    const scheduler::Node& node, const scheduler::ClusterState& cluster) {
  std::vector<std::pair<scheduler::ResourceId, std::int64_t>> gpus;
  for (const auto& [name, amount] : node.allocatable.scalars)
    if (name.ends_with("/gpu"))
      gpus.emplace_back(cluster.find_resource(name).value_or(scheduler::ResourceId::kNone), amount);
  return gpus;
}

constexpr std::int64_t kMi = 1 << 20;

}  // namespace

std::string cause_of(const AttemptReport& report) {
  if (report.refused.empty()) return std::string(report.message.substr(0, 200));
  const AttemptReport::Refusal& most = report.refused.front();
  std::string text(most.reason.empty() ? most.plugin : most.reason);
  if (text.starts_with("node(s) ")) text = text.substr(8);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  text += fmt::format(" on {}", most.nodes);
  const std::size_t others = report.refused.size() - 1;
  if (others > 0) return text + fmt::format(", {} other cause{}", others, others == 1 ? "" : "s");
  return text + (most.nodes == 1 ? " node" : " nodes");
}

MapRow Tap::row_of(const scheduler::Node& node, const Known& known,
                   const scheduler::ClusterState& cluster) {
  const scheduler::NodeSums& sums = cluster.sums(known.id);
  MapRow row;
  row.cpu = node.allocatable.millicores;
  row.cpu_asked = sums.millicores;
  row.memory = node.allocatable.memory / kMi;
  row.memory_asked = sums.memory / kMi;
  row.pods = static_cast<std::int32_t>(node.allowed_pods);
  row.pods_there = static_cast<std::int32_t>(cluster.pods_on(known.id).size());
  for (const auto& [resource, amount] : known.gpus) {
    row.gpu += amount;
    if (resource != scheduler::ResourceId::kNone)
      row.gpu_asked += cluster.scalar_used(known.id, resource);
  }
  row.state = known.state;
  return row;
}

void Tap::began(const scheduler::Scheduler& scheduler, Scope& scope) {
  scheduler_ = &scheduler;
  scope_ = &scope;
  scope.on_close([this] {
    scheduler_ = nullptr;
    scope_ = nullptr;
    armed_ = false;
  });
  if (watched_) watch(true);
  sample();
}

void Tap::watch(bool on) {
  watched_ = on;
  fresh_.queue.clear();
  if (!on || scheduler_ == nullptr) return;
  whole_queue_ = whole_map_ = history_new_ = true;
  arm();
}

std::shared_ptr<const Snapshot> Tap::snapshot() const {
  if (scheduler_ == nullptr) return nullptr;
  auto copy = std::make_shared<Snapshot>();
  copy->cluster = scheduler_->cluster().clone();
  const scheduler::NominatedPods& nominated = scheduler_->nominated();
  if (!nominated.empty())
    for (const std::string& node : nominated.nodes())
      for (const scheduler::PodPtr& pod : nominated.on(node)) copy->nominated.push_back(pod);
  copy->time = scope_->executor().clock().wall();
  return copy;
}

void Tap::attempted(const AttemptReport& report) {
  DecisionRecord record;
  record.id = next_id_++;
  record.time = scope_ != nullptr ? scope_->executor().clock().wall() : WallTime{};
  record.ns = report.pod.ns;
  record.name = report.pod.name;
  record.uid = report.pod.uid;
  record.outcome = static_cast<DecisionRecord::Outcome>(report.outcome);
  record.node = report.node;
  record.took = report.took;
  record.attempt = report.attempt;
  record.nodes = report.nodes;
  record.fit = report.fit;
  for (const AttemptReport::Refusal& one : report.refused) {
    const auto known = std::find_if(record.rejected.begin(), record.rejected.end(),
                                    [&](const auto& other) { return other.first == one.plugin; });
    if (known != record.rejected.end())
      known->second += one.nodes;
    else
      record.rejected.emplace_back(one.plugin, one.nodes);
  }
  record.message = report.message;
  const auto stage = [&](const char* name, const std::optional<Duration>& took) {
    if (took) record.stages.emplace_back(name, *took);
  };
  stage("PreFilter", report.stages.pre_filter);
  stage("Filter", report.stages.filter);
  stage("PreScore", report.stages.pre_score);
  stage("Score", report.stages.score);
  if (report.bind > Duration{}) record.stages.emplace_back("Bind", report.bind);
  if (report.outcome == AttemptReport::Outcome::kPlaced) {
    ++placed_;
    causes_.erase(report.pod.uid);
  } else {
    causes_[report.pod.uid] = {cause_of(report), report.refused.empty()
                                                     ? std::string()
                                                     : std::string(report.refused.front().plugin)};
  }
  fresh_.decisions.push_back(std::move(record));
  arm();
}

void Tap::pending(QueueName queue, int delta) {
  std::uint32_t& count = counts_[static_cast<std::size_t>(queue)];
  count = static_cast<std::uint32_t>(static_cast<std::int64_t>(count) + delta);
  arm();
}

WallTime Tap::wall_of(Instant at) const {
  const Clock& clock = scope_->executor().clock();
  return clock.wall() - (clock.now() - at);
}

QueueChange Tap::change_of(const QueuedPod& queued, Waiting place, std::string_view event) const {
  QueueChange change;
  change.pod = queued.pod;
  change.place = place;
  if (place == Waiting::kGone) return change;
  change.attempts = queued.attempts;
  change.since = wall_of(queued.initial_attempt_timestamp.value_or(queued.timestamp));
  change.event = event;
  if (place == Waiting::kGated) {
    change.plugin = scheduler_->plugin_name(queued.gating_plugin);
    change.cause = queued.pod->spec->gates.empty()
                       ? "Held back by " + change.plugin
                       : fmt::format("Gate {}", fmt::join(queued.pod->spec->gates, ", "));
    return change;
  }
  if (const auto cause = causes_.find(queued.pod->uid); cause != causes_.end()) {
    change.cause = cause->second.text;
    change.plugin = cause->second.plugin;
  }
  if (place == Waiting::kBackoff && queued.backoff_expiration) {
    change.next = wall_of(*queued.backoff_expiration);
    change.pause = *queued.backoff_expiration - queued.timestamp;
  } else if (place == Waiting::kUnschedulable) {
    change.next = wall_of(std::max(queued.timestamp, queued.flush_timestamp.value_or(Instant{})) +
                          kLongestSleep);
  }
  return change;
}

void Tap::moved(const QueuedPod& queued, Place from, Place to, std::string_view event) {
  if (to == Place::kNowhere && event == "PodDelete") causes_.erase(queued.pod->uid);
  if (scope_ == nullptr) return;
  const bool woken = from == Place::kUnschedulable && to != Place::kNowhere;
  if (woken) {
    const auto same = std::find_if(fresh_.moves.begin(), fresh_.moves.end(),
                                   [&](const QueueMove& move) { return move.event == event; });
    if (same != fresh_.moves.end()) {
      ++same->woken;
    } else if (fresh_.moves.size() < kMovesKept) {
      const std::uint32_t waiting = counts_[static_cast<std::size_t>(Waiting::kUnschedulable)] +
                                    counts_[static_cast<std::size_t>(Waiting::kGated)];
      fresh_.moves.push_back(
          {scope_->executor().clock().wall(), std::string(event), 1, waiting, queued.pod->text()});
    }
    arm();
  }
  if (!watched_ || whole_queue_) return;
  QueueChange change = change_of(queued, waiting_in(queued, to), event);
  change.woken = woken;
  fresh_.queue.push_back(std::move(change));
  arm();
}

void Tap::arm() {
  if (armed_ || scope_ == nullptr) return;
  armed_ = true;
  scope_->after(
      kTick,
      [this] {
        armed_ = false;
        flush();
      },
      Timer::kBackground);
}

void Tap::sample() {
  for (std::size_t i = 0; i < kWaitings; ++i) {
    auto& series = history_.waiting[i];
    series.push_back(counts_[i]);
    if (series.size() > QueueHistory::kSteps) series.erase(series.begin());
  }
  history_.placed.push_back(placed_);
  if (history_.placed.size() > QueueHistory::kSteps) history_.placed.erase(history_.placed.begin());
  placed_ = 0;
  history_new_ = true;
  arm();
  scope_->after(
      QueueHistory::kStep, [this] { sample(); }, Timer::kBackground);
}

// All that waits; once when somebody begins to watch.
void Tap::seed() {
  fresh_.queue.clear();
  fresh_.queue_whole = true;
  const scheduler::SchedulingQueue& queue = scheduler_->queue();
  const auto add = [&](const std::vector<scheduler::PodPtr>& pods) {
    for (const scheduler::PodPtr& pod : pods)
      if (const QueuedPod* queued = queue.find(pod->ns, pod->name))
        fresh_.queue.push_back(change_of(*queued, waiting_in(*queued, queued->place), ""));
  };
  add(queue.active_pods());
  add(queue.backoff_pods());
  add(queue.unschedulable_pods());
}

// Not by the table's rows: those are laid out when a pod is decided about, and an idle scheduler's
// map should show a node that came a second ago.
void Tap::copy_map(Batch& batch) {
  const scheduler::ClusterState& cluster = scheduler_->cluster();
  MapChange map;
  map.whole = whole_map_;
  std::size_t at = 0;
  cluster.for_each_node([&](const scheduler::Node& node) {
    if (at == known_.size()) known_.emplace_back();
    Known& known = known_[at];
    if (known.revision != node.revision || known.name != node.name) {
      map.whole |= known.name != node.name || !known.labels || *known.labels != *node.labels;
      known = {.name = node.name,
               .revision = node.revision,
               .labels = node.labels,
               .id = cluster.node_id(node.name),
               .state = state_of(node),
               .gpus = gpus_of(node, cluster),
               .last = known.last};
    }
    MapRow row = row_of(node, known, cluster);
    row.row = static_cast<std::uint32_t>(at++);
    if (row != known.last) map.rows.push_back(row);
    known.last = row;
  });
  map.whole |= at != known_.size();
  known_.resize(at);
  if (!map.whole && map.rows.empty()) return;
  if (map.whole) {
    ++map_layout_;
    map.rows.clear();
    for (const Known& known : known_) {
      map.names.push_back(known.name);
      map.labels.push_back(known.labels);
      map.rows.push_back(known.last);
    }
  }
  map.layout = map_layout_;
  whole_map_ = false;
  batch.map = std::move(map);
}

void Tap::flush() {
  if (scheduler_ == nullptr) return;
  if (watched_ && whole_queue_) seed();
  whole_queue_ = false;
  auto batch = std::make_shared<Batch>(std::move(fresh_));
  fresh_ = {};
  batch->time = scope_->executor().clock().wall();
  batch->counts = counts_;
  if (history_new_) batch->history = history_;
  history_new_ = false;
  if (watched_) copy_map(*batch);
  if (sink_) sink_(std::move(batch));
  // The map changes without a word from the queue: pods end, nodes come.
  if (watched_) arm();
}

}  // namespace berth::gateway
