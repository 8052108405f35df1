// SPDX-License-Identifier: Apache-2.0
#include "scheduler/preemption/lost_work.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <set>
#include <tuple>

#include "policy/scavenge/cheapest_cover.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/preemption/violations.h"

namespace berth::scheduler {
namespace {

using scavenge::BoardJob;
using scavenge::Cover;
using scavenge::Unit;
using scavenge::UnitSet;

constexpr std::size_t kOthersKept = 3;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int32_t kWidestPriority = 1'000'000'000;
constexpr int kGoingAnyway = -2'100'000'000;  // before every tier

class NobodyNominated final : public NominatedPods {
 public:
  bool empty() const override { return true; }
  std::vector<PodPtr> on(std::string_view) const override { return {}; }
  std::vector<std::string> nodes() const override { return {}; }
};
const NobodyNominated kNobody;

const NominatedPods& nominated_of(const PreemptionQuestion& q) {
  return q.nominated != nullptr ? *q.nominated : kNobody;
}
const Pod& preemptor_of(const PreemptionQuestion& q) {
  return q.preemptor != nullptr ? *q.preemptor : q.cycle.pod;
}

// A job with its pods on one node.
struct Tenant {
  const BoardJob* job = nullptr;
  std::vector<PodPtr> pods = {};
  int violations = 0;
};
struct Place {
  NodeId node = NodeId::kNone;
  const std::string* name = nullptr;
  std::vector<Tenant> tenants = {};  // by uid
};

// Pods that may go, by node and job.
std::vector<Place> places_of(const PreemptionQuestion& q, std::span<const std::uint32_t> rows,
                             const scavenge::Board& board) {
  const ClusterState& cluster = q.cycle.cluster;
  const std::int32_t priority = preemptor_of(q).priority();
  std::vector<Place> places;
  for (const std::uint32_t row : rows) {
    const NodeId id = cluster.table().node[row];
    Place place{.node = id, .name = &cluster.node(id).name};
    for (const PodPtr& pod : cluster.pods_on(id)) {
      if (pod->priority() >= priority || !pod->controller) continue;
      const BoardJob* job = board.of_controller(pod->controller->uid);
      if (job == nullptr) continue;
      const auto same = std::find_if(place.tenants.begin(), place.tenants.end(),
                                     [&](const Tenant& each) { return each.job == job; });
      if (same != place.tenants.end())
        same->pods.push_back(pod);
      else
        place.tenants.push_back({job, {pod}});
    }
    if (place.tenants.empty()) continue;
    for (Tenant& tenant : place.tenants)
      std::sort(tenant.pods.begin(), tenant.pods.end(),
                [](const PodPtr& a, const PodPtr& b) { return a->uid < b->uid; });
    std::sort(place.tenants.begin(), place.tenants.end(),
              [](const Tenant& a, const Tenant& b) { return a.job->uid < b.job->uid; });
    places.push_back(std::move(place));
  }
  // Not by row: rows stand in the order in which a process happened to hear of its nodes.
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return *a.name < *b.name; });
  return places;
}

// What is missing on a node, resource by resource, and what each job would give of it. Nothing
// where the profile does not count resources: then only the filters know.
class Shortage {
 public:
  explicit Shortage(const PreemptionQuestion& q) : q_(q) {
    const auto& filters = q.profile.filters();
    const auto fit = std::find_if(filters.begin(), filters.end(), [](const Filter* filter) {
      return filter->name() == "NodeResourcesFit";
    });
    counted_ = fit != filters.end() && !q.cycle.skipped.has((*fit)->id());
    if (!counted_) return;
    NodeResourcesFitArgs args;
    if (const auto given = q.profile.spec().args.find((*fit)->id());
        given != q.profile.spec().args.end())
      if (const auto* own = std::get_if<NodeResourcesFitArgs>(&given->second)) args = *own;
    for (const auto& [name, amount] : asked().scalars)
      if (amount > 0 && !ignored(args, name)) scalars_.push_back(name);
  }

