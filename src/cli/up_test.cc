// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/run_for_test.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

TEST(Up, SaysWhatIsWrongWithItsFlagsBeforeAnythingStarts) {
  const struct {
    std::vector<std::string> flags;
    const char* says;
  } cases[] = {
      {{"--port", "70000"}, "--port 70000: a port is 0 to 65535 (0: a free one)"},
      {{"--bind-address", "here"}, "--bind-address here: not an IPv4 address"},
      {{"--advertise-address", "0.0.0.0"}, "--advertise-address 0.0.0.0: not an IPv4 address that"},
      {{"--speed", "fast"}, "--speed fast: write real, max, or a factor like x60"},
      {{"--data-dir", "d"}, "give one of them"},
      {{"--without", "etcd"}, "what can be left out is scheduler, controllers, nodes and gateway"},
      {{"--nodes", "200000"}, "--nodes 200000: 100000 at most"},
      {{"--nodes", "no-such-file"}, "--nodes: no-such-file: cannot be read"},
      {{"--nodes", "examples/manifests/no-nodes.yaml"}, "cannot be read"},
      {{"--stages", "no-such-file"}, "no-such-file"},
      {{"--usage", "no-such-file"}, "no-such-file"},
      {{"--usage", "u.yaml", "--without", "nodes"}, "--without nodes has none"},
      {{"--scheduler-config", "no-such-file"}, "no-such-file"},
      {{"--controllers", "job-controler"}, "--controllers: there is no controller"},
  };
  for (const auto& [flags, says] : cases) {
    std::vector<std::string> arguments{"up", "--ephemeral"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ran got = berth(arguments);
    EXPECT_EQ(got.code, kExitUsage) << flags[0];
    EXPECT_EQ(got.out, "") << flags[0];
    EXPECT_THAT(got.err, HasSubstr(says));
  }
}

TEST(Up, StartsNothingWhereAManifestCannotBeRead) {
  const Ran got = berth({"up", "--ephemeral", "--apply", "no-such-folder"});
  EXPECT_EQ(got.code, kExitFailed);
  EXPECT_THAT(got.err, HasSubstr("no-such-folder: cannot be read"));
}

}  // namespace
}  // namespace berth::cli
