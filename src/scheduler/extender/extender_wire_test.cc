// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

kube::Object node(std::string_view name) {
  return kube::Object::parse(kube::kNode, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name))
      .value();
}
kube::Object pod(std::string_view name) {
  return kube::Object::parse(kube::kPod, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name))
      .value();
}
ExtenderArgs args(std::vector<std::string> names) {
  ExtenderArgs made{.pod = pod("web")};
  for (const std::string& name : names) made.nodes.push_back(node(name));
  made.names = std::make_shared<const std::vector<std::string>>(std::move(names));
  return made;
}
std::vector<std::string> kept(const Result<ExtenderFilterResult>& result) {
  if (!result) return {"error: " + result.error().message};
  std::vector<std::string> names;
  for (const auto& k : result->kept) names.push_back(k.name);
  return names;
}
Result<ExtenderFilterResult> filter(std::string_view reply, bool names_only) {
  return read_filter_reply(reply, args({"n1", "n2"}), names_only, "http://e");
}

TEST(ExtenderRequest, NodesOrNamesAreSentNeverBoth) {
  EXPECT_EQ(extender_request(args({"n1", "n2"}), true),
            R"({"Pod":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}},"Nodes":null,)"
            R"("NodeNames":["n1","n2"]})");
  EXPECT_EQ(extender_request(args({"n1"}), false),
            R"({"Pod":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}},)"
            R"("Nodes":{"metadata":{},"items":[{"kind":"Node","apiVersion":"v1",)"
            R"("metadata":{"name":"n1"}}]},"NodeNames":null})");
}

TEST(ExtenderRequest, VictimsAreWholePodsOrUids) {
  const ExtenderPreemptArgs asked{
      .pod = pod("web"),
      .victims = {{"n1", {.pods = {pod("a")}, .uids = {"u1"}, .pdb_violations = 2}}, {"n2", {}}}};
  EXPECT_THAT(extender_request(asked, true),
              HasSubstr(R"(,"NodeNameToVictims":null,"NodeNameToMetaVictims":)"
                        R"({"n1":{"Pods":[{"UID":"u1"}],"NumPDBViolations":2},)"
                        R"("n2":{"Pods":[],"NumPDBViolations":0}}})"));
  EXPECT_THAT(extender_request(asked, false),
              HasSubstr(R"("NodeNameToVictims":{"n1":{"Pods":[{"kind":"Pod","apiVersion":"v1",)"
                        R"("metadata":{"name":"a"}}],"NumPDBViolations":2},)"));
}

TEST(ExtenderRequest, ABindingNamesPodAndNode) {
  EXPECT_EQ(extender_request(ExtenderBindArgs{"web", "ns", "u", "n\"1"}),
            R"({"PodName":"web","PodNamespace":"ns","PodUID":"u","Node":"n\"1"})");
}

TEST(FilterReply, NamesCountOnlyForExtendersThatCacheNodes) {
  const char* names = R"({"NodeNames":["n2","n1"]})";
  EXPECT_THAT(kept(filter(names, true)), ElementsAre("n2", "n1"));
  EXPECT_THAT(kept(filter(names, false)), IsEmpty());
  const char* nodes = R"({"Nodes":{"items":[{"metadata":{"name":"n2"}}]}})";
  EXPECT_THAT(kept(filter(nodes, true)), ElementsAre("n2"));
  EXPECT_THAT(kept(filter(nodes, false)), ElementsAre("n2"));
  EXPECT_TRUE(filter(nodes, false)->kept[0].node.valid());
  EXPECT_THAT(kept(filter("{}", true)), IsEmpty());
  EXPECT_THAT(kept(filter("null", true)), IsEmpty());
}

TEST(FilterReply, KeysComeInAnyCaseAndTextBehindTheValueIsIgnored) {
  const auto result = filter(
      R"( {"nodenames":["n1"],"failedNodes":{"n2":"full"},"FAILEDANDUNRESOLVABLENODES":{"n3":"no"},)"
      R"("unknown":[{}],"error":""} trailing garbage)",
      true);
  EXPECT_THAT(kept(result), ElementsAre("n1"));
  EXPECT_THAT(result->failed, ElementsAre(Pair("n2", "full")));
  EXPECT_THAT(result->unresolvable, ElementsAre(Pair("n3", "no")));
}

