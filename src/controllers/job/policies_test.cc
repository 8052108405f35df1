// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/policies.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using Action = Judgement::Action;

kube::Object pod(const char* status) {
  return *kube::Object::parse(
      kube::kPod,
      std::string(R"({"metadata":{"name":"p","namespace":"ns"},"status":)") + status + "}");
}

TEST(PodFailurePolicy, JudgesByTheFirstRuleThatMatches) {
  const char* kExit7 =
      R"({"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":7}}}]})";
  struct Row {
    const char* why;
    const char* rules;
    const char* status;
    Action action;
    const char* message;
  };
  for (
      const Row& row : {
          Row{"no rules", "[]", kExit7, Action::kNone, ""},
          {"in", R"([{"action":"Ignore","onExitCodes":{"operator":"In","values":[6,7]}}])", kExit7,
           Action::kIgnore, ""},
          {"not in", R"([{"action":"Count","onExitCodes":{"operator":"NotIn","values":[6]}}])",
           kExit7, Action::kCount, ""},
          {"listed", R"([{"action":"Count","onExitCodes":{"operator":"NotIn","values":[7]}}])",
           kExit7, Action::kNone, ""},
          {"another container",
           R"([{"action":"Ignore","onExitCodes":{"containerName":"side","operator":"In","values":[7]}}])",
           kExit7, Action::kNone, ""},
          {"success is no failure",
           R"([{"action":"Ignore","onExitCodes":{"operator":"NotIn","values":[7]}}])",
           R"({"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0}}}]})",
           Action::kNone, ""},
          {"an init container",
           R"([{"action":"FailIndex","onExitCodes":{"operator":"In","values":[3]}}])",
           R"({"initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":3}}}]})",
           Action::kFailIndex, ""},
          {"still running",
           R"([{"action":"Ignore","onExitCodes":{"operator":"NotIn","values":[7]}}])",
           R"({"containerStatuses":[{"name":"main","state":{"running":{}}}]})", Action::kNone, ""},
          {"a condition",
           R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])",
           R"({"conditions":[{"type":"DisruptionTarget","status":"True"}]})", Action::kIgnore, ""},
          {"a condition that does not hold",
           R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])",
           R"({"conditions":[{"type":"DisruptionTarget","status":"False"}]})", Action::kNone, ""},
          {"the second rule",
           R"([{"action":"Ignore","onExitCodes":{"operator":"In","values":[1]}},{"action":"FailJob","onExitCodes":{"operator":"In","values":[7]}}])",
           kExit7, Action::kFailJob,
           "Container main for pod ns/p failed with exit code 7 matching FailJob rule at index 1"},
          {"the job by a condition",
           R"([{"action":"FailJob","onPodConditions":[{"type":"ConfigIssue","status":"True"}]}])",
           R"({"conditions":[{"type":"ConfigIssue","status":"True"}]})", Action::kFailJob,
           "Pod ns/p has condition ConfigIssue matching FailJob rule at index 0"},
      }) {
    SCOPED_TRACE(row.why);
    const std::string policy = std::string(R"({"rules":)") + row.rules + "}";
    const Judgement judged = judge_failure(json::Slice(std::string_view(policy)), pod(row.status));
    EXPECT_EQ(judged.action, row.action);
    EXPECT_EQ(judged.message, row.message);
    EXPECT_EQ(judged.counts(), row.action != Action::kIgnore);
  }
  EXPECT_EQ(judge_failure({}, pod(kExit7)).action, Action::kNone);
}

TEST(SuccessPolicy, IsMetByIndexesOrTheirNumber) {
  struct Row {
    const char* rules;
    const char* done;
    const char* message;
  };
  for (const Row& row : {
           Row{R"([{"succeededIndexes":"0-2"}])", "0-3", "Matched rules at index 0"},
           {R"([{"succeededIndexes":"0-2"}])", "0,1", ""},
           {R"([{"succeededIndexes":"0-5","succeededCount":2}])", "1,4",
            "Matched rules at index 0"},
           {R"([{"succeededIndexes":"0-5","succeededCount":2}])", "1,7", ""},
           {R"([{"succeededCount":3}])", "1,5,7", "Matched rules at index 0"},
           {R"([{"succeededIndexes":"0"},{"succeededCount":1}])", "5", "Matched rules at index 1"},
           {R"([{"succeededIndexes":"x"},{"succeededCount":9}])", "5", ""},
           {R"([{"succeededCount":0}])", "", ""},
       }) {
    SCOPED_TRACE(std::string(row.rules) + " with " + row.done);
    const std::string policy = std::string(R"({"rules":)") + row.rules + "}";
    EXPECT_EQ(success_met(json::Slice(std::string_view(policy)), 10, Indexes::parse(row.done, 10))
                  .value_or(""),
              row.message);
  }
  EXPECT_FALSE(success_met({}, 10, Indexes({1})));
}

}  // namespace
}  // namespace berth::controllers
