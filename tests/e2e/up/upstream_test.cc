// SPDX-License-Identifier: Apache-2.0
// Kubernetes' own end-to-end specs of the scheduler on `berth up` alone: our server, scheduler,
// controllers and nodes, and nothing else.
#include <gtest/gtest.h>

#include "berth_up.h"
#include "scale.h"
#include "specs.h"

namespace berth::e2e {
namespace {

// What is alpha and off by default: two specs, of Workload and PodGroup. The specs of several zones
// run here, other than on kwok's nodes: ours have zones.
constexpr const char* kLeftOut = R"(\[Alpha\])";

TEST(UpstreamOnBerthUp, EverySchedulingSpecIsPassed) {
  if (!nightly()) GTEST_SKIP() << "takes many minutes: `make nightly` runs it";
  const auto program = specs_program();
  if (!program) GTEST_SKIP() << program.error().message;
  auto up = BerthUp::start({.flags = {"--nodes", "4"}});
  ASSERT_TRUE(up) << up.error().message;
  const auto ours = run_specs(*program, (*up)->kubeconfig(), (*up)->folder().path(), kLeftOut);
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_GE(ours->size(), all_specs() ? 28u : 1u) << "specs are missing";
  for (const auto& [name, state] : *ours) EXPECT_EQ(state, "passed") << name;
  EXPECT_TRUE((*up)->child().running()) << (*up)->log_tail();
}

}  // namespace
}  // namespace berth::e2e
