// SPDX-License-Identifier: Apache-2.0
// An Event has two forms, one a group, of the same object: fields bear other names, and the newer
// group asks for more.
#pragma once

#include <string_view>

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// How a form names what both have.
struct EventNames {
  std::string_view about, message, source, first, last, count, controller;
};
inline constexpr EventNames kCoreNames = {"involvedObject",    "message",       "source",
                                          "firstTimestamp",    "lastTimestamp", "count",
                                          "reportingComponent"};
inline constexpr EventNames kNewerNames = {"regarding",
                                           "note",
                                           "deprecatedSource",
                                           "deprecatedFirstTimestamp",
                                           "deprecatedLastTimestamp",
                                           "deprecatedCount",
                                           "reportingController"};

// What holds for all events, whichever way they come. k8s 1.36: fields are told by their names in
// core/v1, but for the controller.
void check_event(Edit&, const EventNames&, Findings&);
// What only the newer group asks for.
void check_new_event(Edit&, Findings&);
void check_event_update(Edit&, Findings&);

// Events of the newer group are stored as those of core/v1.
void store_as_core(KindRow&);

}  // namespace berth::apiserver
