// SPDX-License-Identifier: Apache-2.0
// How a change is told, whatever carries it.
#pragma once

#include <string>

#include "gateway/feeds.h"

namespace berth::gateway {

// {"kind":"jobs","action":"ADDED","seq":812,"resource":{…}}
std::string event_json(Topic, ObjectChange::Action, const kube::Object&);
// STOMP's form: {"action":"ADDED","resource":…}.
enum class Told : unsigned char {
  kName,    // the resource is its name
  kObject,  // as under /external/v1
  kThesis,  // as under /external
};
std::string stomp_event_json(Topic, ObjectChange::Action, const kube::Object&, Told);

}  // namespace berth::gateway
