// SPDX-License-Identifier: Apache-2.0
#include "gateway/dto.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/ours/batch_job_view.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scheduling_view.h"
#include "kube/time.h"

namespace berth::gateway {
namespace {

tl::unexpected<Error> bad(std::string why) { return fail(Reason::kBadRequest, std::move(why)); }

std::string state_of(const kube::Object& object, std::string_view otherwise) {
  const std::string state = object.status()["state"].text();
  return state.empty() ? std::string(otherwise) : state;
}

void begin(json::Writer& out, const kube::Object& object, std::string_view state_otherwise) {
  out.object().member("name").string(object.name());
  out.member("namespace").string(object.ns());
  out.member("resourceVersion").string(std::to_string(object.revision()));
  out.member("state").string(state_of(object, state_otherwise));
}

// As they stand, and what to do about each that says something is wrong.
void conditions(json::Writer& out, const kube::Object& object) {
  const json::Slice all = object.status()["conditions"];
  if (!all.is_array()) return;
  const std::string& kind = kube::kind_of(object.kind()).kind;
  out.member("conditions").array();
  for (const json::Slice each : all.elements()) {
    out.object();
    for (const auto [key, value] : each.members()) out.member(key).raw(value.raw());
    if (const auto remedy = kube::remedy_for(kind, each["reason"].text()); !remedy.empty())
      out.member("remedy").string(remedy);
    out.end();
  }
  out.end();
}

void end(json::Writer& out, const kube::Object& object) {
  if (const auto created = object.created())
    out.member("created").string(kube::time_text(*created));
  conditions(out, object);
  if (object.deleting()) out.member("deleting").boolean(true);
  out.end();
}

// A member as it stands, or `otherwise`.
void copy(json::Writer& out, std::string_view key, json::Slice value, std::string_view otherwise) {
  out.member(key).raw(value.present() ? value.raw() : otherwise);
}

// How far a job has come; the thesis' clients see only the furthest of several states.
int progress(std::string_view state) {
  constexpr std::string_view kOrder[] = {"Acquiring", "InQueue", "Submitted", "Scheduled",
                                         "Running",   "Failed",  "Completed"};
  const auto* const at = std::find(std::begin(kOrder), std::end(kOrder), state);
  return at == std::end(kOrder) ? -1 : static_cast<int>(at - std::begin(kOrder));
}

void job_status(json::Writer& out, json::Slice states) {
  std::vector<std::pair<std::string, std::string>> jobs;  // in the order of their first entry
  for (const json::Slice each : states.elements()) {
    const json::Slice name = each["name"];
    std::string job = name.is_object() ? name["name"].text() : name.text();
    std::string state = each["state"].text();
    const auto at = std::find_if(jobs.begin(), jobs.end(),
                                 [&](const auto& known) { return known.first == job; });
    if (at == jobs.end())
      jobs.emplace_back(std::move(job), std::move(state));
    else if (progress(state) > progress(at->second))
      at->second = std::move(state);
  }
  out.member("jobStatus").array();
  for (const auto& [job, state] : jobs)
    out.object().member("name").string(job).member("state").string(state).end();
  out.end();
}

bool blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

void reference(json::Writer& out, std::string_view name, std::string_view ns) {
  out.object().member("name").string(name).member("namespace").string(ns).end();
}

Result<Ok> queue_from(json::Writer& out, json::Slice queue, std::string_view ns) {
  if (!queue.is_array()) return bad("queue: must be a list of names");
  out.member("queueBased").array();
  for (const json::Slice each : queue.elements()) {
    if (!each.is_string() || blank(each.text())) return bad("queue: every entry must be a name");
    reference(out, each.text(), ns);
  }
  out.end();
  return Ok{};
}

Result<Ok> slots_from(json::Writer& out, json::Slice slots, std::string_view ns) {
  const std::string mode = slots["mode"].text();
  if (blank(mode)) return bad("slots.mode: must not be blank; write strict or relaxed");
  if (!slots["jobs"].is_array()) return bad("slots.jobs: must be a list");
  std::string lower = mode;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  out.member("slotBased").object().member("mode").string(lower).member("jobs").array();
  for (const json::Slice job : slots["jobs"].elements()) {
    if (blank(job["name"].text())) return bad("slots.jobs.name: must not be blank");
    if (!job["slots"].is_array() || job["slots"].size() == 0)
      return bad("slots.jobs.slots: must be a list of slot numbers");
    out.object().member("name");
    reference(out, job["name"].text(), ns);
    out.member("slotIds").array();
    for (const json::Slice slot : job["slots"].elements()) {
      const auto number = slot.integer();
      if (!number || *number < 0) return bad("slots.jobs.slots: a slot is a number from 0");
      out.integer(*number);
    }
    out.end().end();
  }
  out.end().end();
  return Ok{};
}

}  // namespace

std::string testbed_dto(const kube::Object& testbed) {
  const json::Slice slots = testbed.status()["slots"];
  const std::int64_t per_node = testbed.member("spec")["slotsPerNode"].integer().value_or(0);
  std::map<std::string, std::vector<json::Slice>> by_node;
  for (const json::Slice slot : slots.elements()) by_node[slot["nodeName"].text()].push_back(slot);
  json::Writer out;
  begin(out, testbed, "INITIAL");
  out.member("numberOfNodes")
      .integer(
          testbed.status()["nodes"].integer().value_or(static_cast<std::int64_t>(by_node.size())));
  out.member("numberOfSlotsPerNode").integer(per_node);
  out.member("slotsByNode").object();
  for (const auto& [node, own] : by_node) {
    out.member(node).array();
    for (const json::Slice slot : own) out.raw(slot.raw());
    out.end();
  }
  out.end();
  for (const std::string_view key :
       {"slotsOmitted", "slotCounts", "size", "nodeProblems", "problems", "idleSince", "held"})
    if (const json::Slice said = testbed.status()[key]) out.member(key).raw(said.raw());
  for (const std::string_view key : {"sharing", "resourcesPerSlot", "nodeLabel", "classes"})
    if (const json::Slice said = testbed.member("spec")[key]) out.member(key).raw(said.raw());
  end(out, testbed);
  return out.take();
}

namespace {

std::string application_of(json::Slice spec) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"sparkSpec", "SparkApplication"},
      {"flinkSpec", "FlinkDeployment"},
      {"flinkClusterSpec", "FlinkCluster"},
      {"jobSpec", "Job"}};
  for (const auto& [member, kind] : kKinds)
    if (spec[member]) return std::string(kind);
  return spec["application"]["kind"].text();
}

