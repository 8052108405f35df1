// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <fmt/format.h>

#include "json/cursor.h"
#include "kube/status.h"

namespace berth::kube {
namespace {

using Type = WatchEvent::Type;
constexpr std::pair<std::string_view, Type> kTypes[] = {{"ADDED", Type::kAdded},
                                                        {"MODIFIED", Type::kModified},
                                                        {"DELETED", Type::kDeleted},
                                                        {"BOOKMARK", Type::kBookmark},
                                                        {"ERROR", Type::kError}};
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

}  // namespace

Result<WatchEvent> parse_watch_event(KindId kind, std::string_view line,
                                     const json::Limits& limits) {
  const auto refuse = [kind](std::string_view what) {
    return fail(Reason::kBadRequest,
                fmt::format("watch event of {}: {}", kind_of(kind).plural, what));
  };
  json::Cursor cursor(line, limits);
  std::string scratch;
  std::string_view object;
  std::optional<Type> type;
  if (cursor.enter_object())
    for (std::string_view key; cursor.next_key(key);) {
      if (json::key_is(key, "type")) {
        const std::string_view name = cursor.string(scratch);
        for (const auto& [text, value] : kTypes)
          if (text == name) type = value;
        if (!type && cursor.ok()) return refuse(fmt::format("unknown type \"{}\"", name));
      } else if (json::key_is(key, "object")) {
        object = cursor.skip();
      } else {
        cursor.skip();
      }
    }
  if (!cursor.finish()) return refuse(cursor.error().message);
  if (!type || object.empty()) return refuse("type and object must be set");

  WatchEvent event;
  event.type = *type;
  if (*type == Type::kError) {
    event.error = error_from_status(json::Slice(object));
    return event;
  }
  Result<Object> parsed = Object::parse(kind, object, limits);
  if (!parsed) return refuse(parsed.error().message);
  event.revision = parsed->revision();
  if (*type == Type::kBookmark)
    event.initial_events_end = parsed->annotations()[kInitialEventsEnd].equals("true");
  else
    event.object = std::move(*parsed);
  return event;
}

std::string watch_event_line(const WatchEvent& event, KindId kind) {
  std::string_view type;
  for (const auto& [text, value] : kTypes)
    if (value == event.type) type = text;
  std::string object;
  if (event.type == Type::kError) {
    object = status_json(event.error.value_or(Error{}));
  } else if (event.type == Type::kBookmark) {
    object = fmt::format(
        R"({},"metadata":{{"resourceVersion":"{}","creationTimestamp":null{}}}}})", json_head(kind),
        event.revision,
        event.initial_events_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
  } else {
    object = event.object.json();
  }
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

}  // namespace berth::kube
