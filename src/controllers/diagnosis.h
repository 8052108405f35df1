// SPDX-License-Identifier: Apache-2.0
// Why a job, a slot, a Scheduling or a Testbed is not further: what it waits for is followed from
// object to object until something is found that nobody waits for. That is the root cause, and it
// has one remedy. Reads objects only, so it works wherever they can be listed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/ours/ours.h"
#include "policy/slots/geometry.h"
#include "runtime/view.h"

namespace berth::controllers {

struct Diagnosis {
  std::string subject;                    // "Scheduling default/s"
  std::string state;                      // as its status has it
  bool well = false;                      // nothing has to be done; the cause says what it does
  std::string cause;                      // a sentence
  std::string remedy = {};                // a sentence; "": nothing has to be done
  std::vector<std::string> because = {};  // from the subject to the cause, a sentence each
};

// NotFound where there is no such object, or no such slot. The view holds all kinds of
// kinds_to_diagnose(), with the indexes of controllers/slot_sight.h.
Result<Diagnosis> diagnose_scheduling(const runtime::View&, const kube::Key&, WallTime now);
Result<Diagnosis> diagnose_job(const runtime::View&, const kube::Key&, WallTime now);
Result<Diagnosis> diagnose_testbed(const runtime::View&, const kube::Key&, WallTime now);
Result<Diagnosis> diagnose_slot(const runtime::View&, const kube::Key& testbed, slots::SlotNumber,
                                WallTime now);
std::string diagnosis_json(const Diagnosis&);

// What has to be listed, and of pods only those with this label.
std::vector<kube::KindId> kinds_to_diagnose();
inline constexpr std::string_view kPodsToDiagnose = kube::kTestbedLabel;

}  // namespace berth::controllers
