// SPDX-License-Identifier: Apache-2.0
#include "lab/kubelet_events.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/random.h"
#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

// Ten thousand pods that start at once would be thirty thousand events, as many writes as they need
// to run. Two hundred pods at once are told of in full.
constexpr double kBurst = 600, kPerSecond = 200;
constexpr double kForPods = kBurst / 2;  // that nodes leave to pods
constexpr std::size_t kRemembered = 4096;
constexpr std::string_view kNormal = "Normal", kWarning = "Warning", kKubelet = "kubelet";
constexpr std::string_view kRejected = "Pod was rejected: ";

std::string_view list_of(Role role) {
  switch (role) {
    case Role::kInit:
    case Role::kSidecar:
      return "initContainers";
    case Role::kEphemeral:
      return "ephemeralContainers";
    case Role::kMain:
      break;
  }
  return "containers";
}

// What the network did, and how large the image is: always the same for one image.
std::string pulled(std::string_view image) {
  Random chance = Random(0x62657274685f7075).fork(image);
  const auto took = std::chrono::milliseconds(200 + chance.below(1500));
  const auto text = kube::duration_text(took);
  return fmt::format(
      "Successfully pulled image \"{}\" in {} ({} including waiting). Image size: {} bytes.", image,
      text, text, 1'000'000 + chance.below(100'000'000));
}

}  // namespace

KubeletEvents::About KubeletEvents::container_of(const kube::Object& pod, const Container& of) {
  return {pod, pod.member("spec")["nodeName"].text(),
          fmt::format("spec.{}{{{}}}", list_of(of.role), of.name)};
}

bool KubeletEvents::may_tell(double keep) {
  const Instant now = clock_.now();
  if (!std::exchange(filled_once_, true)) {
    tokens_ = kBurst;
    filled_ = now;
  }
  tokens_ =
      std::min(kBurst, tokens_ + kPerSecond * std::chrono::duration<double>(now - filled_).count());
  filled_ = now;
  return tokens_ >= keep + 1;
}

void KubeletEvents::pod_changed(const kube::Object& before, const kube::Object& after) {
  if (!may_tell()) return;
  const json::Slice status = after.status();
  const std::string reason = status["reason"].text();
  if (!reason.empty() && !before.status()["reason"]) {
    const About pod{after, after.member("spec")["nodeName"].text()};
    const std::string message = status["message"].text();
    if (message.starts_with(kRejected))
      tell(pod, kWarning, reason, message.substr(kRejected.size()));
    else if (reason == "DeadlineExceeded")
      tell(pod, kNormal, reason, message);
  }
  const std::vector<Container> was = read_containers(before), is = read_containers(after);
  const Container none;
  for (std::size_t i = 0; i < is.size(); ++i) {
    const Container& now = is[i];
    // Ephemeral containers may have been added meanwhile.
    const Container& then = i < was.size() && was[i].name == now.name ? was[i] : none;
    if (now.created && !now.waiting() && (!then.created || now.restarts > then.restarts))
      started(after, now);
    if (now.waiting() && now.reason == "CrashLoopBackOff" && then.reason != now.reason)
      tell(container_of(after, now), kWarning, "BackOff",
           fmt::format("Back-off restarting failed container {} in pod {}_{}({})", now.name,
                       after.name(), after.ns(), after.uid()));
    // Others than those who ended by themselves; who is deleted was told of before.
    const bool ended_by_kubelet = reason == "DeadlineExceeded" || now.role == Role::kSidecar;
    if (then.running() && now.terminated() && ended_by_kubelet && !after.deleting())
      killing(after, now);
  }
}

void KubeletEvents::started(const kube::Object& pod, const Container& container) {
  const About about = container_of(pod, container);
  const std::string image = container.spec["image"].text();
  if (container.spec["imagePullPolicy"].equals("Always")) {
    tell(about, kNormal, "Pulling", fmt::format("Pulling image \"{}\"", image));
    tell(about, kNormal, "Pulled", pulled(image));
  } else {
    tell(about, kNormal, "Pulled",
         fmt::format(
             "Container image \"{}\" already present on machine and can be accessed by the pod",
             image));
  }
  tell(about, kNormal, "Created", "Container created");
  tell(about, kNormal, "Started", "Container started");
}

