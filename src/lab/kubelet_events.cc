// SPDX-License-Identifier: Apache-2.0
#include "lab/kubelet_events.h"

#include <fmt/format.h>

#include "kube/pod_view.h"
#include "lab/containers.h"

namespace berth::lab {
namespace {

using client::EventType;

// Ten thousand pods that start at once would be thirty thousand events; these bounds keep what they
// cost to a few hundredths of a core, and a stop does not wait for more than a few seconds of them.
constexpr client::RateLimit kLimit{.qps = 200, .burst = 600, .queue = 1000};
constexpr std::size_t kPending = 600;

}  // namespace

KubeletEvents::KubeletEvents(Scope& parent, kube::ApiHandler& api, const kube::User& user,
                             const Random& random)
    : scope_(parent.child("kubelet-events")),
      transport_(scope_.executor(), api, user),
      limiter_(scope_, kLimit),
      api_(scope_, transport_, random.fork("events"), &limiter_, {.attempts = 1}),
      recorder_(scope_, api_, random.fork("event-names"),
                {.controller = "kubelet",
                 .instance = "lab",
                 .pending = kPending,
                 .in_flight = 16,
                 .attempts = 1}) {}

void KubeletEvents::pod_changed(const kube::Object& before, const kube::Object& after) {
  const std::vector<Container> was = read_containers(before), is = read_containers(after);
  for (std::size_t i = 0; i < is.size(); ++i) {
    const Container& now = is[i];
    // Ephemeral containers may have been added meanwhile.
    const Container none;
    const Container& then = i < was.size() && was[i].name == now.name ? was[i] : none;
    if (now.created && (!then.created || now.restarts > then.restarts) && !now.waiting()) {
      recorder_.event(after, {EventType::kNormal, "Pulled", "Pulling",
                              fmt::format("Container image \"{}\" already present on machine and "
                                          "can be accessed by the pod",
                                          now.spec["image"].text())});
      recorder_.event(after, {EventType::kNormal, "Created", "Creating", "Container created"});
      recorder_.event(after, {EventType::kNormal, "Started", "Starting", "Container started"});
    }
    if (now.waiting() && now.reason == "CrashLoopBackOff" && then.reason != now.reason)
      recorder_.event(
          after, {EventType::kWarning, "BackOff", "BackOff",
                  fmt::format("Back-off restarting failed container {} in pod {}_{}({})", now.name,
                              after.name(), after.ns(), after.uid())});
  }
}

void KubeletEvents::pod_stops(const kube::Object& pod) {
  for (const Container& each : read_containers(pod))
    if (each.running())
      recorder_.event(pod, {EventType::kNormal, "Killing", "Killing",
                            fmt::format("Stopping container {}", each.name)});
}

void KubeletEvents::node_changed(const kube::Object& before, const kube::Object& after) {
  const auto ready = [](const kube::Object& node) {
    return kube::find_condition(node.status(), "Ready")["status"].equals("True");
  };
  if (ready(before) == ready(after)) return;
  const char* const what = ready(after) ? "NodeReady" : "NodeNotReady";
  recorder_.event(after, {EventType::kNormal, what, "Status",
                          fmt::format("Node {} status is now: {}", after.name(), what)});
}

}  // namespace berth::lab
