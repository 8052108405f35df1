// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_for_test.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

TEST(CommandLine, WithoutACommandItListsThemAndIsBadUsage) {
  const Ran got = berth({});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("version"));
}

TEST(CommandLine, HelpIsNotAnError) {
  EXPECT_EQ(berth({"--help"}).code, kExitOk);
  const Ran got = berth({"version", "--help"});
  EXPECT_EQ(got.code, kExitOk);
  EXPECT_THAT(got.out, HasSubstr("Examples:"));
}

TEST(CommandLine, AnUnknownCommandNamesTheNearestOne) {
  const Ran got = berth({"verson"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("maybe you meant 'version'"));
}

TEST(CommandLine, AnUnknownFlagIsOneLineAndBadUsage) {
  const Ran got = berth({"version", "--colour"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1);
  EXPECT_THAT(got.err, HasSubstr("there is no flag --colour; try 'berth version --help'"));
  EXPECT_THAT(berth({"scheduler", "--confg=a.yaml", "b"}).err,
              HasSubstr("there is no flag --confg, maybe you meant --config;"));
}

TEST(CommandLine, VersionSaysWhoseBehaviourIsFollowed) {
  EXPECT_THAT(berth({"version"}).out, HasSubstr("Kubernetes v1.36"));
}

}  // namespace
}  // namespace berth::cli
