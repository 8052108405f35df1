// SPDX-License-Identifier: Apache-2.0
#include "simulate/programs.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::simulate {
namespace {

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

Duration times(Duration span, double factor) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(span.count()) * factor));
}

// When the first container was started; nothing while it was not.
std::optional<WallTime> started_at(const kube::Object& pod) {
  const json::Slice first = pod.status()["containerStatuses"][std::size_t{0}];
  return kube::parse_time(first["state"]["running"]["startedAt"].text());
}

}  // namespace

std::vector<Duration> stretches_of(const Program& program, Duration done, Random& random) {
  std::vector<Duration> stretches;
  for (Duration left = program.work - done;;) {
    const double off = program.irregular * (2 * random.unit() - 1);
    const Duration stretch =
        program.checkpoint_every - program.checkpoint_takes + times(program.checkpoint_every, off);
    if (stretch <= Duration{} || stretch >= left) break;
    stretches.push_back(stretch);
    left -= stretch;
  }
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

Duration time_of_run(const Program& program, Duration done, std::size_t checkpoints) {
  return program.restore + std::max(program.work - done, Duration{}) +
         static_cast<Duration::rep>(checkpoints) * program.checkpoint_takes;
}

Programs::Programs(Scope& scope, client::Api& api, std::vector<Program> programs, Random random)
    : scope_(scope), api_(api) {
  for (Program& program : programs) {
    const std::string name = program.name;
    programs_.emplace(name, State{.program = std::move(program), .random = random.fork(name)});
  }
}

void Programs::on_pod(const kube::Object& pod, bool gone) {
  const auto found = programs_.find(program_of_pod(pod.name()));
  if (found == programs_.end() || found->second.finished) return;
  State& state = found->second;
  const std::string uid(pod.uid());
  const json::Slice phase = pod.status()["phase"];
  const std::size_t wanted = static_cast<std::size_t>(state.program.members);
  if (phase.equals("Succeeded") && state.runs) {
    state.members.erase(uid);
    state.succeeded.insert(uid);
    if (state.succeeded.size() == wanted) complete(state);
    return;
  }
  if (gone || pod.deleting() || phase.equals("Failed") || phase.equals("Succeeded")) {
    const bool was_there = state.members.erase(uid) > 0;
    if (was_there && state.runs) interrupted(state);
    return;
  }
  Member& member = state.members[uid];
  member.key = pod.key();
  if (const auto started = started_at(pod); started && phase.equals("Running")) {
    member.started = *started;
    member.running = true;
  }
  const bool all = state.members.size() == wanted &&
                   std::all_of(state.members.begin(), state.members.end(),
                               [](const auto& each) { return each.second.running; });
  if (all && !state.runs && state.succeeded.empty()) begin(state);
}

void Programs::begin(State& state) {
  state.runs = true;
  if (!state.ran) ++account_.started;
  state.ran = true;
  state.saved = now();
  state.stretches = stretches_of(state.program, state.done, state.random);
  const Duration takes = time_of_run(state.program, state.done, state.stretches.size());
  const WallTime wall = scope_.executor().clock().wall();
  for (const auto& [uid, member] : state.members)  // each counts from its own start
    annotate(member, fmt::format(R"("berth.dev/duration":"{}")",
                                 kube::duration_text(wall - member.started + takes)));
  await_checkpoint(state, state.program.restore);
}

void Programs::await_checkpoint(State& state, Duration until_work) {
  if (state.stretches.empty()) return;
  state.next = scope_.after(until_work + state.stretches.back() + state.program.checkpoint_takes,
                            [this, &state] { checkpoint(state); });
}

void Programs::checkpoint(State& state) {
  const Program& program = state.program;
  const Duration useful = state.stretches.back();
  state.stretches.pop_back();
  state.done += useful;
  state.saved = now();
  account_.useful_core_seconds += seconds(useful) * program.cores();
  if (program.reports) {
    const std::string when = kube::micro_time_text(scope_.executor().clock().wall());
    annotate(state.members.begin()->second,
             fmt::format(R"("berth.dev/checkpoint":"{}","berth.dev/checkpoint-cost":"{}")", when,
                         kube::duration_text(program.checkpoint_takes)));
  }
  await_checkpoint(state, Duration{});
}

void Programs::interrupted(State& state) {
  scope_.cancel(state.next);
  state.runs = false;
  state.succeeded.clear();
  ++account_.interruptions;
  account_.lost_core_seconds += seconds(now() - state.saved) * state.program.cores();
  losses_.emplace_back(now(), account_.lost_core_seconds);
}

void Programs::complete(State& state) {
  scope_.cancel(state.next);
  account_.useful_core_seconds += seconds(state.program.work - state.done) * state.program.cores();
  state.done = state.program.work;
  state.runs = false;
  state.finished = true;
  ++account_.completed;
}

void Programs::annotate(const Member& member, const std::string& annotations) {
  // A pod that has gone meanwhile needs none.
  api_.patch(kube::kPod, member.key,
             fmt::format(R"({{"metadata":{{"annotations":{{{}}}}}}})", annotations),
             kube::PatchType::kMerge, scope_.done<kube::Object>(1min, [](const auto&) {}));
}

}  // namespace berth::simulate
