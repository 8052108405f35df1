// SPDX-License-Identifier: Apache-2.0
#include "lab/pod_status.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

struct Told {
  std::string_view type;
  bool holds = false;
  std::string reason = {}, message = {};
};

std::string names(const std::vector<std::string_view>& of) {
  return fmt::format("[{}]", fmt::join(of, " "));
}

Told containers_ready(const std::vector<Container>& containers, std::string_view phase) {
  if (phase == "Succeeded") return {"ContainersReady", false, "PodCompleted"};
  if (phase == "Failed") return {"ContainersReady", false, "PodFailed"};
  std::vector<std::string_view> unready;
  for (const Container& c : containers)
    if ((c.role == Role::kSidecar || c.role == Role::kMain) && !c.ready) unready.push_back(c.name);
  if (unready.empty()) return {"ContainersReady", true};
  return {"ContainersReady", false, "ContainersNotReady",
          "containers with unready status: " + names(unready)};
}

Told initialized(const std::vector<Container>& containers, std::string_view phase) {
  if (phase == "Succeeded") return {"Initialized", true, "PodCompleted"};
  std::vector<std::string_view> incomplete;
  for (const Container& c : containers) {
    if (c.role == Role::kMain && (c.created || c.running())) return {"Initialized", true};
    if ((c.role == Role::kInit && !c.ready) || (c.role == Role::kSidecar && !c.has_started))
      incomplete.push_back(c.name);
  }
  if (incomplete.empty()) return {"Initialized", true};
  return {"Initialized", false, "ContainersNotInitialized",
          "containers with incomplete status: " + names(incomplete)};
}

Told pod_ready(const kube::Object& pod, const Told& containers) {
  if (!containers.holds) return {"Ready", false, containers.reason, containers.message};
  std::vector<std::string> missing;
  for (const json::Slice gate : pod.member("spec")["readinessGates"].elements()) {
    const std::string type = gate["conditionType"].text();
    const json::Slice found = kube::find_condition(pod.status(), type);
    if (!found)
      missing.push_back(fmt::format(
          "corresponding condition of pod readiness gate \"{}\" does not exist.", type));
    else if (!found["status"].equals("True"))
      missing.push_back(
          fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}", type,
                      found["status"].text()));
  }
  if (missing.empty()) return {"Ready", true};
  return {"Ready", false, "ReadinessGatesNotReady", fmt::format("{}", fmt::join(missing, ", "))};
}

// `was`: the condition of that type as it stands, if it does.
void write_condition(json::Writer& w, const kube::Object& pod, const Told& told, json::Slice was,
                     WallTime now, StatusForm form) {
  const std::string_view status = told.holds ? "True" : "False";
  w.object();
  w.member("lastProbeTime").null();
  w.member("lastTransitionTime");
  if (was && was["status"].equals(status) && was["lastTransitionTime"])
    w.raw(was["lastTransitionTime"].raw());
  else
    w.string(kube::time_text(now));
  // What was said before and is not any more has to be taken back by name.
  const auto text = [&](std::string_view member, const std::string& value) {
    if (!value.empty())
      w.member(member).string(value);
    else if (was[member] && form == StatusForm::kPatch)
      w.member(member).null();
  };
  text("message", told.message);
  if (pod.generation() > 0) w.member("observedGeneration").integer(pod.generation());
  text("reason", told.reason);
  w.member("status").string(status);
  w.member("type").string(told.type);
  w.end();
}

void write_state(json::Writer& w, const kube::Object& pod, const Container& c) {
  w.object();
  if (c.running()) {
    w.member("running").object().member("startedAt").string(kube::time_text(c.started)).end();
  } else if (c.terminated()) {
    w.member("terminated").raw(termination_json(pod, c));
  } else {
    w.member("waiting").object();
    if (!c.message.empty()) w.member("message").string(c.message);
    if (!c.reason.empty()) w.member("reason").string(c.reason);
    w.end();
  }
  w.end();
}

void write_mounts(json::Writer& w, json::Slice mounts) {
  if (mounts.size() == 0) return;
  w.member("volumeMounts").array();
  for (const json::Slice mount : mounts.elements()) {
    w.object();
    w.member("mountPath").raw(mount["mountPath"].raw());
    w.member("name").raw(mount["name"].raw());
    if (mount["readOnly"].boolean()) {
      w.member("readOnly").boolean(true);
      const bool recursive =
          mount["recursiveReadOnly"] && !mount["recursiveReadOnly"].equals("Disabled");
      w.member("recursiveReadOnly").string(recursive ? "Enabled" : "Disabled");
    }
    w.end();
  }
  w.end();
}

