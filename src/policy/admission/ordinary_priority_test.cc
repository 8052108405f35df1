// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/ordinary_priority.h"

#include <gmock/gmock.h>

#include "json/patch.h"
#include "policy/admission/reviews_for_test.h"

namespace berth::admission {
namespace {

std::string pod(std::string_view spec, std::string_view metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"x"{}}},"spec":{{{}}}}})", metadata, spec);
}

struct Row {
  const char* name;
  Asked asked;
  Ordinary ordinary;
  const char* verdict;  // as it begins
};

constexpr const char* kAllGo =
    R"(yes: [{"op":"remove","path":"/spec/priorityClassName"},{"op":"remove","path":"/spec/priority"},{"op":"remove","path":"/spec/preemptionPolicy"}])";
constexpr const char* kPolite =
    R"(yes: [{"op":"add","path":"/spec/priorityClassName","value":"ordinary-polite"},{"op":"remove","path":"/spec/priority"},{"op":"remove","path":"/spec/preemptionPolicy"}])";
constexpr const char* kLow =
    R"("priorityClassName":"low","priority":-5,"preemptionPolicy":"PreemptLowerPriority")";
constexpr const char* kNone = R"("priority":0,"preemptionPolicy":"PreemptLowerPriority")";

TEST(OrdinaryPriority, R44_R45_GivesEveryPodItsPriority) {
  const Row rows[] = {
      {"no class", {.object = pod(kNone)}, {}, "yes"},
      {"a class below: it goes with what was made of it", {.object = pod(kLow)}, {}, kAllGo},
      {"a class below, nothing made of it yet",
       {.object = pod(R"("priorityClassName":"low","priority":-5)")},
       {},
       R"(yes: [{"op":"remove","path":"/spec/priorityClassName"},{"op":"remove","path":"/spec/priority"}])"},
      {"a class above",
       {.object = pod(R"("priorityClassName":"high","priority":5)")},
       {.polite = true},
       "yes"},
      {"the system's",
       {.object = pod(R"("priorityClassName":"system-node-critical","priority":2000001000)")},
       {.polite = true},
       "yes"},
      {"a scavenger's is judged elsewhere",
       {.object = pod(R"("priorityClassName":"scavenger","priority":-1000)")},
       {.polite = true},
       "yes"},
      {"a starved scavenger's",
       {.object = pod(R"("priorityClassName":"scavenger-starved","priority":-999)")},
       {},
       "yes"},
      {"one that only sounds like it",
       {.object = pod(R"("priorityClassName":"scavengers","priority":-1)")},
       {},
       R"(yes: [{"op":"remove")"},
      {"polite, while the operator makes room", {.object = pod(kNone)}, {.polite = true}, kPolite},
      {"polite instead of a class below", {.object = pod(kLow)}, {.polite = true}, kPolite},
      {"polite already",
       {.object = pod(R"("priority":0,"preemptionPolicy":"Never")")},
       {.polite = true},
       "yes"},
      {"the default class, at 0",
       {.object = pod(R"("priorityClassName":"usual","priority":0)")},
       {.polite = true, .default_class = "usual"},
       R"(yes: [{"op":"add")"},
      {"a default class below 0 would come back",
       {.object = pod(R"("priorityClassName":"usual","priority":-1)")},
       {.default_class = "usual"},
       R"(yes [spec.priorityClassName: "usual" is the cluster's default)"},
      {"a kubelet's own",
       {.object = pod(kLow, R"(,"annotations":{"kubernetes.io/config.mirror":"h"})")},
       {},
       "yes"},
      {"an update",
       {.operation = "UPDATE", .object = pod(kLow), .old_object = pod(kLow)},
       {},
       "yes"},
      {"a subresource", {.object = pod(kLow), .subresource = "eviction"}, {}, "yes"},
      {"a dry run is judged the same", {.object = pod(kLow), .dry_run = true}, {}, kAllGo},
  };
  for (const Row& row : rows) {
    const std::string got =
        verdict_text("/ordinary-priority", row.asked, {.ordinary = row.ordinary});
    const std::string wanted = row.verdict;
    if (wanted == "yes")
      EXPECT_EQ(got, wanted) << row.name;
    else
      EXPECT_TRUE(got.starts_with(wanted)) << row.name << ": " << got;
  }
}

TEST(OrdinaryPriority, SaysWhatItHasDone) {
  EXPECT_THAT(verdict_text("/ordinary-priority", {.object = pod(kLow)}),
              testing::HasSubstr("\"low\" lies below 0"));
}

TEST(OrdinaryPriority, LeavesNothingThatTheServersOwnStepWouldRefuse) {
  const std::string before = pod(kLow);
  const std::string text = Asked{.object = before}.text();
  const auto review = read_review(text);
  ASSERT_TRUE(review);
  const auto after = json::json_patch(before, ordinary_priority(*review, {}).patch);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(json::Slice(*after)["spec"].raw(), "{}");
}

}  // namespace
}  // namespace berth::admission
