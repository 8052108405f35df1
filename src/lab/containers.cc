// SPDX-License-Identifier: Apache-2.0
#include "lab/containers.h"

#include <map>

#include <fmt/format.h>

#include "base/random.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

WallTime time_in(json::Slice text) { return kube::parse_time(text.text()).value_or(WallTime{}); }

void read_state(Container& into, json::Slice state) {
  if (const json::Slice running = state["running"]) {
    into.state = Container::State::kRunning;
    into.started = time_in(running["startedAt"]);
  } else if (const json::Slice ended = state["terminated"]) {
    into.state = Container::State::kTerminated;
    into.reason = ended["reason"].text();
    into.message = ended["message"].text();
    into.exit_code = static_cast<int>(ended["exitCode"].integer().value_or(0));
    into.started = time_in(ended["startedAt"]);
    into.finished = time_in(ended["finishedAt"]);
  } else if (const json::Slice waiting = state["waiting"]) {
    into.reason = waiting["reason"].text();
    into.message = waiting["message"].text();
  }
}

// In one pass: every look-up scans.
void read_status(Container& into, json::Slice status) {
  for (const auto [key, value] : status.members()) {
    if (key == "restartCount")
      into.restarts = static_cast<int>(value.integer().value_or(0));
    else if (key == "ready")
      into.ready = value.boolean();
    else if (key == "started")
      into.has_started = value.boolean();
    else if (key == "containerID")
      into.created = value.is_string() && value.raw().size() > 2;
    else if (key == "state")
      read_state(into, value);
    else if (key == "lastState")
      into.last = std::string(value["terminated"].raw());
  }
}

std::string digest(std::string_view of) {
  Random chance = Random(0x62657274685f6c61).fork(of);
  return fmt::format("{:016x}{:016x}{:016x}{:016x}", chance.next(), chance.next(), chance.next(),
                     chance.next());
}

}  // namespace

std::vector<Container> read_containers(const kube::Object& pod) {
  std::vector<Container> all;
  const json::Slice spec = pod.member("spec"), status = pod.status();
  const auto take = [&](std::string_view list, std::string_view statuses, auto role_of) {
    std::map<std::string, json::Slice> known;
    for (const json::Slice each : status[statuses].elements())
      known.emplace(each["name"].text(), each);
    for (const json::Slice container : spec[list].elements()) {
      Container& made = all.emplace_back();
      made.spec = container;
      made.name = container["name"].text();
      made.role = role_of(container);
      if (const auto found = known.find(made.name); found != known.end())
        read_status(made, found->second);
    }
  };
  take("initContainers", "initContainerStatuses", [](json::Slice container) {
    return container["restartPolicy"].equals("Always") ? Role::kSidecar : Role::kInit;
  });
  take("containers", "containerStatuses", [](json::Slice) { return Role::kMain; });
  take("ephemeralContainers", "ephemeralContainerStatuses",
       [](json::Slice) { return Role::kEphemeral; });
  return all;
}

bool restarts_after(const Container& container, std::string_view pod_policy, int exit_code) {
  if (container.role == Role::kSidecar) return true;
  if (container.role == Role::kEphemeral) return false;
  for (const json::Slice rule : container.spec["restartPolicyRules"].elements()) {
    const json::Slice codes = rule["exitCodes"];
    bool listed = false;
    for (const json::Slice code : codes["values"].elements())
      listed = listed || code.integer() == exit_code;
    if (listed == codes["operator"].equals("In")) return rule["action"].equals("Restart");
  }
  std::string policy(pod_policy);
  if (const json::Slice own = container.spec["restartPolicy"]) policy = own.text();
  if (policy == "Never") return false;
  // An init container that has done its work does not do it twice.
  if (policy == "OnFailure" || container.role == Role::kInit) return exit_code != 0;
  return true;
}

std::string container_id(const kube::Object& pod, std::string_view name, int restarts) {
  return "containerd://" + digest(fmt::format("{}/{}/{}", pod.uid(), name, restarts));
}

std::string image_id(std::string_view image) { return fmt::format("sha256:{}", digest(image)); }

std::string termination_json(const kube::Object& pod, const Container& container) {
  json::Writer w;
  w.object();
  w.member("containerID").string(container_id(pod, container.name, container.restarts));
  w.member("exitCode").integer(container.exit_code);
  w.member("finishedAt").string(kube::time_text(container.finished));
  if (!container.message.empty()) w.member("message").string(container.message);
  w.member("reason").string(container.reason);
  w.member("startedAt").string(kube::time_text(container.started));
  w.end();
  return w.take();
}

std::string_view phase_of(const std::vector<Container>& containers, std::string_view pod_policy,
                          bool terminal) {
  int pending_init = 0, pending_sidecars = 0, failed_init = 0;
  int running = 0, waiting = 0, stopped = 0, stopped_for_good = 0, succeeded = 0;
  bool initialized = false;
  for (const Container& c : containers) {
    const bool ended = c.terminated() || (c.waiting() && !c.last.empty());
    const int code = c.terminated()
                         ? c.exit_code
                         : static_cast<int>(c.last_end()["exitCode"].integer().value_or(0));
    switch (c.role) {
      case Role::kInit:
        if (!ended)
          ++pending_init;
        else if (code != 0 && !restarts_after(c, pod_policy, code))
          ++failed_init;
        break;
      case Role::kSidecar:
        if (c.running()) {
          if (!c.has_started) ++pending_sidecars;
          ++running;
        } else if (!ended) {
          ++pending_sidecars;
          ++waiting;
        }
        break;
      case Role::kMain:
        if (c.running() || ended) initialized = true;
        if (c.running()) {
          ++running;
        } else if (ended) {
          ++stopped;
          if (!restarts_after(c, pod_policy, code)) ++stopped_for_good;
          if (c.terminated() && code == 0) ++succeeded;
        } else {
          ++waiting;
        }
        break;
      case Role::kEphemeral:
        break;
    }
  }
  if (failed_init > 0) return "Failed";
  if (pending_init > 0 || (pending_sidecars > 0 && !initialized) || waiting > 0) return "Pending";
  if (running > 0) return "Running";
  if (stopped == 0) return "Pending";
  if (!terminal && stopped != stopped_for_good) return "Running";
  return stopped == succeeded ? "Succeeded" : "Failed";
}

}  // namespace berth::lab
