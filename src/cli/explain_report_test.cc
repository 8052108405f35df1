// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_report.h"

#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/explain/answer.h"
#include "scheduler/plugins/registry.h"

namespace berth::cli {
namespace {

using scheduler::Case;
using scheduler::Judgement;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Subject {
  std::string spec = R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]})";
  std::string on = {};         // it is on this node already
  std::string nominated = {};  // it was promised this one
  bool deleting = false;
};

std::string node(const std::string& name, int cpu, const std::string& spec = "{}") {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{},"status":{{"allocatable":{{"cpu":"{}","memory":"16Gi","pods":"10"}}}}}})",
      name, spec, cpu);
}

std::string pod_on(const std::string& name, const std::string& node_name, int cpu,
                   int priority = 0) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"d","uid":"{0}"}},"spec":{{"priority":{3},"nodeName":"{1}","containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{2}"}}}}}}]}}}})",
      name, node_name, cpu, priority);
}

// What a person reads; `nodes` and `pods` are lists of JSON objects without their brackets.
std::string explained(const std::string& nodes, const std::string& pods, const Subject& subject,
                      const ReportOptions& options = {}) {
  Result<Case> problem = scheduler::read_case(fmt::format(
      R"({{"id":"x","nodes":[{}],"pods":[{}],"pending":{{"metadata":{{"name":"web","namespace":"d","uid":"web"}},"spec":{},"status":{{"nominatedNodeName":"{}"}}}}}})",
      nodes, pods, subject.spec, subject.nominated));
  if (!problem) return problem.error().message;
  auto seen = std::make_shared<scheduler::Pod>(*problem->pending);
  seen->node_name = subject.on;
  seen->deleting = subject.deleting;
  const Judgement judgement(scheduler::case_profile(), scheduler::all_plugins(), *problem, {});
  std::ostringstream out;
  print_explanation(judgement, *seen, options, out);
  return out.str();
}

// The same as one line: where it is broken does not matter.
std::string sentences(const std::string& nodes, const std::string& pods, const Subject& subject) {
  std::string text = explained(nodes, pods, subject);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(ExplainReport, ShowsScoresOfWhatFitsAndReasonsOfWhatDoesNot) {
  EXPECT_EQ(explained(node("small", 1) + "," + node("big", 8) + "," + node("busy", 8) + "," +
                          node("away", 8, R"({"unschedulable":true})"),
                      pod_on("other", "busy", 3), {}),
            R"(Pod d/web (priority 0, scheduler default-scheduler) waits for a node.
It would go to big: the best of 2 nodes that fit, of 4 in all.

                    Node
               Resources
  NODE  TOTAL        Fit
* big     454         86
  busy    435         67
  Equal on all of them: TaintToleration 300, NodeResourcesBalancedAllocation 68, ImageLocality 0

Refused on 2 of 4 nodes:
  1 x NodeResourcesFit: Insufficient cpu
      small
  1 x NodeUnschedulable: node(s) were unschedulable
      away
)");
}

TEST(ExplainReport, WhereNothingFitsItSaysWhatTheSchedulerSaysAndWhomItWouldEvict) {
  EXPECT_EQ(
      explained(
          node("one", 4) + "," + node("two", 4),
          pod_on("low", "one", 3) + "," + pod_on("high", "two", 3, 200),
          {.spec =
               R"({"priority":100,"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]})"}),
      R"(Pod d/web (priority 100, scheduler default-scheduler) waits for a node.
It would fit on none of the 2 nodes.

Refused on 2 of 2 nodes:
  2 x NodeResourcesFit: Insufficient cpu
      one, two

The scheduler would say:
  0/2 nodes are available: 2 Insufficient cpu.

Preemption would evict 1 pod from one:
  d/low (priority 0)
)");
}

TEST(ExplainReport, APodThatMayNotPreemptSaysSo) {
  EXPECT_THAT(
      sentences(
          node("one", 1), "",
          {.spec =
               R"({"preemptionPolicy":"Never","priority":5,"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]})"}),
      HasSubstr("preemption: not eligible due to "));
}

