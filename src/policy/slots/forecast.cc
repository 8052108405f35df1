// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/forecast.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/random.h"

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
Drawn draw(const Samples& samples, std::size_t width, Duration age, Random& random) {
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
  return {whole(fit[random.below(fit.size())]) - age, known, false};
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
};

class Play {
 public:
  Play(const ForecastInput& in, Random random)
      : in_(in),
        random_(random),
        table_(in.table),
        ledger_(in.ledger),
        demands_(in.by_ticket),
        jobs_(in.jobs) {}

  void run() {
    for (const auto& [id, grant] : ledger_.grants()) {
      const auto age = in_.ages.find(id);
      const Drawn drawn = draw_for(grant, age == in_.ages.end() ? Duration{} : age->second);
      if (drawn.overdue) overdue.insert(grant.job);
      ends(drawn.length, id);
    }
    for (;;) {
      claim();
      const GrantPlan plan = plan_grants({table_, demands_, jobs_, ledger_, in_.quotas, {}});
      for (const Grant& grant : plan.grants) begin(grant);
      if (!plan.grants.empty()) continue;  // what is left may go on
      if (ends_.empty()) {
        never = plan.waiting;
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
    return found == in_.samples.end() ? Drawn{}
                                      : draw(found->second, grant.slots.size(), age, random_);
  }
  void ends(std::optional<Duration> after, const GrantId& id) {
    if (after) ends_.emplace(now_ + *after, id);
  }

  // A job goes to the first that still needs it, and so does a Testbed that is not shared.
  void claim() {
    std::set<Key> wanted_before;
    bool taken = false;
    for (Demand& demand : demands_) {
      bool active = false;
      for (const Demand::Entry& entry : remaining(demand)) {
        active = true;
        if (!wanted_before.insert(entry.job).second) continue;
        if (const auto found = jobs_.find(entry.job);
            found != jobs_.end() && found->second.grant.empty())
          found->second.claimed_by = demand.key;
      }
      for (const auto& [id, grant] : ledger_.grants()) active |= grant.scheduling == demand.key;
      demand.may_start = !in_.exclusive || !taken;
      taken |= active;
    }
  }

  void set_state(const std::set<SlotNumber>& slots, SlotState state) {
    for (Slot& slot : table_.slots)
      if (slots.count(slot.number) > 0) slot.state = state;
  }
  void begin(const Grant& grant) {
    if (!ledger_.grant(grant)) return;
    set_state(grant.slots, SlotState::kReserved);
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
    played.push_back({grant.scheduling, grant.job, nth, grant.slots, now_,
                      drawn.length ? std::optional(now_ + *drawn.length) : std::nullopt,
                      drawn.samples, ended_});
  }
  void finish(const GrantId& id) {
    const Grant* grant = ledger_.find(id);
    if (grant == nullptr) return;
    ended_.insert(grant->job);
    set_state(grant->slots, SlotState::kFree);
    if (const auto found = jobs_.find(grant->job); found != jobs_.end()) {
      found->second.grant.clear();
      found->second.next_run = std::max(found->second.next_run, run_of(id) + 1);
    }
    ledger_.release(id);
  }

  const ForecastInput& in_;
  Random random_;
  SlotTable table_;
  Ledger ledger_;
  std::vector<Demand> demands_;
  JobsView jobs_;
  Duration now_{};
  std::set<std::tuple<Duration, GrantId>> ends_;
  std::set<Key> ended_;  // what ended last
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
  std::string order;
  int same = 0;
  const Random chance(seed);
  for (int i = 0; i < draws; ++i) {
    Play play(in, chance.fork(fmt::format("draw {}", i)));
    play.run();
    if (i == 0) {
      order = play.order();
      result.never = play.never;
    }
    same += play.order() == order ? 1 : 0;
    result.overdue.insert(play.overdue.begin(), play.overdue.end());
    for (Played& one : play.played) {
      const auto [found, first] =
          index.try_emplace({one.scheduling, one.job, one.nth}, result.runs.size());
      if (first) {
        result.runs.push_back({one.scheduling, one.job, one.nth, std::move(one.slots)});
        result.runs.back().samples = one.samples;
        starts.emplace_back();
        stops.emplace_back();
      }
      RunForecast& run = result.runs[found->second];
      ++run.draws;
      run.after.insert(one.after.begin(), one.after.end());
      starts[found->second].push_back(one.start);
      if (one.end)
        stops[found->second].push_back(*one.end);
      else
        run.open_end = true;
    }
  }
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    result.runs[i].start = quantiles(std::move(starts[i]));
    result.runs[i].end = quantiles(std::move(stops[i]));
  }
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
