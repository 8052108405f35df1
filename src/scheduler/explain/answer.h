// SPDX-License-Identifier: Apache-2.0
// What the scheduler would do with a case, and why: a line of JSON in the form of the recorded
// answers of kube-scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/explain/case.h"
#include "scheduler/explain/judgement.h"
#include "scheduler/framework/profile.h"

namespace berth::scheduler {

// kube-scheduler's default profile without DynamicResources: what cases were recorded with.
ProfileSpec case_profile();

std::string answer_of(const Judgement&);  // one line, without its end

// Which path chooses. Reasons and scores are always the plain path's; with the others an answer is
// an error where the two disagree about the feasible nodes, the best total or the node.
enum class AnswerMode : std::uint8_t {
  kPlain,
  kCached,  // from a cache made for this pod
  kWarm,    // from one that has seen the pod come and go
};

// Immutable after construction; answers do not depend on those before.
class Answerer {
 public:
  explicit Answerer(AnswerMode mode = AnswerMode::kPlain);
  std::string answer(Case&) const;  // one line, without its end
  Result<std::string> answer(std::string_view case_json) const;

 private:
  AnswerMode mode_;
  ProfileSpec profile_;
};

}  // namespace berth::scheduler