TEST(ExplainReport, SaysWhetherTheNodeOfAPlacedPodIsStillTheChoice) {
  const std::string nodes = node("small", 1) + "," + node("big", 8) + "," + node("busy", 8);
  const std::string pods = pod_on("other", "busy", 3);
  EXPECT_THAT(sentences(nodes, pods, {.on = "big"}),
              HasSubstr("is on big. big is still the choice: the best of 2 nodes that fit, of 3"));
  EXPECT_THAT(sentences(nodes, pods, {.on = "busy"}), HasSubstr("busy still fits, with "));
  EXPECT_THAT(sentences(nodes, pods, {.on = "small"}),
              HasSubstr("small would be refused by NodeResourcesFit."));
  EXPECT_THAT(sentences(nodes, pods, {.on = "gone"}), HasSubstr("gone does not exist any more."));
}

TEST(ExplainReport, NamesTheGatesAndWhatWouldHappenWithoutThem) {
  EXPECT_THAT(sentences(node("a", 4), "",
                        {.spec = R"({"schedulingGates":[{"name":"x/quota"},{"name":"x/wait"}]})"}),
              HasSubstr("is held back by its scheduling gates: x/quota, x/wait. Without them it "
                        "would go to a: it is the only node."));
}

TEST(ExplainReport, SaysThatAPromiseDecides) {
  EXPECT_THAT(sentences(node("a", 4) + "," + node("b", 8), "", {.nominated = "a"}),
              HasSubstr("It would go to a: the node that preemption has promised to it"));
}

TEST(ExplainReport, SaysWhenOthersAreAsGood) {
  EXPECT_THAT(sentences(node("a", 8) + "," + node("b", 8) + "," + node("c", 4), "", {}),
              HasSubstr("2 share that total"));
}

TEST(ExplainReport, AClusterWithoutNodesIsSaid) {
  EXPECT_THAT(explained("", "", {}),
              HasSubstr("The scheduler would say:\n  no nodes available to schedule pods\n"));
}

TEST(ExplainReport, ARefusalOfTheWholePodNamesThePlugin) {
  const std::string text = sentences(
      node("a", 4), "",
      {.spec = R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}]})"});
  EXPECT_THAT(text, HasSubstr("refused before any node is looked at by Volume"));
  EXPECT_THAT(text, HasSubstr("persistentvolumeclaim \"none\" not found"));
}

std::string many_nodes() {
  std::string nodes;
  for (int i = 0; i < 500; ++i)
    nodes += (i == 0 ? "" : ",") +
             node(fmt::format("node-with-a-rather-long-name-{:03}", i), i % 2 == 0 ? 1 : 4 + i % 7);
  return nodes;
}

TEST(ExplainReport, LongListsAreCutAndStayInTheirColumns) {
  const std::string text =
      explained(many_nodes(), pod_on("o", "node-with-a-rather-long-name-005", 1), {});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 30);
  EXPECT_THAT(text, HasSubstr(" more, down to "));
  EXPECT_THAT(text, HasSubstr("250 x NodeResourcesFit: Insufficient cpu"));
  EXPECT_THAT(text, HasSubstr(", and 24"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ExplainReport, AllNodesAreListedWhenAsked) {
  const std::string text = explained(many_nodes(), "", {}, {.all_nodes = true});
  EXPECT_THAT(text, Not(HasSubstr("more")));
  for (int i = 0; i < 500; ++i)
    EXPECT_THAT(text, HasSubstr(fmt::format("node-with-a-rather-long-name-{:03}", i)));
}

TEST(ExplainReport, KeepsToNarrowTerminals) {
  const std::string text = explained(node("a", 8) + "," + node("b", 4) + "," + node("c", 2),
                                     pod_on("x", "a", 1), {}, {.columns = 60});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
}

}  // namespace
}  // namespace berth::cli
