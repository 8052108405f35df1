// SPDX-License-Identifier: Apache-2.0
// What a Testbed says of itself. All of it is derived from observe(), but for since when it is
// idle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/slot_sight.h"
#include "controllers/testbed/idle.h"
#include "controllers/testbed/room.h"

namespace berth::controllers {

// Up to so many slots are listed; the status would outgrow what a server takes.
inline constexpr std::size_t kMostSlotsListed = 1'000;

struct TestbedFindings {
  NodeProblems problems = {};
  Idleness idle = {};
  std::string quota = {};                       // why a ghost was refused; "": none was
  std::vector<std::string> classes_above = {};  // priority classes that could take slots
  std::vector<std::string> weak_holds = {};     // executors that outrank no ghost
};

// The next status, as JSON.
std::string testbed_status(const SlotSight&, const slots::SlotTable&, const TestbedFindings&,
                           WallTime now);

}  // namespace berth::controllers
