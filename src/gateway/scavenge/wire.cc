// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/wire.h"

#include <algorithm>

#include "controllers/scavenger/checkpoints.h"
#include "kube/ours/ours.h"
#include "policy/scavenge/resources.h"

namespace berth::gateway {
namespace {

using scavenge::AdmitQuestion;

// What may be used of a resource, and what is.
struct Room {
  std::int64_t most = 0, used = 0;
};
Room room_of(const AdmitQuestion& question, int threshold_percent, const std::string& resource) {
  const auto amount = [&](const kube::ResourceList& list) {
    const auto at = list.find(resource);
    return at == list.end() ? 0 : scavenge::amount_of(resource, at->second);
  };
  Room room;
  for (const scavenge::NodeRoom& node : question.nodes) {
    room.most += amount(node.allocatable);
    room.used += amount(node.used);
  }
  room.most = scavenge::scaled(room.most, threshold_percent, 100);
  room.used += amount(question.in_flight);
  if (question.rules.respect_pending) room.used += amount(question.pending);
  return room;
}

void write_basis(json::Writer& out, const scavenge::CostBasis& basis) {
  out.object().member("since").integer(millis(basis.since));
  out.member("rate").integer(basis.rate_milli).member("window").integer(basis.window / 1ms);
  out.member("steps").integer(basis.steps).member("reported").boolean(basis.reported);
  out.member("restart").integer(basis.restart);
  if (basis.interval > Duration{}) out.member("interval").integer(basis.interval / 1ms);
  out.end();
}

void write_track(json::Writer& out, std::span<const TrackPiece> track) {
  out.member("track").array();
  for (const TrackPiece& piece : track) {
    out.object().member("from").integer(millis(piece.from));
    if (piece.to) out.member("to").integer(millis(piece.to));
    write_basis(out.member("basis"), piece.basis);
    if (piece.lost) out.member("lost").integer(*piece.lost);
    out.end();
  }
  out.end();
}

void write_waits(json::Writer& out, const WaitWire& waits) {
  const scavenge::Wait& wait = *waits.wait;
  out.member("waits").object().member("turn").integer(wait.turn);
  out.member("reason").string(name_of(wait.reason)).member("message").string(wait.message);
  if (waits.shortage.resource == "cpu")
    out.member("short").integer(waits.shortage.amount);
  else if (!waits.shortage.resource.empty())
    out.member("resource").string(waits.shortage.resource);
  if (waits.until) out.member("until").integer(millis(waits.until));
  out.end();
}

std::optional<WallTime> time_of(json::Slice text) { return kube::parse_time(text.text()); }

std::string_view state_name(ScavengerDoes what) {
  constexpr std::string_view kNames[] = {"waiting", "starting", "running", "reclaiming", "ended"};
  return kNames[static_cast<std::size_t>(what)];
}

// Of a run, when it began; of what waits, since when.
std::optional<WallTime> since_of(const kube::ScavengerJobView& job, ScavengerDoes what) {
  std::optional<WallTime> since;
  if (what == ScavengerDoes::kRuns || what == ScavengerDoes::kIsReclaimed)
    for (const json::Slice one : job.status()["runningTimestamps"].elements()) since = time_of(one);
  if (!since) since = time_of(job.status()["waitingSince"]);
  return since ? since : job.object().created();
}

}  // namespace

std::string_view name_of(scavenge::WaitReason reason) {
  constexpr std::string_view kNames[] = {"Turn",      "Threshold", "NoFit",
                                         "OverQuota", "Backoff",   "Reserved"};
  return kNames[static_cast<std::size_t>(reason)];
}

Shortage shortage(const AdmitQuestion& question, int threshold_percent,
                  const scavenge::Waiting& wants) {
  Shortage first;
  for (const auto& [resource, quantity] : wants.member) {
    const Room room = room_of(question, threshold_percent, resource);
    const std::int64_t asked = scavenge::saturating_multiply(
        scavenge::amount_of(resource, quantity), std::max(1, wants.members));
    const std::int64_t lacks = room.used + asked - room.most;
    if (lacks > 0 && (first.resource.empty() || resource == "cpu")) first = {resource, lacks};
  }
  return first;
}

std::int64_t free_cores(const AdmitQuestion& question, int threshold_percent) {
  const Room room = room_of(question, threshold_percent, "cpu");
  return std::max<std::int64_t>(0, room.most - room.used);
}

ScavengerDoes does(const kube::ScavengerJobView& job) {
  if (job.ended()) return ScavengerDoes::kHasEnded;
  if (!job.open()) return ScavengerDoes::kWaits;
  if (job.phase() != kube::kScavengerRunning) return ScavengerDoes::kStarts;
  return job.status()["reclaim"]["asked"] ? ScavengerDoes::kIsReclaimed : ScavengerDoes::kRuns;
}

std::string row_json(const kube::ScavengerJobView& job, const RowFacts& facts) {
  const kube::Object& object = job.object();
  const json::Slice status = job.status();
  const ScavengerDoes what = does(job);
  json::Writer out;
  out.object().member("namespace").string(object.ns()).member("name").string(object.name());
  out.member("uid").string(object.uid());
  if (object.kind() != kube::scavenger_kinds().job)
    out.member("group").string(kube::kind_of(object.kind()).group);
  out.member("state").string(state_name(what));
  out.member("cores").integer(facts.cores_milli).member("members").integer(facts.members);
  out.member("nodes").integer(facts.nodes).member("since").integer(millis(since_of(job, what)));
  out.member("interrupted").integer(job.interrupted_count());
  if (const auto basis = controllers::read_cost(status["cost"]); basis && job.open())
    write_basis(out.member("cost"), *basis);
  write_track(out, facts.track);
  if (facts.waits.wait != nullptr) write_waits(out, facts.waits);
  out.member("lost").integer(status["lostCoreSeconds"].integer().value_or(0));
  out.member("useful").integer(status["usefulCoreSeconds"].integer().value_or(0));
  if (const json::Slice told = status["checkpoint"]; told["count"].integer().value_or(0) > 0) {
    out.member("checkpoint").object().member("count").integer(*told["count"].integer());
    if (const auto last = time_of(told["last"])) out.member("last").integer(millis(last));
    if (const std::string advised = told["advisedInterval"].text(); !advised.empty())
      out.member("advised").string(advised);
    out.end();
  }
  if (const auto deadline = time_of(status["reclaim"]["deadline"]))
    out.member("deadline").integer(millis(deadline));
  return out.end().take();
}

}  // namespace berth::gateway
