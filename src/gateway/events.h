// SPDX-License-Identifier: Apache-2.0
// How a change is told, whatever carries it.
#pragma once

#include <string>

#include "gateway/feeds.h"

namespace berth::gateway {

// {"kind":"jobs","action":"ADDED","seq":812,"resource":{…}}
std::string event_json(Topic, ObjectChange::Action, const kube::Object&);
// The thesis' form: {"action":"ADDED","resource":…}, which is the name alone or the whole object.
std::string thesis_event_json(Topic, ObjectChange::Action, const kube::Object&, bool whole);

}  // namespace berth::gateway
