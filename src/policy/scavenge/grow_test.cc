// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/grow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/quantity.h"

namespace berth::scavenge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

kube::ResourceList cores(std::int64_t count) {
  return {{"cpu", kube::Quantity::of(count, kube::Quantity::Format::kDecimalSI)}};
}
// Two nodes of ten cores, of which so many are used.
AdmitQuestion question(std::int64_t used, std::int64_t used_too) {
  AdmitQuestion question;
  question.nodes = {{"n", cores(10), cores(used)}, {"m", cores(10), cores(used_too)}};
  return question;
}
SmallJob job(std::string uid, std::vector<SmallMember> members) {
  return {std::move(uid), std::move(members)};
}

TEST(Grow, AsFarAsTheThresholdGoes) {
  const std::vector<SmallJob> jobs = {job("a", {{"n", cores(2)}}), job("b", {{"m", cores(3)}}),
                                      job("c", {{"m", cores(2)}})};
  EXPECT_THAT(grow(question(5, 5), 70, jobs), ElementsAre("a", "c")) << "14 of 20";
  EXPECT_THAT(grow(question(5, 5), 100, jobs), ElementsAre("a", "b", "c"));
  EXPECT_THAT(grow(question(7, 7), 70, jobs), IsEmpty());
}

TEST(Grow, OnlyOnItsOwnNode) {
  EXPECT_THAT(grow(question(9, 0), 100, std::vector{job("a", {{"n", cores(2)}})}), IsEmpty());
  EXPECT_THAT(grow(question(8, 0), 100, std::vector{job("a", {{"n", cores(2)}})}),
              ElementsAre("a"));
  EXPECT_THAT(grow(question(0, 0), 100, std::vector{job("a", {{"gone", cores(2)}})}), IsEmpty());
}

TEST(Grow, AllOfAJobOrNothingOfIt) {
  const std::vector<SmallJob> jobs = {job("a", {{"m", cores(4)}, {"n", cores(4)}}),
                                      job("b", {{"m", cores(4)}})};
  EXPECT_THAT(grow(question(8, 6), 100, jobs), ElementsAre("b")) << "what a had taken is back";
}

TEST(Grow, NobodyGrowsWhileSomebodyWaitsForAPlace) {
  const std::vector<SmallJob> jobs = {job("a", {{"n", cores(1)}})};
  AdmitQuestion waits = question(0, 0);
  waits.pending = cores(1);
  EXPECT_THAT(grow(waits, 70, jobs), IsEmpty());
  waits.rules.respect_pending = false;
  EXPECT_THAT(grow(waits, 70, jobs), ElementsAre("a"));
  waits.in_flight = cores(1);
  EXPECT_THAT(grow(waits, 70, jobs), IsEmpty());
}

TEST(Grow, KeepsTheReserveOfANodeWhereEachHasItsOwn) {
  AdmitQuestion own = question(6, 0);
  own.rules.scope = ThresholdScope::kNode;
  EXPECT_THAT(grow(own, 70, std::vector{job("a", {{"n", cores(2)}})}), IsEmpty());
  EXPECT_THAT(grow(own, 70, std::vector{job("a", {{"n", cores(1)}})}), ElementsAre("a"));
}

}  // namespace
}  // namespace berth::scavenge
