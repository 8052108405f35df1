// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/admit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "kube/time.h"
#include "policy/scavenge/admit_room.h"
#include "policy/scavenge/cost.h"
#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::size_t kMostNamed = 256;  // nodes that a start names, if it needs no more
constexpr std::string_view kAnyGpu = "gpu";

int threshold_of(const AdmitQuestion& question) {
  int threshold = question.rules.threshold_percent;
  if (const auto reserve = question.rules.adaptive_reserve_percent) {
    const double spread = std::clamp(std::ceil(question.ordinary_stdev_percent), 0.0, 100.0);
    threshold = std::min(threshold, 100 - *reserve - static_cast<int>(spread));
  }
  return std::max(0, threshold);
}

// What a namespace may have, and has.
class Allowance {
 public:
  Allowance(const std::string& ns, const AdmitQuestion& question) : ns_(ns) {
    const QuotaLimits& limits = question.quotas.at(ns);
    most_jobs_ = limits.count;
    if (const auto found = question.running_count.find(ns); found != question.running_count.end())
      jobs_ = found->second;
    const auto running = question.running.find(ns);
    for (const auto& [resource, quantity] : limits.most)
      entries_.push_back({resource, amount_of(resource, quantity),
                          running == question.running.end() ? 0 : sum(running->second, resource)});
  }

  // Why one more job would be too much; "": it would not.
  std::string refusal(const Waiting& job) const {
    if (most_jobs_ && jobs_ >= *most_jobs_)
      return fmt::format("namespace {}: {} of {} scavenger jobs run", ns_, jobs_, *most_jobs_);
    for (const Entry& entry : entries_) {
      const std::int64_t more = asked(job, entry.resource);
      if (more > 0 && saturating_add(entry.used, more) > entry.most)
        return fmt::format("namespace {}: {} {} of {} in use, {} more asked for", ns_,
                           entry.resource, text(entry.resource, entry.used),
                           text(entry.resource, entry.most), text(entry.resource, more));
    }
    return {};
  }
  void add(const Waiting& job) {
    ++jobs_;
    for (Entry& entry : entries_)
      entry.used = saturating_add(entry.used, asked(job, entry.resource));
  }

 private:
  struct Entry {
    std::string resource;  // "gpu": of all vendors
    std::int64_t most = 0, used = 0;
  };
  static std::int64_t sum(const kube::ResourceList& list, const std::string& resource) {
    std::int64_t all = 0;
    for (const auto& [name, quantity] : list)
      if (name == resource || (resource == kAnyGpu && is_gpu(name)))
        all = saturating_add(all, amount_of(name, quantity));
    return all;
  }
  static std::int64_t asked(const Waiting& job, const std::string& resource) {
    return saturating_add(saturating_multiply(sum(job.member, resource), std::max(1, job.members)),
                          job.beside ? sum(*job.beside, resource) : 0);
  }
  static std::string text(const std::string& resource, std::int64_t amount) {
    return resource == kAnyGpu ? fmt::format("{}", amount) : amount_text(resource, amount);
  }

  std::string ns_;
  std::optional<std::int64_t> most_jobs_;
  std::int64_t jobs_ = 0;
  std::vector<Entry> entries_;
};

// Hands out the waiting jobs one after another.
class Turns {
 public:
  explicit Turns(const AdmitQuestion& question) : question_(question) {
    std::vector<std::size_t> order(question.waiting.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::int64_t> counts;
    for (const Waiting& job : question.waiting) counts.push_back(count_of(job));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Waiting &one = question.waiting[a], &other = question.waiting[b];
      return std::tie(counts[b], one.waiting_since, one.uid) <
             std::tie(counts[a], other.waiting_since, other.uid);
    });
    std::map<std::string_view, std::size_t> users;
    for (const std::size_t i : order) {
      const std::string_view user =
          question.rules.fair_shares ? std::string_view(question.waiting[i].user) : "";
      const auto [found, fresh] = users.try_emplace(user, queues_.size());
      if (fresh) queues_.push_back({std::string(user)});
      queues_[found->second].jobs.push_back(i);
    }
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      const auto found = question.shares.find(queues_[q].user);
      queues_[q].share = found == question.shares.end() ? 0 : found->second;
      next_.emplace(queues_[q].share, queues_[q].user, q);
    }
  }

  bool empty() const { return next_.empty(); }
  std::size_t take() {
    const Queue& queue = queues_[std::get<2>(next_.top())];
    return queue.jobs[queue.at];
  }
  // The job that was taken last started, or not.
  void done(bool started) {
    const auto [share, user, q] = next_.top();
    next_.pop();
    Queue& queue = queues_[q];
    if (started && question_.rules.fair_shares) {
      const Waiting& job = question_.waiting[queue.jobs[queue.at]];
      const auto weight = question_.weights.find(queue.user);
      const double divisor = weight == question_.weights.end() ? 1 : std::max(1e-6, weight->second);
      std::int64_t rate = rate_milli(job.member, job.members);
      if (job.beside) rate = saturating_add(rate, rate_milli(*job.beside, 1));
      queue.share += static_cast<double>(rate) / 1000 / divisor;
    }
    if (++queue.at < queue.jobs.size()) next_.emplace(queue.share, queue.user, q);
  }

 private:
  struct Queue {
    std::string user;
    std::vector<std::size_t> jobs = {};
    std::size_t at = 0;
    double share = 0;
  };
  std::int64_t count_of(const Waiting& job) const {
    const AdmitRules& rules = question_.rules;
    if (rules.starvation != Starvation::kAging || rules.aging_every <= Duration{})
      return job.interrupted;
    const Duration waited = std::max(Duration{}, question_.now - job.waiting_since);
    return saturating_add(job.interrupted, waited / rules.aging_every);
  }

  const AdmitQuestion& question_;
  std::vector<Queue> queues_;
  using Entry = std::tuple<double, std::string, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next_;
};