// The run that is open, in the words of the history.
void open_run(json::Writer& out, const kube::BatchJobView& job) {
  if (!job.open()) return;
  out.member("run").object().member("run").integer(job.run());
  if (const json::Slice slots = job.status()["slotIds"]) out.member("slotIds").raw(slots.raw());
  if (const json::Slice testbed = job.status()["slots"]) out.member("testbed").raw(testbed.raw());
  constexpr std::pair<std::string_view, std::string_view> kTold[] = {{"startTime", "start"},
                                                                     {"submittedTime", "submitted"},
                                                                     {"attempt", "attempt"},
                                                                     {"replication", "replication"},
                                                                     {"pods", "pods"}};
  for (const auto& [member, name] : kTold)
    if (const json::Slice said = job.status()[member]) out.member(name).raw(said.raw());
  out.end();
}

// How much of a Scheduling is done.
void progress_of(json::Writer& out, const kube::SchedulingView& view) {
  std::size_t entries = view.queue().size(), used = 0;
  for (const kube::SchedulingView::Placed& each : view.placed()) entries += each.slots.size();
  std::int64_t completed = 0;
  const std::vector<kube::Key> jobs = view.jobs();
  for (const kube::Key& job : jobs) {
    const kube::SchedulingView::JobState state = view.job(job);
    used += state.used;
    completed += state.state == "Completed" ? 1 : 0;
  }
  out.member("progress").object();
  out.member("jobs").integer(static_cast<std::int64_t>(jobs.size()));
  out.member("completed").integer(completed);
  out.member("entries").integer(static_cast<std::int64_t>(entries));
  out.member("used").integer(static_cast<std::int64_t>(used)).end();
}

}  // namespace

std::string job_dto(const kube::Object& job) {
  json::Writer out;
  begin(out, job, "Ready");
  copy(out, "externalScheduler", job.member("spec")["externalScheduler"], "{}");
  copy(out, "scheduledEvents", job.status()["scheduledEvents"], "[]");
  const json::Slice claim = job.member("spec")["activeScheduling"];
  if (claim.is_object()) out.member("activeScheduling").raw(claim.raw());
  out.member("kind").string(application_of(job.member("spec")));
  for (const std::string_view key : {"estimatedSeconds", "slotClass"})
    if (const json::Slice said = job.member("spec")[key]) out.member(key).raw(said.raw());
  open_run(out, kube::BatchJobView(job));
  end(out, job);
  return out.take();
}

