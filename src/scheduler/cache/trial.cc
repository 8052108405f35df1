// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/trial.h"

namespace berth::scheduler {

void Trial::place(PodPtr placed) {
  cluster_.assume_pod(placed);
  steps_.push_back({true, {std::move(placed), NodeId::kNone, 0, true}});
}

bool Trial::evict(std::string_view uid) {
  if (!cluster_.pod(uid)) return false;
  steps_.push_back({false, cluster_.take(uid)});
  return true;
}

void Trial::undo_to(Mark mark) {
  while (steps_.size() > mark) {
    Step step = std::move(steps_.back());
    steps_.pop_back();
    if (step.placed)
      cluster_.take(step.record.pod->uid);
    else
      cluster_.put_back(std::move(step.record));
  }
}

}  // namespace berth::scheduler
