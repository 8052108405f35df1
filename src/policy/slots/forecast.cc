// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/forecast.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/random.h"
#include "kube/ours/reasons.h"

namespace berth::slots {
namespace {

constexpr std::size_t kMostSamples = 20;

// The latest runs of that width, or of any where there is none.
std::vector<Samples::Run> fitting(const Samples& samples, std::size_t width) {
  std::vector<Samples::Run> fit;
  for (const Samples::Run& run : samples.runs)
    if (run.width == width) fit.push_back(run);
  if (fit.empty()) fit = samples.runs;
  if (fit.size() > kMostSamples)
    fit.erase(fit.begin(), fit.end() - static_cast<std::ptrdiff_t>(kMostSamples));
  return fit;
}

struct Drawn {
  std::optional<Duration> length;  // none: nobody knows
  std::size_t samples = 0;
  bool overdue = false;
};
// `random` null: the median.
Drawn draw(const Samples& samples, std::size_t width, Duration age, Random* random) {
  std::vector<Samples::Run> fit = fitting(samples, width);
  const std::size_t known = fit.size();
  if (known == 0) {
    if (!samples.estimated) return {};
    return {std::max(*samples.estimated - age, Duration{}), 0, *samples.estimated < age};
  }
  const auto whole = [](const Samples::Run& run) { return run.startup + run.length; };
  fit.erase(std::remove_if(fit.begin(), fit.end(),
                           [&](const Samples::Run& run) { return whole(run) <= age; }),
            fit.end());
  if (fit.empty()) return {Duration{}, known, true};
  if (random != nullptr) return {whole(fit[random->below(fit.size())]) - age, known, false};
  std::sort(fit.begin(), fit.end(),
            [&](const Samples::Run& a, const Samples::Run& b) { return whole(a) < whole(b); });
  return {whole(fit[(fit.size() - 1) / 2]) - age, known, false};
}

// One run, in one draw.
struct Played {
  Key scheduling, job;
  int nth = 0;
  std::set<SlotNumber> slots;
  Duration start{};
  std::optional<Duration> end;
  std::size_t samples = 0;
  std::set<Key> after;
  std::optional<Waiting> waits;
};

// A slot that nobody has: will there be room? Ghosts come within seconds, and idle Testbeds grow.
bool will_be_free(const Slot& slot) {
  if (!slot.wanted || !slot.node_usable) return false;
  return slot.state != SlotState::kError;
}

class Play {
 public:
  Play(const ForecastInput& in, std::optional<Random> random)
      : in_(in),
        random_(random),
        table_(in.table),
        ledger_(in.ledger),
        demands_(in.by_ticket),
        jobs_(in.jobs),
        acquired_(in.acquired) {
    for (Slot& slot : table_.slots)
      if (slot.grant.empty() && will_be_free(slot)) slot.state = SlotState::kFree;
  }

  void run() {
    for (const auto& [id, grant] : ledger_.grants()) {
      const auto age = in_.ages.find(id);
      const Drawn drawn = draw_for(grant, age == in_.ages.end() ? Duration{} : age->second);
      if (drawn.overdue) overdue.insert(grant.job);
      held.emplace(id, drawn);
      ends(drawn.length, id);
    }
    for (;;) {
      blocked_.clear();
      claim();
      const GrantPlan plan = plan_grants({table_, demands_, jobs_, ledger_, in_.quotas, {}});
      for (const Waiting& each : plan.waiting) blocked_.push_back(each);
      bool begun = false;
      for (const Grant& grant : plan.grants) begun |= begin(grant);
      if (begun) continue;  // what is left may go on
      for (const Waiting& each : blocked_) why_.try_emplace({each.scheduling, each.job}, each);
      if (ends_.empty()) {
        never = blocked_;
        return;
      }
      now_ = std::get<0>(*ends_.begin());
      ended_.clear();
      while (!ends_.empty() && std::get<0>(*ends_.begin()) == now_) {
        finish(std::get<1>(*ends_.begin()));
        ends_.erase(ends_.begin());
      }
    }
  }

  std::map<GrantId, Drawn> held;
  std::vector<Played> played;
  std::set<Key> overdue;
  std::vector<Waiting> never;
  std::string order() const {
    std::string text;
    for (const Played& one : played) text += one.scheduling.text() + ">" + one.job.text() + ";";
    return text;
  }