TEST(FilterReply, WhatCannotBeUsedIsSaid) {
  struct Row {
    const char* reply;
    const char* error;
  };
  const Row rows[] = {
      {"", "line 1"},
      {"<html>", "line 1"},
      {R"({"NodeNames":)", "line 1"},
      {R"([])", "the reply: expected an object, found a list"},
      {R"({"NodeNames":"n1"})", "NodeNames: expected a list, found a string"},
      {R"({"NodeNames":[1]})", "NodeNames: expected a string, found a number"},
      {R"({"NodeNames":["elsewhere"]})", "not found in the input node list"},
      {R"({"Nodes":[]})", "Nodes: expected an object, found a list"},
      {R"({"Nodes":{"items":{}}})", "Nodes.items: expected a list"},
      {R"({"Nodes":{"items":[7]}})", "Nodes.items[0]"},
      {R"({"FailedNodes":{"n1":false}})", "FailedNodes: expected a string, found a bool"},
      {R"({"Error":"out of chips"})", "out of chips"},
  };
  for (const Row& row : rows) {
    const auto result = filter(row.reply, true);
    ASSERT_FALSE(result) << row.reply;
    EXPECT_THAT(result.error().message, HasSubstr(row.error)) << row.reply;
  }
}

TEST(FilterReply, NullsLeaveNothing) {
  const auto result =
      filter(R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"Error":null})", true);
  EXPECT_THAT(kept(result), IsEmpty());
  EXPECT_THAT(result->failed, IsEmpty());
}

TEST(PrioritizeReply, ScoresAreIntegersOfAnySize) {
  const auto scores =
      read_prioritize_reply(R"([{"Host":"n1","Score":10},{"host":"n2","score":-3},{}])");
  ASSERT_TRUE(scores) << scores.error().message;
  EXPECT_THAT(*scores, ElementsAre(HostScore{"n1", 10}, HostScore{"n2", -3}, HostScore{}));
  for (const char* bad : {R"([{"Score":1.5}])", R"([{"Score":1.0}])", R"([{"Score":1e2}])",
                          R"([{"Score":9223372036854775808}])", R"([{"Score":"1"}])", R"({})"})
    EXPECT_FALSE(read_prioritize_reply(bad)) << bad;
  EXPECT_THAT(*read_prioritize_reply("null"), IsEmpty());
}

TEST(PreemptReply, VictimsComeByUid) {
  const auto victims = read_preempt_reply(
      R"({"nodeNameToMetaVictims":{"n1":{"pods":[{"uid":"a"},{"UID":"b"}],"numPDBViolations":1}}})");
  ASSERT_TRUE(victims) << victims.error().message;
  ASSERT_EQ(victims->size(), 1u);
  EXPECT_THAT(victims->at("n1").uids, ElementsAre("a", "b"));
  EXPECT_EQ(victims->at("n1").pdb_violations, 1);
  EXPECT_FALSE(read_preempt_reply(R"({"NodeNameToMetaVictims":{"n1":null}})"));
  EXPECT_FALSE(read_preempt_reply(R"({"NodeNameToMetaVictims":{"n1":{"Pods":[null]}}})"));
}

TEST(BindReply, AnErrorIsPassedOn) {
  EXPECT_TRUE(read_bind_reply(R"({"Error":""})"));
  EXPECT_TRUE(read_bind_reply("{}"));
  EXPECT_EQ(read_bind_reply(R"({"error":"taken"})").error().message, "taken");
}

TEST(ValueEnd, IsFoundHoweverTheTextIsCut) {
  struct Row {
    std::string_view text;
    std::size_t end;  // npos: not within the text
  };
  const Row rows[] = {{R"( {"a":"}\"]"} x)", 13},
                      {"[[],[{}]]]]", 9},
                      {R"("a\\" )", 5},
                      {"null ", 4},
                      {"12,", 2},
                      {"[1,2", std::string_view::npos},
                      {"", std::string_view::npos}};
  for (const Row& row : rows)
    for (std::size_t size = 1; size <= row.text.size() + 1; ++size) {
      ValueEnd end;
      auto found = ValueEnd::Found::kNotYet;
      for (std::size_t at = 0; at < row.text.size() && found == ValueEnd::Found::kNotYet;
           at += size)
        found = end.feed(row.text.substr(at, size));
      EXPECT_EQ(found == ValueEnd::Found::kEnd, row.end != std::string_view::npos) << row.text;
      if (row.end != std::string_view::npos) {
        EXPECT_EQ(end.length(), row.end) << row.text;
      }
    }
  EXPECT_EQ(ValueEnd().feed("  <html>"), ValueEnd::Found::kGarbage);
  EXPECT_EQ(ValueEnd().feed("}"), ValueEnd::Found::kGarbage);
}

}  // namespace
}  // namespace berth::scheduler
