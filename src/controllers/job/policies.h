// SPDX-License-Identifier: Apache-2.0
// A Job's two policies: what a failed pod means (podFailurePolicy), and which completions are
// enough (successPolicy).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controllers/job/indexes.h"
#include "json/slice.h"
#include "kube/object.h"

namespace berth::controllers {

struct Judgement {
  enum class Action : std::uint8_t { kNone, kCount, kIgnore, kFailIndex, kFailJob };
  Action action = Action::kNone;  // kNone: no rule matched
  std::string message = {};       // of kFailJob
  bool counts() const { return action != Action::kIgnore; }
};
// By the first rule that matches; an absent policy has none.
Judgement judge_failure(json::Slice policy, const kube::Object& pod);

// What the Job's condition says when one of the rules is met.
std::optional<std::string> success_met(json::Slice policy, std::int64_t completions,
                                       const Indexes& succeeded);

}  // namespace berth::controllers