// One decision: made, run and dropped.
class Admission {
 public:
  explicit Admission(const AdmitQuestion& question)
      : question_(question), room_(question, threshold_of(question)), turns_(question) {
    held_.assign(room_.amounts({}).size(), 0);
    answer_.threshold_percent = threshold_of(question);
  }

  AdmitAnswer run() {
    for (; !turns_.empty();) {
      const Waiting& job = question_.waiting[turns_.take()];
      const bool started = try_start(job);
      turns_.done(started);
    }
    return std::move(answer_);
  }

 private:
  bool wait(const Waiting& job, WaitReason reason, std::string message) {
    answer_.waits.push_back(
        {job.uid, reason, std::move(message), static_cast<int>(answer_.waits.size()) + 1});
    return false;
  }
  void look_again(WallTime at) {
    answer_.look_again = std::min(answer_.look_again.value_or(at), at);
  }

  bool try_start(const Waiting& job) {
    if (job.not_before && *job.not_before > question_.now) {
      look_again(*job.not_before);
      return wait(
          job, WaitReason::kBackoff,
          fmt::format("starts again at {} at the earliest", kube::time_text(*job.not_before)));
    }
    Allowance* allowance = allowance_of(job.ns);
    if (allowance != nullptr)
      if (std::string why = allowance->refusal(job); !why.empty())
        return wait(job, WaitReason::kOverQuota, std::move(why));
    if (answer_.starts.size() >= question_.rules.most_starts) {
      look_again(question_.now);
      return wait(job, WaitReason::kTurn,
                  fmt::format("{} jobs start first", answer_.starts.size()));
    }
    const std::int64_t members = std::max(1, job.members);
    const Amounts member = room_.amounts(job.member);
    Amounts all = member;
    for (std::int64_t& amount : all) amount = saturating_multiply(amount, members);
    if (job.beside) {
      const Amounts more = room_.amounts(*job.beside);
      for (std::size_t r = 0; r < all.size(); ++r) all[r] = saturating_add(all[r], more[r]);
    }
    if (const int resource = room_.short_of(all, held_); resource >= 0) {
      const bool for_another =
          keeper_ != nullptr && room_.short_of(all, Amounts(all.size(), 0)) < 0;
      if (for_another) return wait_for_keeper(job);
      maybe_keep(job, all);
      return wait(job, WaitReason::kThreshold,
                  room_.nodes() == 0 ? "no node is ready" : room_.shortage(resource, all));
    }
    return place(job, member, members, all, allowance);
  }