void KubeletEvents::killing(const kube::Object& pod, const Container& container) {
  tell(container_of(pod, container), kNormal, "Killing",
       fmt::format("Stopping container {}", container.name));
}

void KubeletEvents::pod_stops(const kube::Object& pod) {
  if (!may_tell()) return;
  for (const Container& each : read_containers(pod))
    if (each.running()) killing(pod, each);
}

void KubeletEvents::node_changed(const kube::Object& before, const kube::Object& after) {
  const auto ready = [](const kube::Object& node) {
    return kube::find_condition(node.status(), "Ready")["status"].equals("True");
  };
  if (ready(before) == ready(after) || !may_tell(kForPods)) return;
  const char* const what = ready(after) ? "NodeReady" : "NodeNotReady";
  tell({after, std::string(after.name())}, kNormal, what,
       fmt::format("Node {} status is now: {}", after.name(), what));
}

void KubeletEvents::tell(const About& about, std::string_view type, std::string_view reason,
                         const std::string& message) {
  tokens_ -= 1;  // what belongs together is told together, even where that is one too many
  const kube::Object& object = about.object;
  std::string key = fmt::format("{}\n{}\n{}\n{}", object.uid(), about.field_path, reason, message);
  if (const auto known = told_.find(key); known != told_.end())
    return tell_again(key, known->second);
  const WallTime wall = clock_.wall();
  last_stamp_ = std::max(wall.unix_nanos, last_stamp_ + 1);
  Told told{.ns = object.ns().empty() ? "default" : std::string(object.ns()),
            .name = fmt::format("{}.{:x}", object.name(), last_stamp_)};
  const kube::Kind& kind = kube::kind_of(object.kind());
  json::Writer w;
  w.object().member("metadata").object();
  w.member("name").string(told.name).member("namespace").string(told.ns).end();
  w.member("involvedObject").object().member("kind").string(kind.kind);
  if (!object.ns().empty()) w.member("namespace").string(object.ns());
  w.member("name").string(object.name()).member("uid").string(object.uid());
  w.member("apiVersion").string(kind.api_version());
  w.member("resourceVersion").string(std::to_string(object.revision()));
  if (!about.field_path.empty()) w.member("fieldPath").string(about.field_path);
  w.end();
  w.member("reason").string(reason).member("message").string(message);
  w.member("source").object().member("component").string(kKubelet);
  w.member("host").string(about.node).end();
  w.member("firstTimestamp").string(kube::time_text(wall));
  w.member("lastTimestamp").string(kube::time_text(wall));
  w.member("count").integer(1).member("type").string(type);
  w.member("reportingComponent").string(kKubelet);
  w.member("reportingInstance").string(about.node).end();

  kube::ApiRequest request;
  request.verb = kube::Verb::kCreate;
  request.kind = kube::kCoreEvent;
  request.ns = told.ns;
  request.body.bytes = std::make_shared<const std::string>(w.take());
  request.body.media_type = "application/json";
  if (told_.size() >= kRemembered) {
    told_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(key);
  told_.emplace(std::move(key), std::move(told));
  send_(std::move(request), [](const Result<kube::ApiReply>&) {});
}

// The same thing at the same container, as after a restart: one Event says how often and when last.
void KubeletEvents::tell_again(const std::string& key, Told& told) {
  ++told.count;
  kube::ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = kube::kCoreEvent;
  request.ns = told.ns;
  request.name = told.name;
  request.options.patch_type = kube::PatchType::kMerge;
  request.body.bytes = std::make_shared<const std::string>(fmt::format(
      R"({{"count":{},"lastTimestamp":"{}"}})", told.count, kube::time_text(clock_.wall())));
  request.body.media_type = "application/merge-patch+json";
  // Events do not live for ever; the next one is told anew.
  send_(std::move(request), [this, key](const Result<kube::ApiReply>& reply) {
    if (reply || told_.erase(key) == 0) return;
    order_.erase(std::find(order_.begin(), order_.end(), key));
  });
}

}  // namespace berth::lab
