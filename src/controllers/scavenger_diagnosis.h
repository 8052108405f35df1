// SPDX-License-Identifier: Apache-2.0
// Why a scavenger job waits, what its interruption would cost now, why it was interrupted: one
// cause and one remedy. Reads objects only, so it works wherever they can be listed.
#pragma once

#include <string>
#include <vector>

#include "controllers/diagnosis.h"
#include "policy/scavenge/admit.h"

namespace berth::controllers {

struct ScavengerContext {
  const scavenge::Wait* wait = nullptr;  // of one that waits, as the queue would decide now
  std::size_t queue = 0;                 // how many wait
  std::vector<std::string> nodes = {};   // where it runs
  std::vector<std::string> told = {};    // by doors, why it had to go: sentences, newest first
};
Diagnosis diagnose_scavenger(const kube::Object& job, const ScavengerContext&, WallTime now);

// The same from objects alone. NotFound where there is no such job in either group. The view holds
// all kinds of kinds_of_scavengers() that the server has, and `told` is as above.
Result<Diagnosis> diagnose_scavenger(const runtime::View&, const kube::Key&,
                                     std::vector<std::string> told, WallTime now);
std::vector<kube::KindId> kinds_of_scavengers();

// "0.21 core-hours", "12 core-minutes", "3 core-seconds" of milli core-seconds.
std::string work_amount(std::int64_t milli_core_seconds);

}  // namespace berth::controllers
