// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/pod_cells.h"

#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/cells.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

struct Summary {
  std::int64_t ready = 0, total = 0, restarts = 0;
  std::string reason;
  std::optional<WallTime> last_restart;
};

void note_restart(json::Slice status, std::int64_t& restarts, std::optional<WallTime>& last) {
  restarts += status["restartCount"].integer().value_or(0);
  const std::string ended = status["lastState"]["terminated"]["finishedAt"].text();
  if (const auto at = kube::parse_time(ended); at && (!last || *last < *at)) last = at;
}

std::string ended(json::Slice terminated) {
  const std::string reason = terminated["reason"].text();
  if (!reason.empty()) return reason;
  const std::int64_t signal = terminated["signal"].integer().value_or(0);
  return signal != 0 ? fmt::format("Signal:{}", signal)
                     : fmt::format("ExitCode:{}", terminated["exitCode"].integer().value_or(0));
}

// True while a pod is still being initialised; tells how far it is.
bool initialising(const kube::Object& pod, const std::set<std::string>& sidecars, Summary& summary,
                  Summary& of_sidecars) {
  const json::Slice statuses = pod.status()["initContainerStatuses"];
  std::size_t i = 0;
  for (const json::Slice status : statuses.elements()) {
    const bool sidecar = sidecars.contains(status["name"].text());
    note_restart(status, summary.restarts, summary.last_restart);
    if (sidecar) note_restart(status, of_sidecars.restarts, of_sidecars.last_restart);
    const json::Slice state = status["state"];
    const json::Slice terminated = state["terminated"], waiting = state["waiting"];
    const std::size_t place = i++;
    if (terminated && terminated["exitCode"].integer().value_or(0) == 0) continue;
    if (sidecar && status["started"].boolean()) {
      if (status["ready"].boolean()) ++summary.ready;
      continue;
    }
    const std::string why = waiting["reason"].text();
    if (terminated)
      summary.reason = "Init:" + ended(terminated);
    else if (!why.empty() && why != "PodInitializing")
      summary.reason = "Init:" + why;
    else
      summary.reason =
          fmt::format("Init:{}/{}", place, pod.member("spec")["initContainers"].size());
    return true;
  }
  return false;
}

void running(const kube::Object& pod, Summary& summary) {
  const json::Slice statuses = pod.status()["containerStatuses"];
  bool any_running = false;
  std::string error;
  for (std::size_t i = statuses.size(); i-- > 0;) {
    const json::Slice status = statuses[i], state = status["state"];
    note_restart(status, summary.restarts, summary.last_restart);
    const std::string waiting = state["waiting"]["reason"].text();
    if (!waiting.empty()) {
      summary.reason = waiting;
    } else if (state["terminated"]) {
      summary.reason = ended(state["terminated"]);
      if (state["terminated"]["exitCode"].integer().value_or(0) != 0) error = summary.reason;
    } else if (status["ready"].boolean() && state["running"]) {
      any_running = true;
      ++summary.ready;
    }
  }
  if (summary.reason != "Completed") return;
  if (any_running && has_condition(pod.status()["conditions"], "Ready"))
    summary.reason = "Running";
  else if (!error.empty())
    summary.reason = error;
  else if (any_running)
    summary.reason = "NotReady";
}

Summary summarise(const kube::Object& pod) {
  Summary summary, of_sidecars;
  const json::Slice spec = pod.member("spec"), status = pod.status();
  const std::string phase = status["phase"].text(), reason = status["reason"].text();
  summary.reason = reason.empty() ? phase : reason;
  for (const json::Slice condition : status["conditions"].elements())
    if (condition["type"].equals("PodScheduled") && condition["reason"].equals("SchedulingGated"))
      summary.reason = "SchedulingGated";
  std::set<std::string> sidecars;
  for (const json::Slice container : spec["initContainers"].elements())
    if (container["restartPolicy"].equals("Always")) sidecars.insert(container["name"].text());
  summary.total = static_cast<std::int64_t>(spec["containers"].size() + sidecars.size());
  if (!initialising(pod, sidecars, summary, of_sidecars) ||
      has_condition(status["conditions"], "Initialized")) {
    summary.restarts = of_sidecars.restarts;
    summary.last_restart = of_sidecars.last_restart;
    running(pod, summary);
  }
  if (pod.deleting()) {
    if (reason == "NodeLost")
      summary.reason = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      summary.reason = "Terminating";
  }
  return summary;
}

}  // namespace

std::string pod_ready(const kube::Object& pod) {
  const Summary summary = summarise(pod);
  return fmt::format("{}/{}", summary.ready, summary.total);
}

std::string pod_status(const kube::Object& pod) { return summarise(pod).reason; }

std::string pod_restarts(const kube::Object& pod, WallTime now) {
  const Summary summary = summarise(pod);
  if (summary.restarts == 0 || !summary.last_restart) return std::to_string(summary.restarts);
  return fmt::format("{} ({} ago)", summary.restarts, human_duration(now - *summary.last_restart));
}

std::string pod_gates(const kube::Object& pod) {
  const json::Slice gates = pod.member("spec")["readinessGates"];
  if (gates.size() == 0) return "<none>";
  std::size_t open = 0;
  for (const json::Slice gate : gates.elements())
    if (has_condition(pod.status()["conditions"], gate["conditionType"].text())) ++open;
  return fmt::format("{}/{}", open, gates.size());
}

}  // namespace berth::apiserver
