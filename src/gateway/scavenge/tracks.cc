// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/tracks.h"

#include <algorithm>

#include "controllers/scavenger/checkpoints.h"

namespace berth::gateway {
namespace {

std::vector<WallTime> times(json::Slice list) {
  std::vector<WallTime> all;
  for (const json::Slice one : list.elements())
    if (const auto at = kube::parse_time(one.text())) all.push_back(*at);
  return all;
}

// Where a run ended, what it lost is what it would have cost.
void close(TrackPiece& piece, WallTime at, bool interrupted) {
  piece.to = std::max(at, piece.from);
  if (interrupted) piece.lost = scavenge::cost_at(piece.basis, *piece.to);
}

}  // namespace

std::vector<PastRun> past_runs(const kube::ScavengerJobView& job) {
  const json::Slice status = job.status();
  const std::vector<WallTime> begun = times(status["runningTimestamps"]);
  std::vector<std::pair<WallTime, bool>> ends;
  for (const WallTime at : times(status["interruptedTimestamps"])) ends.emplace_back(at, true);
  if (const auto at = kube::parse_time(status["finishedTimestamp"].text()))
    ends.emplace_back(*at, false);
  std::vector<PastRun> runs;
  for (std::size_t i = 0; i < begun.size(); ++i) {
    PastRun run{.from = begun[i]};
    // It ended before the next began; an attempt that never ran may have ended in between.
    for (const auto& [at, interrupted] : ends)
      if (at >= run.from && (i + 1 == begun.size() || at <= begun[i + 1]) && !run.to) {
        run.to = at;
        run.interrupted = interrupted;
      }
    if (!run.to && i + 1 < begun.size()) run.to = begun[i + 1];
    runs.push_back(run);
  }
  return runs;
}

void Tracks::put(const kube::ScavengerJobView& job, WallTime now) {
  const std::string uid(job.object().uid());
  const auto basis = controllers::read_cost(job.status()["cost"]);
  const bool running = basis && job.open() && job.phase() == kube::kScavengerRunning;
  const std::vector<PastRun> runs = past_runs(job);
  const auto [at, fresh] = pieces_.try_emplace(uid);
  std::vector<TrackPiece>& pieces = at->second;
  if (fresh && basis && !basis->reported)
    for (const PastRun& run : runs) {
      if (!run.to || *run.to + kKept < now) continue;
      pieces.push_back({.from = run.from, .basis = *basis});
      pieces.back().basis.since = run.from;
      close(pieces.back(), *run.to, run.interrupted);
    }
  TrackPiece* last = pieces.empty() || pieces.back().to ? nullptr : &pieces.back();
  if (running) {
    if (last != nullptr && !(last->basis == *basis)) {
      // A checkpoint, or another run that came so soon that nobody saw the first one end.
      const PastRun* ended = nullptr;
      for (const PastRun& run : runs)
        if (run.to && *run.to > last->from && run.interrupted) ended = &run;
      close(*last, ended != nullptr ? *ended->to : std::min(now, basis->since), ended != nullptr);
      last = nullptr;
    }
    if (last == nullptr) pieces.push_back({.from = basis->since, .basis = *basis});
  } else if (last != nullptr) {
    const PastRun* const run = runs.empty() ? nullptr : &runs.back();
    const bool known = run != nullptr && run->to;
    close(*last, known ? *run->to : now, known && run->interrupted);
  }
  std::erase_if(pieces,
                [now](const TrackPiece& piece) { return piece.to && *piece.to + kKept < now; });
}

void Tracks::remove(std::string_view uid) {
  if (const auto at = pieces_.find(uid); at != pieces_.end()) pieces_.erase(at);
}

const std::vector<TrackPiece>& Tracks::of(std::string_view uid) const {
  static const std::vector<TrackPiece> none;
  const auto at = pieces_.find(uid);
  return at == pieces_.end() ? none : at->second;
}

}  // namespace berth::gateway
