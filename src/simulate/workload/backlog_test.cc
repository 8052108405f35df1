// SPDX-License-Identifier: Apache-2.0
#include "simulate/workload/backlog.h"

#include <gtest/gtest.h>

#include "json/slice.h"

namespace berth::simulate {
namespace {

TEST(Backlog, IsDecidedByItsSeed) {
  EXPECT_EQ(backlog(Random(1), 50, 20), backlog(Random(1), 50, 20));
  EXPECT_NE(backlog(Random(1), 50, 20), backlog(Random(2), 50, 20));
}

TEST(Backlog, HasProgramsThatCheckpointWithinTheirWindow) {
  int reporting = 0, gangs = 0;
  for (const Program& program : backlog(Random(5), 500, 33)) {
    EXPECT_LT(program.checkpoint_every, program.window);
    EXPECT_LT(program.checkpoint_takes, program.checkpoint_every);
    EXPECT_GT(program.work, program.checkpoint_every);
    reporting += program.reports ? 1 : 0;
    gangs += program.members > 1 ? 1 : 0;
  }
  EXPECT_GT(reporting, 250);
  EXPECT_LT(reporting, 400);
  EXPECT_GT(gangs, 50);
}

TEST(Backlog, SubmitsAProgramInBothForms) {
  const Program program{.name = "scav-00001",
                        .members = 3,
                        .cpu_milli = 2000,
                        .memory_mib = 512,
                        .checkpoint_every = 10min,
                        .window = 30min};
  const std::string job = manifest_of(program, Form::kPlainJob, 10);
  const json::Slice plain(job);
  EXPECT_EQ(plain["spec"]["completions"].integer(), 3);
  EXPECT_EQ(plain["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].integer(), 10);
  const std::string scavenger = manifest_of(program, Form::kScavengerJob, 10);
  const json::Slice ours(scavenger);
  EXPECT_EQ(ours["kind"].text(), "ScavengerJob");
  EXPECT_EQ(ours["spec"]["replicas"].integer(), 3);
  EXPECT_EQ(ours["spec"]["duration"].text(), "1800s");
  EXPECT_EQ(ours["spec"]["checkpoint"]["interval"].text(), "600s");
  EXPECT_EQ(ours["spec"]["resources"]["requests"]["cpu"].text(), "2000m");
}

TEST(Backlog, KnowsItsPodsByTheirNames) {
  EXPECT_EQ(program_of_pod("scav-00007-2-0-x7k2p"), "scav-00007");
  EXPECT_EQ(program_of_pod("scav-00007"), "");
  EXPECT_EQ(program_of_pod("ordinary-000001"), "");
}

}  // namespace
}  // namespace berth::simulate
