// SPDX-License-Identifier: Apache-2.0
// One line of a watch.
#pragma once

#include <string>
#include <string_view>

#include "kube/api.h"

namespace berth::kube {

// {"type":"ADDED","object":{…}}. Types that are not known are errors.
Result<WatchEvent> parse_watch_event(KindId, std::string_view line, const json::Limits& = {});
// The same in the other direction, with the line's end.
std::string watch_event_line(const WatchEvent&, KindId);

}  // namespace berth::kube
