// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome berth(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  Context context{.out = out, .err = err};
  const int code = run(arguments, context);
  return {code, out.str(), err.str()};
}

TEST(CommandLine, WithoutACommandItListsThemAndIsBadUsage) {
  const Outcome got = berth({});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("version"));
}

TEST(CommandLine, HelpIsNotAnError) {
  EXPECT_EQ(berth({"--help"}).code, kExitOk);
  const Outcome got = berth({"version", "--help"});
  EXPECT_EQ(got.code, kExitOk);
  EXPECT_THAT(got.out, HasSubstr("Examples:"));
}

TEST(CommandLine, AnUnknownCommandNamesTheNearestOne) {
  const Outcome got = berth({"verson"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("maybe you meant 'version'"));
}

TEST(CommandLine, AnUnknownFlagIsOneLineAndBadUsage) {
  const Outcome got = berth({"version", "--colour"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1);
  EXPECT_THAT(got.err, HasSubstr("berth version --help"));
}

TEST(CommandLine, VersionSaysWhoseBehaviourIsFollowed) {
  EXPECT_THAT(berth({"version"}).out, HasSubstr("Kubernetes v1.36"));
}

}  // namespace
}  // namespace berth::cli
