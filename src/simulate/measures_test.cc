// SPDX-License-Identifier: Apache-2.0
#include "simulate/measures.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::simulate {
namespace {

using ::testing::ElementsAre;

Instant at(Duration since) { return Instant{since}; }

kube::Object pod(std::string_view name, std::string_view node, std::string_view phase) {
  return *kube::Object::parse(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"d","uid":"{0}"}},"spec":{{{1}"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"1500m"}}}}}}]}},"status":{{"phase":"{2}"}}}})",
      name, node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node), phase));
}

TEST(Level, IntegratesStepsAndKnowsTheMeanOfEverySpan) {
  Level level(at(10s), 10s);
  level.add(2, at(15s));
  level.add(2, at(25s));
  level.add(-4, at(32s));
  level.pass(at(45s));
  EXPECT_DOUBLE_EQ(level.integral(), 2 * 10 + 4 * 7);
  EXPECT_DOUBLE_EQ(level.mean(), 48.0 / 35);
  EXPECT_THAT(level.means(), ElementsAre(1.0, 3.0, 0.8))
      << "the span that has not ended is not told";
}

TEST(Level, ThatNothingHappenedToIsNothing) {
  const Level level(at(1s), 1s);
  EXPECT_EQ(level.mean(), 0);
  EXPECT_TRUE(level.means().empty());
}

TEST(Measures, CountCoresWhileAPodHoldsThem) {
  Measures measures(at(0s), 100s);
  measures.on_pod(pod("a", "", "Pending"), false, true, at(0s));
  measures.on_pod(pod("s", "n", "Pending"), false, false, at(0s));
  measures.on_pod(pod("a", "n", "Pending"), false, true, at(4s));
  measures.on_pod(pod("a", "n", "Running"), false, true, at(6s));
  measures.on_pod(pod("s", "n", "Running"), true, false, at(8s));
  measures.on_pod(pod("a", "n", "Succeeded"), false, true, at(10s));
  measures.on_pod(pod("a", "n", "Succeeded"), true, true, at(20s));
  measures.end(at(100s));
  EXPECT_DOUBLE_EQ(measures.ordinary().integral(), 1.5 * 6);
  EXPECT_DOUBLE_EQ(measures.scavenging().integral(), 1.5 * 8);
}

TEST(Measures, TellHowLongOrdinaryPodsHaveWaited) {
  Measures measures(at(0s), 100s);
  measures.on_pod(pod("a", "", "Pending"), false, true, at(1s));
  measures.on_pod(pod("b", "", "Pending"), false, true, at(2s));
  measures.on_pod(pod("s", "", "Pending"), false, false, at(2s));
  measures.on_pod(pod("b", "n", "Pending"), false, true, at(3s));
  measures.end(at(50s));
  EXPECT_THAT(measures.waits(), ElementsAre(1s, 49s));
  EXPECT_EQ(measures.never_placed(), 1u);
}

TEST(Measures, QuantilesAreValuesThatOccurred) {
  std::vector<Duration> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(std::chrono::seconds(i));
  EXPECT_EQ(quantile(hundred, 0.99), 99s);
  EXPECT_EQ(quantile(hundred, 0.5), 50s);
  EXPECT_EQ(quantile(hundred, 1), 100s);
  EXPECT_EQ(quantile(hundred, 0), 1s);
  EXPECT_EQ(quantile({}, 0.5), 0s);
}

}  // namespace
}  // namespace berth::simulate
