// SPDX-License-Identifier: Apache-2.0
// `berth lab` against a cluster that runs beside it.
#include <gmock/gmock.h>

#include "child.h"
#include "ran.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LabCommand : public Binary {
 protected:
  // A cluster of its own, up when this returns.
  void up(std::vector<std::string> flags) {
    std::vector<std::string> args{"up", "--ephemeral",      "--port",
                                  "0",  "--kubeconfig-out", (temp_.path() / "kubeconfig").string()};
    args.insert(args.end(), flags.begin(), flags.end());
    auto started = e2e::Child::start(
        {.program = BERTH_BERTH, .args = args, .env = {}, .log = temp_.path() / "log"});
    ASSERT_TRUE(started) << started.error().message;
    cluster_ = *std::move(started);
    ASSERT_TRUE(e2e::eventually(std::chrono::minutes(2), [&] {
      return std::filesystem::exists(temp_.path() / "kubeconfig") || !cluster_->running();
    }));
    ASSERT_TRUE(cluster_->running()) << cluster_->log();
  }
  Ran lab(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "lab");
    arguments.insert(arguments.end(), {"--kubeconfig", (temp_.path() / "kubeconfig").string()});
    return berth(std::move(arguments));
  }

  e2e::TempFolder temp_;
  std::unique_ptr<e2e::Child> cluster_;
};

TEST_F(LabCommand, BreaksAndMendsNodesAndWaitsUntilTheClusterIsIdle) {
  up({"--nodes", "6", "--speed", "max"});
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } steps[] = {
      {{"settle"}, "idle\n"},
      {{"crash-node", "node-1"}, "node-1 has crashed\n"},
      {{"slow-node", "node-2", "--factor", "2"}, "all on node-2 takes 2 times as long\n"},
      {{"sicken-node", "node-3", "--with", "pid-pressure"}, "node-3 reports pid-pressure\n"},
      {{"lose-zone", "lab-c"}, "zone lab-c is lost: 2 nodes\n"},
      {{"settle"}, "idle\n"},
  };
  for (const auto& [arguments, says] : steps) {
    const Ran got = lab(arguments);
    EXPECT_EQ(got.out, says) << got.err << cluster_->log();
    EXPECT_EQ(got.code, 0);
  }
  EXPECT_THAT(lab({"status"}).out,
              MatchesRegex("Time   [-0-9T:]+Z\n"
                           "Nodes  6 simulated, 3 silent\n"
                           "Pods   0 pending, 0 running, 0 finished, 0 stopping\n"
                           "Ahead  nothing happens by itself\n"
                           "node-1: crashed\n"
                           "node-2: crashed, 2 times slower\n"
                           "node-3: pid-pressure\n"
                           "node-5: crashed\n"));
  EXPECT_EQ(lab({"recover"}).out, "all is well\n");
  EXPECT_THAT(lab({"status"}).out, HasSubstr("Nodes  6 simulated, 0 silent\n"));
  const Ran nobody = lab({"crash-pod", "web", "--namespace", "shop"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("there is no pod shop/web"));
}

TEST_F(LabCommand, SaysThatAClusterHasNoLab) {
  up({"--without", "nodes", "--without", "scheduler", "--without", "controllers"});
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"status"}, {"settle"}, {"crash-node", "node-1"}}) {
    const Ran got = lab(arguments);
    EXPECT_EQ(got.code, 1);
    EXPECT_THAT(got.err, HasSubstr("berth lab: this cluster has no simulated nodes; `berth up` "
                                   "starts one that has (kubeconfig "));
  }
}

TEST_F(LabCommand, SaysWhatItNeeds) {
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } rows[] = {
      {{}, "ACTION"},
      {{"explode"}, "'explode' is not one of: status, settle, crash-node"},
      {{"crash-node"}, "crash-node needs the name of a node: berth lab crash-node NAME"},
      {{"settle", "node-1"}, "settle needs no name"},
      {{"crash-node", "a/b"}, "'a/b' is no name or time"},
      {{"flap-node", "n", "--times", "often"}, "--times"},
      {{"sicken-node", "n", "--with", "flu"}, "'flu' is not one of: not-ready"},
  };
  for (const auto& row : rows) {
    const Ran got = lab(row.arguments);
    EXPECT_EQ(got.code, 2);
    EXPECT_EQ(got.out, "");
    EXPECT_THAT(got.err, HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace berth