  std::vector<std::int64_t> need(const Place& place) const {
    std::vector<std::int64_t> need;
    if (!counted_) return need;
    const ClusterState& cluster = q_.cycle.cluster;
    const Node& node = cluster.node(place.node);
    std::vector<PodPtr> there = cluster.pods_on(place.node);
    // Who was promised the node and goes before the pod takes his room first.
    for (PodPtr& pod : nominated_before(q_.cycle.pod, node.name, nominated_of(q_)))
      there.push_back(std::move(pod));
    const Resources& has = node.allocatable;
    const auto missing = [&](std::int64_t want, std::int64_t whole, auto&& of) {
      std::int64_t used = 0;
      for (const PodPtr& pod : there) used += of(pod->used());
      need.push_back(want > 0 ? want + used - whole : 0);
    };
    need.push_back(1 + static_cast<std::int64_t>(there.size()) - node.allowed_pods);
    missing(asked().millicores, has.millicores, [](const Resources& r) { return r.millicores; });
    missing(asked().memory, has.memory, [](const Resources& r) { return r.memory; });
    missing(asked().disk, has.disk, [](const Resources& r) { return r.disk; });
    for (const std::string& name : scalars_)
      missing(asked().scalar(name), has.scalar(name),
              [&](const Resources& r) { return r.scalar(name); });
    return need;
  }

  std::vector<std::int64_t> freed(const Tenant& tenant) const {
    std::vector<std::int64_t> freed;
    if (!counted_) return freed;
    freed.resize(4 + scalars_.size());
    for (const PodPtr& pod : tenant.pods) {
      const Resources& used = pod->used();
      freed[0] += 1;
      freed[1] += used.millicores;
      freed[2] += used.memory;
      freed[3] += used.disk;
      for (std::size_t i = 0; i < scalars_.size(); ++i) freed[4 + i] += used.scalar(scalars_[i]);
    }
    return freed;
  }

 private:
  const Resources& asked() const { return q_.cycle.shape.spec->asked; }
  static bool ignored(const NodeResourcesFitArgs& args, const std::string& name) {
    const auto in = [](const std::vector<std::string>& list, std::string_view one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    return in(args.ignored_resources, name) ||
           in(args.ignored_resource_groups, std::string_view(name).substr(0, name.find('/')));
  }

  const PreemptionQuestion& q_;
  bool counted_ = false;
  std::vector<std::string> scalars_;
};

// The filters' word on a node without some of its jobs.
class Filtered {
 public:
  Filtered(const PreemptionQuestion& q, const Place& place) : q_(q), place_(place) {}

  bool without(const UnitSet& jobs) {
    if (!what_if_) {
      what_if_ = q_.profile.what_if(q_.cycle);
      row_ = what_if_->open(place_.node);
      gone_.assign(place_.tenants.size(), false);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      const bool go = next < jobs.size() && jobs[next] == i;
      if (go) ++next;
      if (go == gone_[i]) continue;
      gone_[i] = go;
      for (const PodPtr& pod : place_.tenants[i].pods)
        go ? what_if_->remove(row_, pod) : what_if_->add(row_, pod);
    }
    return q_.profile.filter_with_nominated(q_.cycle, *what_if_, row_, nominated_of(q_)).ok();
  }

 private:
  const PreemptionQuestion& q_;
  const Place& place_;
  std::unique_ptr<WhatIf> what_if_;
  std::uint32_t row_ = 0;
  std::vector<bool> gone_;
};

void count_violations(const PreemptionQuestion& q, Place& place) {
  std::vector<PodPtr> pods;
  for (const Tenant& tenant : place.tenants)
    pods.insert(pods.end(), tenant.pods.begin(), tenant.pods.end());
  sort_by_importance(pods, q.now);
  const std::vector<bool> violating = violations(pods, q.cycle.cluster.budgets());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    if (!violating[i]) continue;
    for (Tenant& tenant : place.tenants)
      if (std::find(tenant.pods.begin(), tenant.pods.end(), pods[i]) != tenant.pods.end())
        ++tenant.violations;
  }
}

// The best so far, or another one.
struct Found {
  const Place* place = nullptr;
  std::vector<Unit> units = {};
  Cover cover = {};
};

