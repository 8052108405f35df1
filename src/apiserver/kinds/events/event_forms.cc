// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/events/event_forms.h"

#include <fmt/format.h>

#include "apiserver/edit/conform.h"
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kMostText = 128, kMostNote = 1024;

using Pair = std::pair<std::string_view, std::string_view>;
constexpr Pair kRenamed[] = {
    {kCoreNames.about, kNewerNames.about},
    {kCoreNames.message, kNewerNames.message},
    {kCoreNames.source, kNewerNames.source},
    {kCoreNames.first, kNewerNames.first},
    {kCoreNames.last, kNewerNames.last},
    {kCoreNames.count, kNewerNames.count},
    {kCoreNames.controller, kNewerNames.controller},
};

void rename(json::Dict& document, bool to_core) {
  for (const auto& [core, newer] : kRenamed) {
    const std::string_view from = to_core ? newer : core, to = to_core ? core : newer;
    json::Value* found = document.if_contains(bj(from));
    if (found == nullptr) continue;
    json::Value value = std::move(*found);
    json::erase(document, from);
    document[bj(to)] = std::move(value);
  }
}

// What is written even when it is empty differs between the two.
void conform_to(json::Dict& document, kube::KindId kind) {
  json::Value whole(std::move(document));
  // Both forms have the same types under other names, so this cannot fail.
  const Result<Conformed> done = conform(whole, *kube::schema_of(kind));
  static_cast<void>(done);
  document = std::move(whole.as_object());
}

Result<kube::Object> newer_form(const kube::Object& stored) {
  json::Arena arena;
  json::Value document = json::parse_good(stored.json(), arena);
  json::Dict& members = document.as_object();
  for (const std::string_view head : {"kind", "apiVersion"}) json::erase(members, head);
  rename(members, false);
  conform_to(members, kube::kEvent);
  return Edit(kube::kEvent, std::move(document), arena).commit(0);
}

void check_length(Peek value, std::string_view field, std::size_t most, Findings& findings) {
  if (value.text().size() > most)
    findings.invalid(Path(field), "", fmt::format("can have at most {} characters", most));
}

void check_series(Peek series, Findings& findings) {
  if (!series) return;
  if (series["count"].integer_or(0) < 2)
    findings.invalid(Path("series.count"), "", "should be at least 2");
  if (!series["lastObservedTime"]) findings.required(Path("series.lastObservedTime"));
}

}  // namespace

void check_event(Edit& edit, const EventNames& names, Findings& findings) {
  const Peek event(edit.body());
  const std::string_view ns = Peek(edit.metadata())["namespace"].text();
  const std::string_view about = event[names.about]["namespace"].text();
  const auto elsewhere = [&] {
    findings.invalid(Path("involvedObject") / "namespace", about, "does not match event.namespace");
  };
  if (!event["eventTime"]) {
    if (about.empty() ? ns != "default" : about != ns) elsewhere();
    return;
  }
  // Events with a time of their own are of the newer kind.
  if (about.empty() && ns != "default" && ns != "kube-system") elsewhere();
  const Path controller(names.controller);
  const std::string_view by = event[names.controller].text();
  if (by.empty()) findings.required(controller);
  must_be(&kube::check_qualified_name, by, controller, findings);
  if (event["reportingInstance"].text().empty()) findings.required(Path("reportingInstance"));
  check_length(event["reportingInstance"], "reportingInstance", kMostText, findings);
  if (event["action"].text().empty()) findings.required(Path("action"));
  check_length(event["action"], "action", kMostText, findings);
  if (event["reason"].text().empty()) findings.required(Path("reason"));
  check_length(event["reason"], "reason", kMostText, findings);
  check_length(event[names.message], "message", kMostNote, findings);
}

void check_new_event(Edit& edit, Findings& findings) {
  const Peek event(edit.body());
  check_series(event["series"], findings);
  if (!event["eventTime"]) findings.required(Path("eventTime"));
  const std::string_view type = event["type"].text();
  if (type != "Normal" && type != "Warning")
    findings.invalid(Path("type"), "", fmt::format("has invalid value: {}", type));
  if (event[kNewerNames.first]) findings.invalid(Path("firstTimestamp"), "", "needs to be unset");
  if (event[kNewerNames.last]) findings.invalid(Path("lastTimestamp"), "", "needs to be unset");
  if (event[kNewerNames.count].integer_or(0) != 0)
    findings.invalid(Path("count"), "", "needs to be unset");
  if (event[kNewerNames.source].size() > 0)
    findings.invalid(Path("source"), "", "needs to be unset");
}

void check_event_update(Edit& edit, Findings& findings) {
  const Peek now(edit.body()), was = edit.was_body();
  if (!same(now["series"], was["series"])) check_series(now["series"], findings);
  const Pair fields[] = {{kNewerNames.about, "involvedObject"},
                         {"reason", "reason"},
                         {kNewerNames.message, "message"},
                         {kNewerNames.source, "source"},
                         {kNewerNames.first, "firstTimestamp"},
                         {kNewerNames.last, "lastTimestamp"},
                         {kNewerNames.count, "count"},
                         {"type", "type"},
                         {"eventTime", "eventTime"},
                         {"action", "action"},
                         {"related", "related"},
                         {"reportingController", "reportingController"},
                         {"reportingInstance", "reportingInstance"}};
  for (const auto& [field, told] : fields) {
    if (same(now[field], was[field])) continue;
    const json::Value* value = now[field].value();
    findings.invalid(Path(told), value == nullptr ? Shown("") : Shown::raw(json::print(*value)),
                     "field is immutable");
  }
}

void store_as_core(KindRow& row) {
  row.stored_as = kube::kCoreEvent;
  row.from_stored = &newer_form;
  row.to_stored = [](json::Dict& document) {
    rename(document, true);
    conform_to(document, kube::kCoreEvent);
  };
}

}  // namespace berth::apiserver