 private:
  Drawn draw_for(const Grant& grant, Duration age) {
    const auto found = in_.samples.find(grant.job);
    return found == in_.samples.end()
               ? Drawn{}
               : draw(found->second, grant.slots.size(), age, random_ ? &*random_ : nullptr);
  }
  void ends(std::optional<Duration> after, const GrantId& id) {
    if (after) ends_.emplace(now_ + *after, id);
  }

  // The rule of claims (controllers/scheduling/claims.h), as far as it orders starts: whoever is
  // first for all it wants takes it; a Testbed that is not shared goes to one at a time.
  void claim() {
    std::map<Key, Key> wanted_before;  // by whom
    std::optional<Key> owner;
    for (Demand& demand : demands_) {
      const std::vector<Demand::Entry> left = remaining(demand);
      std::set<Key> started;
      for (const auto& [id, grant] : ledger_.grants())
        if (grant.scheduling == demand.key) started.insert(grant.job);
      demand.may_start = false;
      if (left.empty() && started.empty()) continue;
      if (const auto stopped = in_.stopped.find(demand.key); stopped != in_.stopped.end())
        blocked_.push_back(stopped->second);
      else
        demand.may_start = claim(demand, left, started, wanted_before, owner);
      if (!owner) owner = demand.key;
      for (const Demand::Entry& entry : left) wanted_before.try_emplace(entry.job, demand.key);
      for (const Key& job : started) wanted_before.try_emplace(job, demand.key);
    }
  }
  bool claim(const Demand& demand, const std::vector<Demand::Entry>& left,
             const std::set<Key>& started, const std::map<Key, Key>& wanted_before,
             const std::optional<Key>& owner) {
    const bool acquired = acquired_.count(demand.key) > 0;
    const auto wait = [&](const Key& job, std::string_view reason, std::string message) {
      blocked_.push_back({demand.key, job, reason, std::move(message)});
    };
    std::vector<Key> jobs;
    for (const Demand::Entry& entry : left)
      if (std::find(jobs.begin(), jobs.end(), entry.job) == jobs.end()) jobs.push_back(entry.job);
    if (in_.exclusive && owner) {
      for (const Key& job : jobs)
        wait(job, kube::reason::kTestbedHeld,
             fmt::format("Scheduling {} has the Testbed first", owner->text()));
      return false;
    }
    const auto kept = in_.kept.find(demand.key);
    std::vector<Key> free;
    bool blocked = false;
    for (const Key& job : jobs) {
      if (jobs_.find(job) == jobs_.end() || started.count(job) > 0) continue;
      if (const auto before = wanted_before.find(job); before != wanted_before.end()) {
        wait(job, kube::reason::kNotFirst,
             fmt::format("{} is older and wants BatchJob {}", before->second.text(), job.text()));
        blocked = true;
      } else if (kept != in_.kept.end() && kept->second.count(job) > 0) {
        wait(job, kube::reason::kJobHeld, kept->second.at(job));
        blocked = true;
      } else {
        free.push_back(job);
      }
      if (blocked && acquired) break;  // what stands before can run
    }
    if (blocked && !acquired) return false;
    acquired_.insert(demand.key);
    for (const Key& job : free) {
      JobFact& fact = jobs_[job];
      if (fact.grant.empty()) fact.claimed_by = demand.key;
    }
    return true;
  }

  void set_state(const std::set<SlotNumber>& slots, SlotState state, const Key& job) {
    for (Slot& slot : table_.slots) {
      if (slots.count(slot.number) == 0) continue;
      slot.state = state;
      slot.job = job;
      if (state == SlotState::kFree && !will_be_free(slot)) slot.state = SlotState::kAbsent;
    }
  }
  bool begin(const Grant& grant) {
    if (!ledger_.grant(grant)) return false;
    set_state(grant.slots, SlotState::kReserved, grant.job);
    jobs_[grant.job].grant = grant.id;
    int nth = 0;
    for (Demand& demand : demands_) {
      if (demand.key != grant.scheduling) continue;
      Demand::Progress& progress = demand.progress[grant.job];
      progress.used += grant.slots.size();
      progress.last_run = run_of(grant.id);
      nth = runs_[{demand.key, grant.job}]++;
    }
    const Drawn drawn = draw_for(grant, Duration{});
    ends(drawn.length, grant.id);
    const auto why = why_.find({grant.scheduling, grant.job});
    played.push_back({grant.scheduling, grant.job, nth, grant.slots, now_,
                      drawn.length ? std::optional(now_ + *drawn.length) : std::nullopt,
                      drawn.samples, ended_,
                      why == why_.end() ? std::nullopt : std::optional(why->second)});
    if (why != why_.end()) why_.erase(why);
    return true;
  }
  void finish(const GrantId& id) {
    const Grant* grant = ledger_.find(id);
    if (grant == nullptr) return;
    ended_.insert(grant->job);
    set_state(grant->slots, SlotState::kFree, {});
    if (const auto found = jobs_.find(grant->job); found != jobs_.end()) {
      found->second.grant.clear();
      found->second.next_run = std::max(found->second.next_run, run_of(id) + 1);
    }
    ledger_.release(id);
  }

