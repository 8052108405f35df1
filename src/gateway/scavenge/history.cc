// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/history.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::gateway {
namespace {

constexpr std::size_t kMostInterruptions = 20'000, kMostGivenBack = 5'000;
constexpr Duration kDay = 24h;
constexpr double kMilliCoreHour = 3'600'000;  // in milli core-seconds

struct Range {
  std::string_view name;
  Duration length, step;
  bool by_minute;
};
constexpr Range kRanges[] = {{"1h", 1h, 1min, true},
                             {"6h", 6h, 5min, true},
                             {"24h", 24h, 15min, false},
                             {"7d", 7 * kDay, 2h, false},
                             {"30d", 30 * kDay, 6h, false}};

std::int64_t number_of(WallTime at, Duration step) { return at.unix_nanos / step.count(); }
WallTime begin_of(std::int64_t number, Duration step) { return {number * step.count()}; }
std::int64_t millis(WallTime at) { return at.unix_nanos / 1'000'000; }
double ms(Duration span) { return static_cast<double>(span.count()) / 1e6; }

// By time; what comes late finds its place.
template <class T>
void put_in_order(std::deque<T>& all, T one, std::size_t most) {
  auto at = all.end();
  while (at != all.begin() && one.at < std::prev(at)->at) --at;
  all.insert(at, std::move(one));
  while (all.size() > most) all.pop_front();
}

void numbers(json::Writer& out, std::string_view key, const std::vector<double>& values) {
  out.member(key).array();
  for (const double value : values) value < 0 ? out.null() : out.number(value);
  out.end();
}

}  // namespace

ScavengeHistory::ScavengeHistory()
    : minutes_{1min, std::vector<Bucket>(6 * 60 + 10)},
      quarters_{15min, std::vector<Bucket>(30 * 24 * 4 + 30)} {}

ScavengeHistory::Bucket& ScavengeHistory::Ring::at(std::int64_t number) {
  Bucket& bucket = buckets[static_cast<std::size_t>(number) % buckets.size()];
  if (bucket.number < number) bucket = {.number = number};
  return bucket;
}

const ScavengeHistory::Bucket* ScavengeHistory::Ring::find(std::int64_t number) const {
  const Bucket& bucket = buckets[static_cast<std::size_t>(number) % buckets.size()];
  return bucket.number == number ? &bucket : nullptr;
}

void ScavengeHistory::spread(Ring& ring, WallTime from, WallTime to, const Level& level,
                             bool seen) {
  const Duration kept = ring.step * static_cast<std::int64_t>(ring.buckets.size() - 1);
  from = std::max({from, to - kept, WallTime{}});
  while (from < to) {
    const std::int64_t number = number_of(from, ring.step);
    const WallTime until = std::min(to, begin_of(number + 1, ring.step));
    Bucket& bucket = ring.at(number);
    const double length = ms(until - from);
    from = until;
    if (bucket.number != number) continue;  // it has made room for a later one
    bucket.reclaimed += static_cast<double>(level.worth) * length / 1000;
    if (!seen) continue;
    bucket.seen_ms += length;
    bucket.capacity += static_cast<double>(level.capacity) * length;
    bucket.ordinary += static_cast<double>(level.ordinary) * length;
    bucket.scavengers += static_cast<double>(level.scavengers) * length;
  }
}

void ScavengeHistory::look(WallTime now) {
  if (since_ && *since_ < now) {
    spread(minutes_, *since_, now, level_, true);
    spread(quarters_, *since_, now, level_, true);
  }
  if (!since_ || *since_ < now) since_ = now;
}

void ScavengeHistory::level(WallTime now, const Level& next) {
  look(now);
  level_ = next;
}

void ScavengeHistory::ran(WallTime from, WallTime to, std::int64_t worth) {
  if (since_) to = std::min(to, *since_);  // later ones are seen as they are
  spread(minutes_, from, to, {.worth = worth}, false);
  spread(quarters_, from, to, {.worth = worth}, false);
  ++events_;
}

void ScavengeHistory::interrupted(Interruption one) {
  put_in_order(interruptions_, std::move(one), kMostInterruptions);
  ++events_;
}

