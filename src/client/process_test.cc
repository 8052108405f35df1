// SPDX-License-Identifier: Apache-2.0
#include "client/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "net/loop.h"

namespace berth::client {
namespace {

using testing::HasSubstr;

class RunCommand : public testing::Test {
 protected:
  Result<CommandOutput> run(std::string script, Command command = {}) {
    command.argv = {"/bin/sh", "-c", std::move(script), "sh", "first argument"};
    return run_command(command, clock, stop);
  }
  net::RealRuntime runtime;
  const Clock& clock = runtime.loop("test").clock();
  std::atomic<bool> stop{false};
};

TEST_F(RunCommand, GivesBackWhatTheProgramWrote) {
  Command command;
  command.env = {"BERTH_TEST=value", "BERTH_TEST=later"};
  Result<CommandOutput> r = run("echo \"$1\" $BERTH_TEST; echo oops >&2; cat; exit 3", command);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->exit_code, 3);
  EXPECT_EQ(r->out, "first argument later\n");
  EXPECT_EQ(r->err, "oops\n");
}

TEST_F(RunCommand, BoundsWhatItReads) {
  Command command;
  command.most_output = 1000;
  Result<CommandOutput> r = run("while :; do echo xxxxxxxxxxxxxxxxxxxx; done", command);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("more than 999 bytes of output"));
}

TEST_F(RunCommand, DropsTheRestOfALongComplaint) {
  Result<CommandOutput> r =
      run("i=0; while [ $i -lt 9000 ]; do echo complaint >&2; i=$((i+1)); done");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->exit_code, 0);
  EXPECT_EQ(r->err.size(), Command{}.most_complaint);
}

TEST_F(RunCommand, KillsWhatTakesTooLongWithAllItStarted) {
  Command command;
  command.limit = 50ms;
  Result<CommandOutput> r = run("sleep 1000 & sleep 1000", command);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("no answer within"));
}

TEST_F(RunCommand, StopsWhenTold) {
  stop = true;
  Result<CommandOutput> r = run("sleep 1000");
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("stopped"));
}

TEST_F(RunCommand, DoesNotWaitForWhatTheProgramLeftBehind) {
  Result<CommandOutput> r = run("sleep 1000 & echo $!");
  ASSERT_TRUE(r) << r.error().message;
  ::kill(std::stoi(r->out), SIGKILL);
}

TEST_F(RunCommand, SaysWhyAProgramCannotStart) {
  Command command;
  command.argv = {"/nowhere/berth-test"};
  Result<CommandOutput> r = run_command(command, clock, stop);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message, "/nowhere/berth-test: No such file or directory");
}

TEST_F(RunCommand, NamesTheSignalThatEndedIt) {
  Result<CommandOutput> r = run("kill -TERM $$");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->exit_code, 128 + SIGTERM);
}

}  // namespace
}  // namespace berth::client
