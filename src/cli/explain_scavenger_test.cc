// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_scavenger.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_for_test.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kManifests = R"(apiVersion: berth.dev/v1alpha1
kind: ScavengerJob
metadata: {name: a, namespace: lab, uid: u, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {image: i}
status: {attempt: 1, closedAttempt: 1, interruptedCount: 1, waitingSince: "2026-01-01T00:30:00Z"}
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: chosen, namespace: lab, annotations: {berth.dev/victims: '{"because":"cpu"}'}}
eventTime: "2026-01-01T00:20:00.000000Z"
action: Regulate
reason: ReclaimRequested
regarding: {kind: ScavengerJob, name: a, namespace: lab, uid: u}
note: "1 job interrupted because of cpu: 9 of 10 in use"
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: before, namespace: lab, annotations: {berth.dev/victims: '{"because":"cpu"}'}}
eventTime: "2025-01-01T00:20:00.000000Z"
action: Preempting
reason: Preempted
regarding: {kind: ScavengerJob, name: a, namespace: lab, uid: one-before}
note: "another job was interrupted"
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: started, namespace: lab}
eventTime: "2026-01-01T00:10:00.000000Z"
action: Start
reason: Running
regarding: {kind: ScavengerJob, name: a, namespace: lab}
note: "attempt 1 runs"
)";

TEST(ExplainScavengerCommand, F20_TellsWhyItWasChosenWhoeverChoseIt) {
  const std::string file = testing::TempDir() + "/explain_scavenger_test.yaml";
  std::ofstream(file) << kManifests;
  const Ran ran = berth({"explain", "scavenger", "a", "-n", "lab", "-f", file});
  EXPECT_THAT(ran.out, HasSubstr("2026-01-01T00:20:00Z: 1 job interrupted because of cpu"))
      << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("attempt 1 runs")));
  EXPECT_THAT(ran.out, Not(HasSubstr("another job"))) << "of the same name, and gone";
}

}  // namespace
}  // namespace berth::cli
