// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/executors.h"

#include <gtest/gtest.h>

#include "json/patch.h"
#include "kube/ours/ours.h"
#include "policy/admission/reviews_for_test.h"

namespace berth::admission {
namespace {

std::string pod(std::string_view labels, std::string_view spec) {
  return fmt::format(R"({{"metadata":{{"name":"x","labels":{{{}}}}},"spec":{{{}}}}})", labels,
                     spec);
}
const std::string kGranted = fmt::format(R"("{}":"3f9c12ab77e0-1")", kube::kGrantLabel);
constexpr const char* kPath = "/executors";
constexpr const char* kClass =
    R"(yes: [{"op":"add","path":"/spec/priorityClassName","value":"berth-executor"}])";

TEST(ExecutorClass, IsGivenToPodsWithAGrantThatNameAnotherOrNone) {
  EXPECT_EQ(verdict_text(kPath, {.object = pod(kGranted, "")}), kClass);
  EXPECT_EQ(
      verdict_text(kPath, {.object = pod(kGranted, R"("priorityClassName":"low","priority":-5,)"
                                                   R"("preemptionPolicy":"Never")")}),
      R"(yes: [{"op":"add","path":"/spec/priorityClassName","value":"berth-executor"},)"
      R"({"op":"remove","path":"/spec/priority"},{"op":"remove","path":"/spec/preemptionPolicy"}])");
}

TEST(ExecutorClass, LeavesEverybodyElseAlone) {
  EXPECT_EQ(verdict_text(kPath, {.object = pod("", "")}), "yes");
  EXPECT_EQ(
      verdict_text(kPath, {.object = pod(kGranted, R"("priorityClassName":"berth-executor")")}),
      "yes");
  EXPECT_EQ(
      verdict_text(
          kPath, {.object = pod(kGranted + fmt::format(R"(,"{}":"true")", kube::kGhostLabel), "")}),
      "yes");
  EXPECT_EQ(verdict_text(kPath, {.operation = "UPDATE",
                                 .object = pod(kGranted, ""),
                                 .old_object = pod(kGranted, "")}),
            "yes");
}

TEST(ExecutorClass, ESI_060_ASlotIsRequestedWhereSchedulersAskAboutSuchPodsAlone) {
  const Surroundings asks{.reserved = {.slot_resource = true}};
  const auto with = [&](std::string_view container) {
    const std::string spec =
        fmt::format(R"("priorityClassName":"berth-executor","containers":[{{{}}}])", container);
    return verdict_text(kPath, {.object = pod(kGranted, spec)}, asks);
  };
  EXPECT_EQ(with(R"("name":"c")"),
            R"(yes: [{"op":"add","path":"/spec/containers/0/resources","value":)"
            R"({"requests":{"berth.dev/slot":"1"},"limits":{"berth.dev/slot":"1"}}}])");
  EXPECT_EQ(with(R"("resources":{"requests":{"cpu":"1"}})"),
            R"(yes: [{"op":"add","path":"/spec/containers/0/resources/requests/berth.dev~1slot",)"
            R"("value":"1"},{"op":"add","path":"/spec/containers/0/resources/limits",)"
            R"("value":{"berth.dev/slot":"1"}}])");
  EXPECT_EQ(
      with(R"("resources":{"requests":{"berth.dev/slot":"1"},"limits":{"berth.dev/slot":"1"}})"),
      "yes");
  EXPECT_EQ(verdict_text(kPath, {.object = pod(kGranted, R"("containers":[{}])")}, asks),
            R"(yes: [{"op":"add","path":"/spec/priorityClassName","value":"berth-executor"},)"
            R"({"op":"add","path":"/spec/containers/0/resources","value":)"
            R"({"requests":{"berth.dev/slot":"1"},"limits":{"berth.dev/slot":"1"}}}])");
}

TEST(ExecutorClass, IsForGrantsOfThePodsNamespace) {
  std::string asked;
  const Surroundings nobody{.reserved = {.granted = [&](std::string_view ns, std::string_view) {
                              asked = ns;
                              return false;
                            }}};
  EXPECT_EQ(verdict_text(kPath, {.object = pod(kGranted, "")}, nobody), "yes");
  EXPECT_EQ(asked, "team-a");
}

}  // namespace
}  // namespace berth::admission
