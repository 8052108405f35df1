// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/event_cells.h"

#include "apiserver/kinds/cells.h"

namespace berth::apiserver {
namespace {

// The field by its name in core/v1, or else by that in events.k8s.io/v1.
json::Slice field(const kube::Object& event, std::string_view core, std::string_view newer) {
  const json::Slice found = event.member(core);
  return found && !found.is_null() ? found : event.member(newer);
}

std::string first_seen(const kube::Object& event, WallTime now) {
  const json::Slice first = field(event, "firstTimestamp", "deprecatedFirstTimestamp");
  return since(first.text().empty() ? event.member("eventTime") : first, now);
}

std::string last_seen(const kube::Object& event, WallTime now) {
  const json::Slice series = event.member("series");
  if (series && !series.is_null()) return since(series["lastObservedTime"], now);
  const json::Slice last = field(event, "lastTimestamp", "deprecatedLastTimestamp");
  return last.text().empty() ? first_seen(event, now) : since(last, now);
}

void count_seen(const kube::Object& event, WallTime, json::Writer& w) {
  const json::Slice series = event.member("series");
  std::int64_t count = field(event, "count", "deprecatedCount").integer().value_or(0);
  if (series && !series.is_null())
    count = series["count"].integer().value_or(0);
  else if (count == 0)
    count = 1;
  w.integer(count);
}

json::Slice about(const kube::Object& event) { return field(event, "involvedObject", "regarding"); }

std::string object(const kube::Object& event) {
  std::string kind = about(event)["kind"].text();
  for (char& c : kind)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::string name = about(event)["name"].text();
  return name.empty() ? kind : kind + "/" + name;
}

std::string source(const kube::Object& event) {
  const json::Slice from = field(event, "source", "deprecatedSource");
  std::string component = from["component"].text(), host = from["host"].text();
  if (component.empty())
    component = field(event, "reportingComponent", "reportingController").text();
  if (host.empty()) host = event.member("reportingInstance").text();
  return host.empty() ? component : component + ", " + host;
}

std::string message(const kube::Object& event) {
  const std::string text = field(event, "message", "note").text();
  const std::size_t from = text.find_first_not_of(" \t\n\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\n\r") - from + 1);
}

}  // namespace

Kind& event_columns(Kind& kind) {
  kind.column("Last Seen", shown_at(&last_seen))
      .column("Type", text("type"))
      .column("Reason", text("reason"))
      .column("Object", shown(&object))
      .wide("Subobject", shown([](const kube::Object& e) { return about(e)["fieldPath"].text(); }))
      .wide("Source", shown(&source))
      .column("Message", shown(&message))
      .wide("First Seen", shown_at(&first_seen))
      .wide("Count", &count_seen)
      .wide("Name", text("metadata.name"));
  return kind.format_last("name");
}

}  // namespace berth::apiserver
