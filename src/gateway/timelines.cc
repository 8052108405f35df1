// SPDX-License-Identifier: Apache-2.0
#include "gateway/timelines.h"

#include <charconv>

#include <fmt/format.h>

#include "controllers/diagnosis.h"
#include "gateway/replies.h"
#include "json/writer.h"
#include "kube/ours/scheduling_view.h"

namespace berth::gateway {
namespace {

constexpr std::size_t kMostWaiting = 32;

Error no_testbed(const kube::Key& key) {
  return {.reason = Reason::kNotFound,
          .message = fmt::format("testbeds.{} {} not found", kGroup, json::quoted(key.name))};
}

}  // namespace

Timelines::Timelines(Scope& scope, const Feeds& feeds, const SlotFeeds& slots, Runtime* runtime)
    : scope_(scope), feeds_(feeds), slots_(slots), runtime_(runtime) {}

Result<Ok> Timelines::ready() const {
  if (slots_.synced()) return Ok{};
  return tl::unexpected(Error{
      .reason = Reason::kServiceUnavailable,
      .message = "the gateway has not seen nodes, pods and slotledgers yet: may it list them?",
      .retry_after = 1s});
}

void Timelines::ask(const kube::Key& testbed, Done<Reply> done) {
  if (const auto seen = ready(); !seen) return done(tl::unexpected(seen.error()));
  if (!feeds_.of(Topic::kTestbeds).has(testbed)) return done(tl::unexpected(no_testbed(testbed)));
  put(timeline_question(runtime::View(slots_), testbed, {}, now()), std::move(done));
}

void Timelines::ask_with(const kube::Object& draft, Done<Reply> done) {
  if (const auto seen = ready(); !seen) return done(tl::unexpected(seen.error()));
  const WithDraft objects(slots_, draft);
  put(timeline_question(
          runtime::View(objects), kube::SchedulingView(draft).testbed(),
          {.scheduling = &draft, .replaces = feeds_.of(Topic::kSchedulings).has(draft.key())},
          now()),
      std::move(done));
}

void Timelines::put(Result<TimelineQuestion> question, Done<Reply> done) {
  if (!question) return done(tl::unexpected(question.error()));
  if (waiting_.size() >= kMostWaiting)
    return done(tl::unexpected(
        Error{.reason = Reason::kTooManyRequests,
              .message = "too many forecasts are being worked out; try again in a moment",
              .retry_after = 1s}));
  question->cursor = feeds_.ring().now().text();
  waiting_.push_back(
      {std::make_shared<const TimelineQuestion>(*std::move(question)), std::move(done)});
  work();
}

// One at a time: whoever asks for many waits for them, not the others.
void Timelines::work() {
  if (working_ || waiting_.empty()) return;
  Asked asked = std::move(waiting_.front());
  waiting_.pop_front();
  if (runtime_ == nullptr) {
    asked.done(json_reply(timeline_json(*asked.question)));
    return work();
  }
  working_ = true;
  auto answer = std::make_shared<std::string>();
  auto finished = std::make_shared<Done<Ok>>(scope_.done<Ok>(
      kNoLimit, [this, answer, done = std::move(asked.done)](const Result<Ok>& ran) mutable {
        working_ = false;
        if (ran)
          done(json_reply(std::move(*answer)));
        else
          done(tl::unexpected(ran.error()));
        work();
      }));
  runtime_->offload(
      scope_.executor(),
      [question = asked.question, answer] { *answer = timeline_json(*question); },
      [finished] { (*finished)(Ok{}); });
}

Result<Reply> Timelines::slots(const kube::Key& key) const {
  if (const auto seen = ready(); !seen) return tl::unexpected(seen.error());
  const kube::Object* testbed = feeds_.of(Topic::kTestbeds).get(key);
  if (testbed == nullptr) return tl::unexpected(no_testbed(key));
  auto slots = slots_json(runtime::View(slots_), *testbed, now());
  if (!slots) return tl::unexpected(slots.error());
  json::Writer out;
  out.object().member("name").string(key.name).member("namespace").string(key.ns);
  out.member("resourceVersion").string(std::to_string(testbed->revision()));
  out.member("cursor").string(feeds_.ring().now().text()).member("slots").raw(*slots);
  return json_reply(out.end().take());
}

namespace {

Result<Reply> told(const Result<controllers::Diagnosis>& said) {
  if (!said) return tl::unexpected(said.error());
  return json_reply(controllers::diagnosis_json(*said));
}

}  // namespace

Result<Reply> Timelines::explain(Topic topic, const kube::Key& key) const {
  if (const auto seen = ready(); !seen) return tl::unexpected(seen.error());
  const runtime::View view(slots_);
  switch (topic) {
    case Topic::kTestbeds:
      return told(controllers::diagnose_testbed(view, key, now()));
    case Topic::kJobs:
      return told(controllers::diagnose_job(view, key, now()));
    case Topic::kSchedulings:
      break;
  }
  return told(controllers::diagnose_scheduling(view, key, now()));
}

Result<Reply> Timelines::explain_slot(const kube::Key& testbed, std::string_view number) const {
  if (const auto seen = ready(); !seen) return tl::unexpected(seen.error());
  slots::SlotNumber slot = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, problem] = std::from_chars(number.data(), end, slot);
  if (problem != std::errc() || stop != end)
    return fail(Reason::kNotFound, fmt::format("{} is no slot's number", json::quoted(number)));
  return told(controllers::diagnose_slot(runtime::View(slots_), testbed, slot, now()));
}

}  // namespace berth::gateway
