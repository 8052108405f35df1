// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/checkpoints.h"

#include <algorithm>

#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

constexpr std::string_view kWord = "checkpoint ";

std::optional<WallTime> in_message(const kube::Object& pod) {
  for (const json::Slice one : pod.status()["containerStatuses"].elements()) {
    const std::string message = one["state"]["terminated"]["message"].text();
    std::string_view text = message;
    if (!text.starts_with(kWord)) continue;
    text.remove_prefix(kWord.size());
    text = text.substr(0, text.find_first_of(" \n"));
    if (const auto at = kube::parse_time(text)) return at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CheckpointReport> latest_report(const std::vector<const kube::Object*>& pods,
                                              WallTime since, WallTime now) {
  std::optional<CheckpointReport> latest;
  const auto take = [&](std::optional<WallTime> at, const kube::Object& pod) {
    if (!at) return;
    const WallTime known = std::min(*at, now);
    if (known <= since || (latest && latest->at >= known)) return;
    latest =
        CheckpointReport{known, kube::parse_duration(pod.annotation(kCheckpointCostAnnotation))};
  };
  for (const kube::Object* pod : pods) {
    take(kube::parse_time(pod->annotation(kube::kCheckpointAnnotation)), *pod);
    take(in_message(*pod), *pod);
  }
  return latest;
}

std::optional<scavenge::CostBasis> read_cost(json::Slice from) {
  const auto since = kube::parse_time(from["since"].text());
  if (!since) return std::nullopt;
  scavenge::CostBasis out;
  out.since = *since;
  out.rate_milli = from["rateMilli"].integer().value_or(0);
  out.window = std::chrono::seconds(from["windowSeconds"].integer().value_or(0));
  out.steps = static_cast<int>(from["steps"].integer().value_or(1));
  out.reported = from["reported"].boolean();
  out.restart = from["restart"].integer().value_or(0);
  out.interval = std::chrono::seconds(from["intervalSeconds"].integer().value_or(0));
  return out;
}

std::string cost_json(const scavenge::CostBasis& basis) {
  json::Writer w;
  w.object().member("since").string(kube::micro_time_text(basis.since));
  w.member("rateMilli").integer(basis.rate_milli);
  w.member("windowSeconds").integer(basis.window / 1s);
  w.member("steps").integer(basis.steps).member("reported").boolean(basis.reported);
  w.member("restart").integer(basis.restart);
  if (basis.interval >= 1s) w.member("intervalSeconds").integer(basis.interval / 1s);
  w.end();
  return w.take();
}

std::vector<Duration> interrupted_runs(json::Slice status) {
  std::vector<WallTime> starts;
  for (const json::Slice one : status["runningTimestamps"].elements())
    if (const auto at = kube::parse_time(one.text())) starts.push_back(*at);
  std::vector<Duration> runs;
  for (const json::Slice one : status["interruptedTimestamps"].elements()) {
    const auto end = kube::parse_time(one.text());
    if (!end) continue;
    const auto after = std::upper_bound(starts.begin(), starts.end(), *end);
    if (after != starts.begin()) runs.push_back(*end - *std::prev(after));
  }
  return runs;
}

}  // namespace berth::controllers