LostWork told(const PreemptionQuestion& q, const Found& best) {
  LostWork lost;
  lost.candidate.node = *best.place->name;
  lost.candidate.budget_violations = best.cover.pdb_violations;
  lost.cost = best.cover.cost;
  lost.top_tier = best.cover.top_tier;
  lost.now = q.now;
  for (const std::size_t i : best.cover.units) {
    const Tenant& tenant = best.place->tenants[i];
    LostJob& job = lost.jobs.emplace_back(LostJob{.job = *tenant.job,
                                                  .cost = best.units[i].cost,
                                                  .tier = best.units[i].tier,
                                                  .going = best.units[i].tier == kGoingAnyway});
    for (const PodPtr& pod : tenant.pods) {
      lost.candidate.victims.push_back(pod);
      job.pods.push_back(pod->name);
    }
    std::sort(job.pods.begin(), job.pods.end());
  }
  std::sort(lost.candidate.victims.begin(), lost.candidate.victims.end(),
            [&](const PodPtr& a, const PodPtr& b) {
              const auto key = [&](const PodPtr& pod) {
                return std::tuple(-std::int64_t{pod->priority()},
                                  pod->start_time.value_or(q.now).unix_nanos,
                                  std::string_view(pod->uid));
              };
              return key(a) < key(b);
            });
  return lost;
}

OtherNode other_of(const Found& found) {
  OtherNode other{
      .node = *found.place->name, .cost = found.cover.cost, .top_tier = found.cover.top_tier};
  for (const std::size_t i : found.cover.units)
    other.jobs.push_back(found.place->tenants[i].job->key.text());
  return other;
}

// How much less there may have been to lose, on this node or on another that would have gone before
// it.
double gap_of(const Found& best, std::span<const Found> others) {
  const auto least = [](const Found& found) {
    return static_cast<double>(found.cover.cost) / found.cover.gap;
  };
  double floor = least(best);
  for (const Found& other : others)
    if (other.cover.top_tier <= best.cover.top_tier &&
        other.cover.pdb_violations <= best.cover.pdb_violations)
      floor = std::min(floor, least(other));
  return floor > 0 ? std::max(1.0, static_cast<double>(best.cover.cost) / floor) : 1;
}

// A job that loses one member loses all of them, wherever they are: what is lost already costs
// nothing more.
class Doomed {
 public:
  Doomed(const ClusterState& cluster, const scavenge::Board& board) {
    for (std::uint32_t id = 0; id < cluster.node_ids(); ++id)
      for (const PodPtr& pod : cluster.pods_on(NodeId{id}))
        if (pod->deleting && pod->controller)
          if (const BoardJob* job = board.of_controller(pod->controller->uid)) jobs_.insert(job);
  }
  bool has(const BoardJob* job) const { return jobs_.count(job) > 0; }

 private:
  std::set<const BoardJob*> jobs_;
};

std::optional<std::int64_t> stock_cost(const PreemptionQuestion& q,
                                       std::span<const std::uint32_t> rows,
                                       const scavenge::Board& board, const Doomed& doomed) {
  const auto choice = stock_choice(q, rows);
  if (!choice) return std::nullopt;
  std::set<const BoardJob*> jobs;
  for (const PodPtr& pod : choice->victims)
    if (pod->controller)
      if (const BoardJob* job = board.of_controller(pod->controller->uid); job && !doomed.has(job))
        jobs.insert(job);
  std::int64_t cost = 0;
  for (const BoardJob* job : jobs) cost += scavenge::cost_of(*job, q.now);
  return cost;
}

bool goes_before(const Found& a, const Found& b) { return scavenge::better(a.cover, b.cover); }

}  // namespace