std::string scheduling_dto(const kube::Object& scheduling) {
  const json::Slice spec = scheduling.member("spec");
  json::Writer out;
  begin(out, scheduling, "Acquire");
  job_status(out, scheduling.status()["jobStates"]);
  out.member("testBed").string(spec["testbed"]["name"].text());
  out.member("queue");
  if (const json::Slice queue = spec["queueBased"]; queue.is_array()) {
    out.array();
    for (const json::Slice each : queue.elements()) out.string(each["name"].text());
    out.end();
  } else {
    out.null();
  }
  out.member("slots");
  if (const json::Slice slots = spec["slotBased"]; slots.is_object()) {
    out.object().member("mode").string(slots["mode"].text()).member("jobs").array();
    for (const json::Slice job : slots["jobs"].elements()) {
      out.object().member("name").string(job["name"]["name"].text());
      copy(out, "slots", job["slotIds"], "[]");
      out.end();
    }
    out.end().end();
  } else {
    out.null();
  }
  for (const std::string_view key : {"acquiredTime", "completionTime", "jobStates"})
    if (const json::Slice said = scheduling.status()[key]) out.member(key).raw(said.raw());
  progress_of(out, kube::SchedulingView(scheduling));
  end(out, scheduling);
  return out.take();
}

std::string dto(Topic topic, const kube::Object& object) {
  switch (topic) {
    case Topic::kTestbeds:
      return testbed_dto(object);
    case Topic::kJobs:
      return job_dto(object);
    case Topic::kSchedulings:
      break;
  }
  return scheduling_dto(object);
}

Result<WantedScheduling> scheduling_from(std::string_view body, std::string_view ns,
                                         std::string_view requested_by) {
  if (Result<Ok> good = json::check(body); !good) return bad(good.error().message);
  const json::Slice wanted(body);
  const std::string name = wanted["name"].text(), testbed = wanted["testBed"].text();
  if (!wanted.is_object() || blank(name)) return bad("name: must not be blank");
  if (blank(testbed)) return bad("testBed: must not be blank");
  const json::Slice queue = wanted["queue"], slots = wanted["slots"];
  const bool has_queue = queue && !queue.is_null(), has_slots = slots && !slots.is_null();
  if (has_queue == has_slots) return bad("exactly one of queue and slots must be given");
  const auto written = [&](bool patch) -> Result<std::string> {
    json::Writer out;
    out.object();
    if (!patch)
      out.member("apiVersion")
          .string(fmt::format("{}/v1alpha1", kGroup))
          .member("kind")
          .string("Scheduling");
    out.member("metadata").object();
    if (!patch) out.member("name").string(name).member("namespace").string(ns);
    out.member("annotations").object().member("berth.dev/requested-by").string(requested_by).end();
    out.end().member("spec").object().member("testbed");
    reference(out, testbed, ns);
    const Result<Ok> strategy = has_queue ? queue_from(out, queue, ns) : slots_from(out, slots, ns);
    if (!strategy) return tl::unexpected(strategy.error());
    if (patch) out.member(has_queue ? "slotBased" : "queueBased").null();
    for (const std::string_view key : {"onFailure", "ttlSecondsAfterFinished"})
      if (const json::Slice value = wanted[key]; value && !value.is_null())
        out.member(key).raw(value.raw());
    return out.end().end().take();
  };
  auto manifest = written(false), patch = written(true);
  if (!manifest) return tl::unexpected(manifest.error());
  return WantedScheduling{name, testbed, *std::move(manifest), *std::move(patch)};
}

Result<JobData> job_data_from(std::string_view body) {
  if (Result<Ok> good = json::check(body); !good) return bad(good.error().message);
  const json::Slice wanted(body);
  JobData data{wanted["name"].text(), std::string(wanted["externalScheduler"].raw())};
  if (!wanted.is_object() || blank(data.name)) return bad("name: must not be blank");
  if (data.external_scheduler.empty()) data.external_scheduler = "null";
  if (data.external_scheduler != "null" && !wanted["externalScheduler"].is_object())
    return bad("externalScheduler: must be an object");
  return data;
}

namespace {

void run(json::Writer& out, const kube::Object& job, json::Slice event, std::int64_t index) {
  out.object().member("index").integer(index).member("job").string(job.name());
  out.member("namespace").string(job.ns());
  for (const auto [key, value] : event.members()) out.member(key).raw(value.raw());
  out.end();
}

}  // namespace

std::string runs_dto(const kube::Object& job) {
  json::Writer out;
  out.array();
  std::int64_t index = 0;
  for (const json::Slice event : job.status()["scheduledEvents"].elements())
    run(out, job, event, index++);
  return out.end().take();
}

Result<std::string> run_dto(const kube::Object& job, std::string_view index) {
  std::size_t at = 0;
  const char* const end = index.data() + index.size();
  const auto [stop, problem] = std::from_chars(index.data(), end, at);
  const json::Slice events = job.status()["scheduledEvents"];
  if (problem != std::errc() || stop != end || at >= events.size())
    return fail(Reason::kNotFound,
                fmt::format("job {} has {} runs; there is no run {}", json::quoted(job.name()),
                            events.size(), json::quoted(index)));
  json::Writer out;
  run(out, job, events[at], static_cast<std::int64_t>(at));
  return out.take();
}

}  // namespace berth::gateway
