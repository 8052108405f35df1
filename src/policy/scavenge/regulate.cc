// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/regulate.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "policy/scavenge/cheapest_cover.h"
#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::size_t kMostAtOnce = 200;  // jobs that are thought of at once

struct Candidate {
  const RunningJob* job = nullptr;
  std::vector<std::int64_t> freed = {};
  double price = 0;  // for the share of the surplus that it gives back
};

// A resource and how far it is above a mark.
struct Watched {
  std::string resource;
  std::int64_t capacity = 0, used = 0;

  std::int64_t mark(int percent) const { return scaled(capacity, std::max(0, percent), 100); }
  bool above(int percent) const { return used > mark(percent); }
};
std::int64_t amount_in(const kube::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? 0 : amount_of(resource, found->second);
}
std::int64_t amount_of_job(const RunningJob& job, const std::string& resource) {
  return saturating_multiply(amount_in(job.member, resource), std::max(1, job.members));
}

std::vector<Watched> watch(const kube::ResourceList& capacity, const kube::ResourceList& used,
                           std::span<const RunningJob> jobs) {
  std::set<std::string> names;
  for (const RunningJob& job : jobs)
    for (const auto& [resource, quantity] : job.member)
      if (resource == "cpu" || resource == "memory" || is_extended(resource))
        names.insert(resource);
  std::vector<Watched> watched;
  for (const std::string& name : names) {
    Watched& each = watched.emplace_back(Watched{name, amount_in(capacity, name)});
    each.used = amount_in(used, name);
    for (const RunningJob& job : jobs)
      if (job.ending) each.used = std::max<std::int64_t>(0, each.used - amount_of_job(job, name));
  }
  return watched;
}

}  // namespace

Regulation regulate(const kube::ResourceList& capacity, const kube::ResourceList& used,
                    std::span<const RunningJob> jobs, const RegulatorState& before,
                    const RegulatorRules& rules, WallTime now) {
  const std::vector<Watched> watched = watch(capacity, used, jobs);
  const int upper = std::max(rules.threshold_percent, rules.upper_percent);
  Regulation result{.state = before};
  const auto above = [&](int percent) {
    return std::find_if(watched.begin(), watched.end(),
                        [&](const Watched& each) { return each.above(percent); });
  };
  if (above(upper) != watched.end()) result.state.active = true;
  const auto over = above(rules.threshold_percent);
  if (over == watched.end()) result.state.active = false;
  if (!result.state.active) return result;
  result.message = fmt::format("{}: {} of {} in use, {} are meant to be", over->resource,
                               amount_text(over->resource, over->used),
                               amount_text(over->resource, over->capacity),
                               amount_text(over->resource, over->mark(rules.threshold_percent)));
  if (before.last_ended && now < *before.last_ended + rules.settle) {
    result.look_again = *before.last_ended + rules.settle;
    return result;
  }

  std::vector<Candidate> candidates;
  for (const RunningJob& job : jobs) {
    if (job.ending) continue;
    Candidate& each = candidates.emplace_back(Candidate{.job = &job});
    double share = 0;
    for (const Watched& one : watched) {
      each.freed.push_back(amount_of_job(job, one.resource));
      const std::int64_t surplus = one.used - one.mark(rules.threshold_percent);
      if (surplus > 0)
        share +=
            std::min(1.0, static_cast<double>(each.freed.back()) / static_cast<double>(surplus));
    }
    each.price =
        share > 0 ? static_cast<double>(job.cost) / share : std::numeric_limits<double>::infinity();
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.job->tier, a.price, a.job->uid) < std::tie(b.job->tier, b.price, b.job->uid);
  });
  if (candidates.size() > kMostAtOnce) candidates.resize(kMostAtOnce);

  std::vector<std::int64_t> need;
  for (std::size_t r = 0; r < watched.size(); ++r) {
    // No more than they have: the rest is not theirs to give, or is given next time.
    std::int64_t theirs = 0;
    for (const Candidate& each : candidates) theirs = saturating_add(theirs, each.freed[r]);
    need.push_back(std::min(theirs, watched[r].used - watched[r].mark(rules.threshold_percent)));
  }
  std::vector<Unit> units;
  for (Candidate& each : candidates)
    units.push_back({.tier = each.job->tier,
                     .cost = each.job->cost,
                     .freed = std::move(each.freed),
                     .started = each.job->started,
                     .uid = each.job->uid});
  const Cover cover = cheapest_cover(units, need, [](const UnitSet&) { return true; });
  result.exact = cover.exact;
  for (const std::size_t i : cover.units) result.end.push_back(units[i].uid);
  if (!result.end.empty()) result.state.last_ended = now;
  return result;
}

}  // namespace berth::scavenge