scavenge::VictimRecord record_of(const LostWork& lost, const Pod& preemptor,
                                 std::string_view door) {
  scavenge::VictimRecord record{.at = lost.now,
                                .door = std::string(door),
                                .pod_ns = preemptor.ns,
                                .pod_name = preemptor.name,
                                .pod_uid = preemptor.uid,
                                .node = lost.candidate.node};
  record.cost = lost.cost;
  record.stock_cost = lost.stock_cost;
  record.exact = lost.exact;
  record.nodes_looked_at = static_cast<int>(lost.nodes);
  for (const LostJob& each : lost.jobs) {
    scavenge::VictimRecord::Job& job = record.victims.emplace_back();
    job.ns = each.job.key.ns;
    job.name = each.job.key.name;
    job.uid = each.job.uid;
    job.pods = each.pods;
    job.members = each.job.members;
    job.cost = each.cost;
    job.tier = each.tier;
    if (!each.job.basis) continue;
    job.lost = scavenge::lost_time(*each.job.basis, lost.now);
    job.running_priority = scavenge::running_priority(*each.job.basis, lost.now);
    job.reported = each.job.basis->reported;
  }
  for (const OtherNode& other : lost.others)
    record.alternatives.push_back(
        {.node = other.node, .cost = other.cost, .jobs = other.jobs, .top_tier = other.top_tier});
  return record;
}

int tier_of(std::int32_t priority, const BoardJob& job, WallTime now) {
  const bool within =
      job.min_run > Duration{} && job.started != WallTime{} && now - job.started < job.min_run;
  return 2 * std::clamp(priority, -kWidestPriority, kWidestPriority) + (within ? 1 : 0);
}

std::optional<LostWork> pick_victims(const PreemptionQuestion& asked,
                                     std::span<const std::uint32_t> rows,
                                     const scavenge::Board& board) {
  if (board.empty()) return std::nullopt;
  PreemptionQuestion q = asked;
  q.now = {asked.now.unix_nanos - asked.now.unix_nanos % kSecond};
  std::vector<Place> places = places_of(q, rows, board);
  if (places.empty()) return std::nullopt;
  const Doomed doomed(q.cycle.cluster, board);
  const bool honour = board.rules().honour_budgets;
  const Shortage shortage(q);
  Found best;
  std::vector<Found> others;  // sorted, the best first
  bool exact = true;
  for (Place& place : places) {
    if (honour) count_violations(q, place);
    Found found{.place = &place};
    int lowest = INT_MAX;
    for (const Tenant& tenant : place.tenants) {
      const bool going = doomed.has(tenant.job);
      Unit unit{.tier = going ? kGoingAnyway
                              : tier_of(tenant.pods.front()->priority(), *tenant.job, q.now),
                .pdb_violations = honour && !going ? tenant.violations : 0,
                .cost = going ? 0 : scavenge::cost_of(*tenant.job, q.now),
                .freed = shortage.freed(tenant),
                .started = tenant.job->started,
                .uid = tenant.job->uid};
      lowest = std::min(lowest, unit.tier);
      found.units.push_back(std::move(unit));
    }
    // Where no lower tier can do, and nobody goes beyond a budget, only the cost can be better.
    const bool only_cost =
        best.place != nullptr && best.cover.pdb_violations == 0 && lowest >= best.cover.top_tier;
    Filtered filtered(q, place);
    found.cover = scavenge::cheapest_cover(
        found.units, shortage.need(place),
        [&](const UnitSet& jobs) { return filtered.without(jobs); }, 20'000,
        only_cost ? best.cover.cost : INT64_MAX);
    exact &= found.cover.exact;
    if (!found.cover.found || found.cover.units.empty()) continue;
    if (best.place == nullptr || goes_before(found, best)) std::swap(found, best);
    if (found.place == nullptr) continue;
    others.insert(std::upper_bound(others.begin(), others.end(), found, goes_before),
                  std::move(found));
    if (others.size() > kOthersKept) others.pop_back();
  }
  if (best.place == nullptr) return std::nullopt;
  LostWork lost = told(q, best);
  lost.gap = gap_of(best, others);
  lost.stock_cost = stock_cost(q, rows, board, doomed);
  for (const Found& other : others) lost.others.push_back(other_of(other));
  lost.nodes = static_cast<std::uint32_t>(places.size());
  lost.exact = exact;
  return lost;
}

}  // namespace berth::scheduler
