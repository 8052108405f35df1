// SPDX-License-Identifier: Apache-2.0
// What the suite reads of an Event, in either of its two forms (core/v1, events.k8s.io/v1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/object.h"
#include "kube/time.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class EventView {
 public:
  explicit EventView(Object event) : event_(std::move(event)) {}

  const Object& object() const { return event_; }
  std::string type() const { return event_.member("type").text(); }  // Normal, Warning
  std::string reason() const { return event_.member("reason").text(); }
  std::string note() const { return either("note", "message").text(); }
  std::string action() const { return event_.member("action").text(); }
  json::Slice regarding() const { return either("regarding", "involvedObject"); }
  json::Slice related() const { return event_.member("related"); }
  std::string controller() const {
    const std::string name = either("reportingController", "reportingComponent").text();
    return name.empty() ? either("deprecatedSource", "source")["component"].text() : name;
  }
  // How often it was seen: the series counts, where there is one.
  std::int64_t count() const {
    if (const auto series = event_.member("series")["count"].integer()) return *series;
    return either("deprecatedCount", "count").integer().value_or(1);
  }
  std::optional<WallTime> last_seen() const {
    for (const json::Slice time :
         {event_.member("series")["lastObservedTime"],
          either("deprecatedLastTimestamp", "lastTimestamp"), event_.member("eventTime")})
      if (const auto parsed = parse_time(time.text())) return parsed;
    return event_.created();
  }

 private:
  json::Slice either(std::string_view newer, std::string_view core) const {
    const json::Slice found = event_.member(newer);
    return found ? found : event_.member(core);
  }
  Object event_;
};

}  // namespace berth::kube
