// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/board.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/kind.h"

namespace berth::scavenge {
namespace {

kube::Object job(std::string_view spec, std::string_view status) {
  return *kube::Object::parse(
      kube::learn_kind({"berth.dev", "v1alpha1", "ScavengerJob", "scavengerjobs"}),
      fmt::format(
          R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"a","namespace":"d","uid":"u"}},"spec":{{{}}},"status":{{{}}}}})",
          spec, status));
}
kube::Object policy(std::string_view spec) {
  return *kube::Object::parse(
      kube::learn_kind({.group = "berth.dev",
                        .version = "v1alpha1",
                        .kind = "ScavengerPolicy",
                        .plural = "scavengerpolicies",
                        .namespaced = false}),
      fmt::format(
          R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{{"name":"default","uid":"p"}},"spec":{{{}}}}})",
          spec));
}

TEST(Board, F16_NobodyIsSparedForLongerThanThePolicyAllows) {
  Board board;
  board.put(job(R"("image":"i","minRun":"8760h")", R"("jobUid":"j")"));
  EXPECT_EQ(board.of_controller("j")->min_run, 1h);
  const kube::Object rules = policy(R"("minRunMax":"10m")");
  board.put(rules);
  EXPECT_EQ(board.of_controller("j")->min_run, 10min) << "of jobs that were there before, too";
  board.remove(rules);
  EXPECT_EQ(board.of_controller("j")->min_run, 1h);
}

TEST(Board, R62_TheLauncherOfAnMpiJobIsOfTheJob) {
  Board board;
  const kube::Object mpi =
      job(R"("mpi":{"image":"i"})", R"("jobUid":"j","launcherUid":"l","holds":{"members":3})");
  board.put(mpi);
  ASSERT_NE(board.of_controller("l"), nullptr);
  EXPECT_EQ(board.of_controller("l"), board.of_controller("j"));
  EXPECT_EQ(board.of_controller("l")->members, 3);
  board.remove(mpi);
  EXPECT_EQ(board.of_controller("l"), nullptr);
}

}  // namespace
}  // namespace berth::scavenge