void ScavengeHistory::given_back(WallTime at, Duration within) {
  put_in_order(given_back_, {at, within}, kMostGivenBack);
  ++events_;
}

std::uint64_t ScavengeHistory::version(WallTime now) const {
  return events_ + static_cast<std::uint64_t>(number_of(now, 1min));
}

Result<std::string> ScavengeHistory::json(std::string_view name, WallTime now) const {
  const Range* const range = std::find_if(std::begin(kRanges), std::end(kRanges),
                                          [&](const Range& one) { return one.name == name; });
  if (range == std::end(kRanges))
    return fail(Reason::kBadRequest,
                fmt::format("range: {} is not known; there are 1h, 6h, 24h, 7d and 30d",
                            json::quoted(name)));
  const Ring& ring = range->by_minute ? minutes_ : quarters_;
  const std::int64_t steps = range->length / range->step, per = range->step / ring.step;
  const std::int64_t first = number_of(now, range->step) - steps + 1;
  const WallTime from = begin_of(first, range->step);
  std::vector<double> ordinary, scavengers, reclaimed, lost(static_cast<std::size_t>(steps));
  double reclaimed_in_all = 0, lost_in_all = 0;
  for (std::int64_t step = first; step < first + steps; ++step) {
    Bucket sum;
    for (std::int64_t at = step * per; at < (step + 1) * per; ++at)
      if (const Bucket* bucket = ring.find(at)) {
        sum.capacity += bucket->capacity;
        sum.ordinary += bucket->ordinary;
        sum.scavengers += bucket->scavengers;
        sum.reclaimed += bucket->reclaimed;
      }
    ordinary.push_back(sum.capacity > 0 ? sum.ordinary / sum.capacity : -1);
    scavengers.push_back(sum.capacity > 0 ? sum.scavengers / sum.capacity : -1);
    reclaimed.push_back(sum.reclaimed / kMilliCoreHour);
    reclaimed_in_all += reclaimed.back();
  }

  struct Cause {
    std::int64_t jobs = 0, lost = 0;
  };
  std::map<std::pair<std::int64_t, std::string>, Cause> causes;
  std::set<std::string_view> jobs;
  std::int64_t times = 0;
  for (const Interruption& one : interruptions_) {
    if (one.at < from || one.at > now) continue;
    const std::int64_t step = number_of(one.at, range->step) - first;
    lost[static_cast<std::size_t>(step)] += static_cast<double>(one.lost_milli) / kMilliCoreHour;
    lost_in_all += static_cast<double>(one.lost_milli) / kMilliCoreHour;
    Cause& cause = causes[{step, one.reason}];
    ++cause.jobs;
    cause.lost += one.lost_milli;
    jobs.insert(one.uid);
    ++times;
  }
  std::vector<Duration> within;
  for (const GivenBack& one : given_back_)
    if (one.at >= from && one.at <= now) within.push_back(one.within);
  std::sort(within.begin(), within.end());
  const auto quantile = [&](std::size_t percent) {
    return ms(within[std::min(within.size() - 1, within.size() * percent / 100)]);
  };

  json::Writer out;
  out.object().member("from").integer(millis(from)).member("to").integer(millis(now));
  out.member("step").integer(range->step / 1ms);
  numbers(out, "ordinary", ordinary);
  numbers(out, "scavengers", scavengers);
  numbers(out, "reclaimed", reclaimed);
  numbers(out, "lost", lost);
  out.member("causes").array();
  for (const auto& [key, cause] : causes) {
    out.object().member("step").integer(key.first).member("reason").string(key.second);
    out.member("jobs").integer(cause.jobs);
    out.member("lost").number(static_cast<double>(cause.lost) / kMilliCoreHour).end();
  }
  out.end().member("totals").object().member("reclaimed").number(reclaimed_in_all);
  out.member("lost").number(lost_in_all).member("interrupted").integer(times);
  out.member("jobs").integer(static_cast<std::int64_t>(jobs.size()));
  if (!within.empty()) {
    out.member("givenBack").object().member("p50").number(quantile(50));
    out.member("p99").number(quantile(99));
    out.member("times").integer(static_cast<std::int64_t>(within.size())).end();
  }
  return out.end().end().take();
}

}  // namespace berth::gateway
