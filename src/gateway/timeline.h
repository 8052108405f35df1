// SPDX-License-Identifier: Apache-2.0
// What will happen on a Testbed, and what would if one Scheduling more were there: the question to
// policy/slots/forecast.h, made of what is seen, and its answer as JSON. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/slots/forecast.h"
#include "runtime/view.h"

namespace berth::gateway {

// All that an answer is made of; refers to nothing, so that it can be worked out elsewhere.
struct TimelineQuestion {
  kube::Key testbed;
  std::optional<kube::Key> draft = {};
  std::string scheduling = {};  // the draft as its DTO; "": there is none
  std::string cursor = {};
  WallTime now = {};
  slots::ForecastInput input = {};
  std::vector<std::string> assumes = {};       // sentences
  std::optional<slots::Waiting> nowhere = {};  // the Testbed is not there
  std::uint64_t seed = 0;
  int draws = 0;
};
// A Scheduling that is not stored. The view knows it already.
struct Draft {
  const kube::Object* scheduling = nullptr;  // null: there is none
  bool replaces = false;                     // one of its name that is stored
};
Result<TimelineQuestion> timeline_question(const runtime::View&, const kube::Key& testbed, Draft,
                                           WallTime now);
std::string timeline_json(const TimelineQuestion&);

// Every slot of a Testbed, with its cause and remedy where it is not free.
Result<std::string> slots_json(const runtime::View&, const kube::Object& testbed, WallTime now);

}  // namespace berth::gateway
