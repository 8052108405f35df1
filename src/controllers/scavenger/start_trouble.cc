// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/start_trouble.h"

#include <fmt/format.h>

#include "kube/event_view.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using json::Slice;
using kube::Object;

constexpr const char* kRefusals = "refused pods";

WallTime time_or_creation(Slice time, const Object& object) {
  return kube::parse_time(time.text()).value_or(object.created().value_or(WallTime{}));
}

// Of those that no scheduler has placed, the one that waits for the longest.
std::optional<StartTrouble> unplaced(const AttemptSight& sight, Duration grace) {
  std::optional<StartTrouble> out;
  for (const Object* pod : sight.pods) {
    const kube::PodView view(*pod);
    if (view.assigned() || view.finished()) continue;
    const Slice scheduled = view.condition("PodScheduled");
    const WallTime since = time_or_creation(scheduled["lastTransitionTime"], *pod);
    if (out && out->since <= since) continue;
    const std::string why =
        scheduled.present() ? scheduled["message"].text()
                            : fmt::format("no scheduler has looked at it; is there one named {}?",
                                          view.scheduler_name());
    out = StartTrouble{.why = fmt::format("pod {} found no place within {}: {}", pod->name(),
                                          kube::duration_text(grace), why),
                       .since = since};
  }
  return out;
}

// One whose kubelet says that a container cannot begin: no image, no key of a ConfigMap, no such
// command. It says so of its own accord, so one that only takes long is not meant.
std::optional<StartTrouble> cannot_begin(const AttemptSight& sight) {
  for (const Object* pod : sight.pods) {
    const kube::PodView view(*pod);
    if (!view.assigned() || view.finished() || pod->deleting()) continue;
    for (const char* list : {"initContainerStatuses", "containerStatuses"})
      for (const Slice one : pod->status()[list].elements()) {
        const Slice waiting = one["state"]["waiting"];
        const std::string why = waiting["reason"].text(), more = waiting["message"].text();
        // k8s 1.36: what a kubelet says as long as nothing is wrong.
        if (why.empty() || why == "ContainerCreating" || why == "PodInitializing") continue;
        return StartTrouble{.why = fmt::format("pod {} cannot begin: {}{}{}", pod->name(), why,
                                               more.empty() ? "" : ": ", more),
                            .since = time_or_creation(pod->status()["startTime"], *pod),
                            .sure = true};
      }
  }
  return std::nullopt;
}

std::string last_refusal(const std::vector<Object>& events, const Object& job) {
  std::optional<WallTime> last;
  std::string why;
  for (const Object& event : events) {
    const kube::EventView view(event);
    if (view.reason() != "FailedCreate" || !view.regarding()["uid"].equals(job.uid())) continue;
    const auto seen = view.last_seen();
    if (last && (!seen || *seen < *last)) continue;
    last = seen;
    why = view.note();
  }
  return why;
}

// Somebody refuses its pods, which is said in Events only, of a Job that will be gone.
StartTrouble without_pods(const runtime::View& view, const AttemptSight& sight, Duration grace,
                          WallTime now, runtime::Plan& plan) {
  const Object& job = *sight.job;
  StartTrouble out{.since = job.created().value_or(now)};
  const runtime::Answer* told = view.answer(kRefusals);
  if (told == nullptr && now >= out.since + grace) {
    kube::ApiRequest list;
    list.verb = kube::Verb::kList;
    list.kind = kube::kEvent;
    list.ns = job.ns();
    list.options.field_selector = fmt::format("regarding.name={}", job.name());
    plan.ask(kRefusals, std::move(list));
    out.asked = true;
    return out;
  }
  const std::string why = told != nullptr ? last_refusal(told->objects, job) : std::string();
  out.why = fmt::format("{} {} made {} of {} pods{}{}", kube::kind_of(job.kind()).kind, job.name(),
                        sight.pods.size(), sight.members, why.empty() ? "" : ": ", why);
  return out;
}

}  // namespace

std::optional<StartTrouble> start_trouble(const runtime::View& view, const AttemptSight& sight,
                                          Duration grace, WallTime now, runtime::Plan& plan) {
  if (auto trouble = unplaced(sight, grace)) return trouble;
  if (auto trouble = cannot_begin(sight)) return trouble;
  if (sight.job == nullptr || static_cast<int>(sight.pods.size()) >= sight.members)
    return std::nullopt;
  return without_pods(view, sight, grace, now, plan);
}

}  // namespace berth::controllers