  bool place(const Waiting& job, const Amounts& member, std::int64_t members, const Amounts& all,
             Allowance* allowance) {
    // Room only shrinks: what did not fit a moment ago does not fit now.
    const bool any_node = job.node_names.empty();
    if (any_node)
      if (const auto known = misfits_.find(member);
          known != misfits_.end() && known->second.members <= members)
        return misfit(job, known->second.reason, known->second.placed, members, member);
    const Shape shape = room_.shape(job);
    const std::vector<Placement> placed = room_.first_fit(shape, members, kept_);
    std::int64_t count = 0;
    for (const Placement& each : placed) count += each.members;
    if (count >= members) {
      std::vector<std::uint32_t> nodes;
      if (question_.rules.scope != ThresholdScope::kCluster)
        nodes = room_.with_room(shape, std::max(kMostNamed, placed.size()), kept_);
      room_.take(shape, placed);
      if (!job.beside || place_beside(job, nodes)) {
        Start& start = answer_.starts.emplace_back(Start{.uid = job.uid});
        for (const std::uint32_t n : nodes) start.nodes.push_back(room_.node(n));
        start.avoid = kept_names_;
        if (allowance != nullptr) allowance->add(job);
        return true;
      }
      room_.give_back(shape, placed);
      maybe_keep(job, all);
      return wait(
          job, WaitReason::kNoFit,
          fmt::format("its members fit on the nodes, but not the launcher, which asks for {}",
                      room_.text(room_.amounts(*job.beside))));
    }
    WaitReason reason = WaitReason::kNoFit;
    if (keeper_ != nullptr) {
      std::int64_t without_keeper = 0;
      for (const Placement& each : room_.first_fit(shape, members, {}))
        without_keeper += each.members;
      if (without_keeper >= members) reason = WaitReason::kReserved;
    }
    const bool by_node = question_.rules.scope != ThresholdScope::kCluster;
    if (reason == WaitReason::kNoFit && by_node && room_.fits_but_for_threshold(shape, members))
      reason = WaitReason::kThreshold;
    if (reason != WaitReason::kReserved) maybe_keep(job, all);
    if (any_node) misfits_[member] = {members, count, reason};
    return misfit(job, reason, count, members, member);
  }

  // The pod beside the members, where there is room for one with them.
  bool place_beside(const Waiting& job, std::vector<std::uint32_t>& named) {
    const Shape one = room_.shape_beside(job);
    const std::vector<Placement> placed = room_.first_fit(one, 1, kept_);
    if (placed.empty()) return false;
    room_.take(one, placed);
    const std::uint32_t node = placed.front().node;
    if (!named.empty() && std::find(named.begin(), named.end(), node) == named.end())
      named.push_back(node);
    return true;
  }

  bool misfit(const Waiting& job, WaitReason reason, std::int64_t placed, std::int64_t members,
              const Amounts& member) {
    if (reason == WaitReason::kReserved) return wait_for_keeper(job);
    if (reason == WaitReason::kThreshold)
      return wait(job, reason,
                  fmt::format("{} of {} members find a node that stays within {} % with {} more",
                              placed, members, answer_.threshold_percent, room_.text(member)));
    return wait(job, reason,
                fmt::format("{} of {} members fit on the nodes, each asks for {}", placed, members,
                            room_.text(member)));
  }
  bool wait_for_keeper(const Waiting& job) {
    return wait(
        job, WaitReason::kReserved,
        fmt::format("room is kept for {}/{}, which has waited longer", keeper_->ns, keeper_->name));
  }

  // The first in turn that has waited for too long keeps nodes, and its part of the threshold.
  void maybe_keep(const Waiting& job, const Amounts& all) {
    const AdmitRules& rules = question_.rules;
    if (rules.starvation != Starvation::kBackfillReservation || keeper_ != nullptr) return;
    if (question_.now - job.waiting_since <= rules.reserve_after) return;
    if (!room_.within_threshold_when_empty(all)) return;
    const std::vector<std::uint32_t> nodes =
        room_.nodes_to_keep(room_.shape(job), std::max(1, job.members));
    if (nodes.empty()) return;
    keeper_ = &job;
    held_ = all;
    kept_.assign(room_.nodes(), false);
    for (const std::uint32_t n : nodes) {
      kept_[n] = true;
      kept_names_.push_back(room_.node(n));
    }
  }

  Allowance* allowance_of(const std::string& ns) {
    if (question_.quotas.find(ns) == question_.quotas.end()) return nullptr;
    const auto found = allowances_.find(ns);
    return found != allowances_.end()
               ? &found->second
               : &allowances_.emplace(ns, Allowance(ns, question_)).first->second;
  }

  struct Misfit {
    std::int64_t members = 0, placed = 0;
    WaitReason reason = WaitReason::kNoFit;
  };
  const AdmitQuestion& question_;
  Room room_;
  Turns turns_;
  std::map<std::string, Allowance> allowances_;
  std::map<Amounts, Misfit> misfits_;  // of jobs that may go anywhere: the fewest members
  const Waiting* keeper_ = nullptr;
  Amounts held_;
  std::vector<bool> kept_;  // by node; empty: none
  std::vector<std::string> kept_names_;
  AdmitAnswer answer_;
};

}  // namespace

AdmitAnswer admit(const AdmitQuestion& question) { return Admission(question).run(); }

}  // namespace berth::scavenge