  const ForecastInput& in_;
  std::optional<Random> random_;  // none: medians
  SlotTable table_;
  Ledger ledger_;
  std::vector<Demand> demands_;
  JobsView jobs_;
  std::set<Key> acquired_;
  Duration now_{};
  std::set<std::tuple<Duration, GrantId>> ends_;
  std::set<Key> ended_;  // what ended last
  std::vector<Waiting> blocked_;
  std::map<std::pair<Key, Key>, Waiting> why_;  // the first reason of what has not begun
  std::map<std::pair<Key, Key>, int> runs_;
};

std::optional<Quantiles> quantiles(std::vector<Duration> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t percent) { return values[(values.size() - 1) * percent / 100]; };
  return Quantiles{at(10), at(50), at(90)};
}

}  // namespace

Samples samples_of(const kube::BatchJobView& job) {
  Samples samples;
  for (const kube::BatchJobView::PastRun& run : job.history())
    if (run.successful && run.start && run.stop)
      samples.runs.push_back({run.width, run.granted ? *run.start - *run.granted : Duration{},
                              *run.stop - *run.start});
  if (const auto seconds = job.spec()["estimatedSeconds"].integer())
    samples.estimated = std::chrono::seconds(*seconds);
  return samples;
}

Forecast forecast(const ForecastInput& in, std::uint64_t seed, int draws) {
  using Name = std::tuple<Key, Key, int>;
  Forecast result;
  std::map<Name, std::size_t> index;
  std::vector<std::vector<Duration>> starts, stops;
  const auto run_named = [&](const Played& one) -> std::size_t {
    const auto [found, first] =
        index.try_emplace({one.scheduling, one.job, one.nth}, result.runs.size());
    if (first) {
      result.runs.push_back({.scheduling = one.scheduling, .job = one.job, .nth = one.nth});
      result.runs.back().samples = one.samples;
      starts.emplace_back();
      stops.emplace_back();
    }
    return found->second;
  };
  Play typical(in, std::nullopt);
  typical.run();
  for (Played& one : typical.played) {
    RunForecast& run = result.runs[run_named(one)];
    run.slots = std::move(one.slots);
    run.begin = one.start;
    run.finish = one.end;
    run.waits = std::move(one.waits);
  }
  const std::string order = typical.order();
  result.never = std::move(typical.never);
  result.draws = draws;
  std::map<GrantId, std::vector<Duration>> held_ends;
  int same = 0;
  const Random chance(seed);
  for (int i = 0; i < draws; ++i) {
    Play play(in, chance.fork(fmt::format("draw {}", i)));
    play.run();
    same += play.order() == order ? 1 : 0;
    result.overdue.insert(play.overdue.begin(), play.overdue.end());
    for (const auto& [id, drawn] : play.held)
      if (drawn.length) held_ends[id].push_back(*drawn.length);
    for (const Played& one : play.played) {
      const std::size_t at = run_named(one);
      RunForecast& run = result.runs[at];
      ++run.draws;
      run.after.insert(one.after.begin(), one.after.end());
      starts[at].push_back(one.start);
      if (one.end)
        stops[at].push_back(*one.end);
      else
        run.open_end = true;
    }
  }
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    result.runs[i].start = quantiles(std::move(starts[i]));
    result.runs[i].end = quantiles(std::move(stops[i]));
  }
  for (const auto& [id, drawn] : typical.held)
    result.held.push_back(
        {*in.ledger.find(id), drawn.length, quantiles(std::move(held_ends[id])), drawn.samples});
  result.order_share = draws > 0 ? static_cast<double>(same) / draws : 1;
  return result;
}

std::uint64_t seed_of(std::string_view draft) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;  // FNV-1a
  for (const char c : draft) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1'099'511'628'211ULL;
  }
  return hash;
}

}  // namespace berth::slots
