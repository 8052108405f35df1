// SPDX-License-Identifier: Apache-2.0
#include "gateway/thesis_dto.h"

#include <utility>

#include "gateway/dto.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/pod_view.h"

namespace berth::gateway {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

template <std::size_t N>
std::string_view named(const Names (&rows)[N], std::string_view ours, std::string_view otherwise) {
  for (const auto& [own, theirs] : rows)
    if (own == ours) return theirs;
  return otherwise;
}

constexpr Names kJobStates[] = {
    {"InQueue", "InQueueState"},     {"Submitted", "SubmittedState"},
    {"Scheduled", "ScheduledState"}, {"Running", "RunningState"},
    {"Completing", "RunningState"},  {"Retrying", "SubmittedState"},
    {"Failing", "FailedState"},      {"PendingDeletion", "PendingDeletion"},
    {"Completed", "CompletedState"}, {"Failed", "FailedState"},
};
constexpr Names kSchedulingStates[] = {
    {"Acquire", "AcquireState"},           {"Submitting", "SubmissionState"},
    {"Confirmation", "ConfirmationState"}, {"AwaitingCompletion", "AwaitingCompletionState"},
    {"Completed", "CompletedState"},       {"Releasing", "FinishedState"},
};
// Five are known of a job in a scheduling: what it has reached at least.
constexpr Names kChips[] = {{"Running", "Scheduled"}, {"Failed", "Scheduled"}};

void member(json::Writer& out, std::string_view name, json::Slice value,
            std::string_view otherwise = "null") {
  out.member(name).raw(value.present() ? value.raw() : otherwise);
}

std::string testbed(json::Slice shown) {
  json::Writer out;
  out.object();
  for (const std::string_view name : {"name", "state", "numberOfNodes", "numberOfSlotsPerNode"})
    member(out, name, shown[name]);
  out.member("slotsByNode").object();
  for (const auto [node, slots] : shown["slotsByNode"].members()) {
    out.member(node).array();
    for (const json::Slice slot : slots.elements()) {
      out.object();
      for (const std::string_view name : {"reservedFor", "state", "podName", "nodeName", "nodeId",
                                          "slotPositionOnNode", "podUId", "position"})
        member(out, name, slot[name]);
      out.end();
    }
    out.end();
  }
  return out.end().end().take();
}

std::string job(json::Slice shown, const kube::Object& object) {
  json::Writer out;
  out.object();
  member(out, "name", shown["name"]);
  std::string_view state = named(kJobStates, shown["state"].text(), "ReadyState");
  if (state == "FailedState" && kube::find_condition(object.status(), "Degraded")["reason"].equals(
                                    kube::reason::kSubmissionFailed))
    state = "FailedSubmissionState";
  out.member("state").string(state);
  member(out, "externalScheduler", shown["externalScheduler"]);
  out.member("scheduledEvents").array();
  for (const json::Slice event : shown["scheduledEvents"].elements()) {
    out.object();
    for (const std::string_view name : {"start", "stop", "successful"})
      member(out, name, event[name]);
    out.member("scheduling");
    if (const std::string by = event["scheduling"].text(); by.empty())
      out.null();
    else
      out.object().member("namespace").string(object.ns()).member("name").string(by).end();
    out.end();
  }
  return out.end().end().take();
}

std::string scheduling(json::Slice shown, const kube::Object& object) {
  json::Writer out;
  out.object();
  member(out, "name", shown["name"]);
  const bool failed = kube::find_condition(object.status(), "Progressing")["reason"].equals(
      kube::reason::kJobFailed);
  out.member("state").string(
      failed ? "FailedState" : named(kSchedulingStates, shown["state"].text(), "InitialState"));
  out.member("jobStatus").array();
  for (const json::Slice one : shown["jobStatus"].elements()) {
    const std::string state = one["state"].text();
    out.object();
    member(out, "name", one["name"]);
    out.member("state").string(named(kChips, state, state)).end();
  }
  out.end();
  for (const std::string_view name : {"testBed", "queue", "slots"}) member(out, name, shown[name]);
  return out.end().take();
}

}  // namespace

std::string thesis_dto(Topic topic, const kube::Object& object) {
  const std::string shown = dto(topic, object);
  switch (topic) {
    case Topic::kTestbeds:
      return testbed(json::Slice(shown));
    case Topic::kJobs:
      return job(json::Slice(shown), object);
    case Topic::kSchedulings:
      break;
  }
  return scheduling(json::Slice(shown), object);
}

}  // namespace berth::gateway