void write_container(json::Writer& w, const kube::Object& pod, const Container& c) {
  const std::string image = c.spec["image"].text();
  w.object();
  if (c.created) w.member("containerID").string(container_id(pod, c.name, c.restarts));
  w.member("image").string(image);
  w.member("imageID").string(c.created ? image_id(image) : "");
  w.member("lastState").object();
  if (!c.last.empty()) w.member("terminated").raw(c.last);
  w.end();
  w.member("name").string(c.name);
  w.member("ready").boolean(c.ready);
  if (const json::Slice resources = c.spec["resources"]; resources && c.created)
    w.member("resources").raw(resources.raw());
  w.member("restartCount").integer(c.restarts);
  w.member("started").boolean(c.has_started);
  w.member("state");
  write_state(w, pod, c);
  write_mounts(w, c.spec["volumeMounts"]);
  w.end();
}

bool write_containers(json::Writer& w, const kube::Object& pod,
                      const std::vector<Container>& containers, std::string_view member,
                      bool by_name, auto wanted) {
  std::vector<const Container*> chosen;
  for (const Container& c : containers)
    if (wanted(c.role)) chosen.push_back(&c);
  if (chosen.empty()) return false;
  if (by_name)
    std::sort(chosen.begin(), chosen.end(),
              [](const Container* a, const Container* b) { return a->name < b->name; });
  w.member(member).array();
  for (const Container* c : chosen) write_container(w, pod, *c);
  w.end();
  return true;
}

void write_addresses(json::Writer& w, std::string_view one, std::string_view many,
                     std::string_view address) {
  w.member(one).string(address);
  w.member(many).array().object().member("ip").string(address).end().end();
}

}  // namespace

std::string status_text(const kube::Object& pod, const std::vector<Container>& containers,
                        const PodFacts& facts, WallTime now, StatusForm form) {
  const Told ready = containers_ready(containers, facts.phase);
  const Told conditions[] = {{"PodReadyToStartContainers", facts.sandbox},
                             initialized(containers, facts.phase),
                             pod_ready(pod, ready),
                             ready,
                             {"PodScheduled", true}};
  const json::Slice before = pod.status();
  // As they stand: ours by their place above, and what others have said. The first of a type
  // counts.
  std::array<json::Slice, std::size(conditions)> was;
  std::vector<json::Slice> others;
  for (const json::Slice condition : before["conditions"].elements()) {
    const json::Slice type = condition["type"];
    const auto own = std::find_if(std::begin(conditions), std::end(conditions),
                                  [&](const Told& told) { return type.equals(told.type); });
    if (own == std::end(conditions))
      others.push_back(condition);
    else if (json::Slice& one = was[static_cast<std::size_t>(own - conditions)]; !one)
      one = condition;
  }
  json::Writer w;
  w.object();
  if (form == StatusForm::kPatch) {
    w.member("metadata").object().member("uid").string(pod.uid()).end();
    w.member("status").object();
    w.member("$setElementOrder/conditions").array();
    for (const json::Slice other : others)
      w.object().member("type").string(other["type"].text()).end();
    for (const Told& told : conditions) w.object().member("type").string(told.type).end();
    w.end();
  }
  // k8s 1.36: what others have said comes first, then what kubelets say, in this order.
  w.member("conditions").array();
  if (form == StatusForm::kWhole)
    for (const json::Slice other : others) w.raw(other.raw());
  for (std::size_t i = 0; i < was.size(); ++i)
    write_condition(w, pod, conditions[i], was[i], now, form);
  w.end();
  std::vector<std::string_view> written = {"conditions"};
  const auto list = [&](std::string_view member, bool by_name, auto wanted) {
    if (write_containers(w, pod, containers, member, by_name, wanted)) written.push_back(member);
  };
  const auto addresses = [&](std::string_view one, std::string_view many,
                             std::string_view address) {
    if (address.empty()) return;
    write_addresses(w, one, many, address);
    written.insert(written.end(), {one, many});
  };
  const auto text = [&](std::string_view member, std::string_view value) {
    if (value.empty()) return;
    w.member(member).string(value);
    written.push_back(member);
  };
  list("containerStatuses", true, [](Role role) { return role == Role::kMain; });
  list("ephemeralContainerStatuses", true, [](Role role) { return role == Role::kEphemeral; });
  addresses("hostIP", "hostIPs", facts.host_ip);
  list("initContainerStatuses", false,
       [](Role role) { return role == Role::kInit || role == Role::kSidecar; });
  text("message", facts.message);
  if (pod.generation() > 0) {
    w.member("observedGeneration").integer(pod.generation());
    written.push_back("observedGeneration");
  }
  text("phase", facts.phase);
  addresses("podIP", "podIPs", facts.pod_ip);
  text("reason", facts.reason);
  text("startTime", kube::time_text(facts.start_time));
  if (form == StatusForm::kWhole) {
    for (const auto [key, value] : before.members())
      if (std::find(written.begin(), written.end(), key) == written.end())
        w.member(key).raw(value.raw());
  } else {
    w.end();
  }
  w.end();
  return w.take();
}

}  // namespace berth::lab
