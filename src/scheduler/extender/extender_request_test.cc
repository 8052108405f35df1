// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender_request.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

kube::Object object(kube::KindId kind, const std::string& name) {
  const std::string json = R"({"metadata":{"name":")" + name + R"(","uid":"u-)" + name + R"("}})";
  return kube::Object::parse(kind, json).value();
}
ExtenderArgs asked(std::vector<std::string> names, bool whole) {
  ExtenderArgs args{.pod = object(kube::kPod, "p")};
  if (whole)
    for (const std::string& name : names) args.nodes.push_back(object(kube::kNode, name));
  args.names = std::make_shared<const std::vector<std::string>>(std::move(names));
  return args;
}

TEST(ExtenderRequest, WhatASchedulerWritesIsReadAsItWasMeant) {
  for (const bool names_only : {true, false}) {
    const ExtenderArgs args = asked({"n1", "n2"}, !names_only);
    const auto read = read_filter_request(extender_request(args, names_only));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->names_only, names_only);
    EXPECT_EQ(read->args.pod.uid(), "u-p");
    EXPECT_THAT(*read->args.names, ElementsAre("n1", "n2"));
    EXPECT_EQ(read->args.nodes.size(), names_only ? 0u : 2u);
  }
  ExtenderPreemptArgs args{.pod = object(kube::kPod, "p")};
  args.victims["n1"] = {{object(kube::kPod, "v")}, {"u-v"}, 2};
  for (const bool uids_only : {true, false}) {
    const auto read = read_preempt_request(extender_request(args, uids_only));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->victims.size(), 1u);
    EXPECT_THAT(read->victims.at("n1").uids, ElementsAre("u-v"));
    EXPECT_EQ(read->victims.at("n1").pdb_violations, 2);
  }
}

// Bodies that a stock kube-scheduler 1.36.4 sent about an executor on a full cluster of three
// nodes.
TEST(ExtenderRequest, WhatTheRealSchedulerSendsIsRead) {
  const auto recorded = [](const std::string& name) {
    std::ifstream in("tests/fuzz/corpus/extender_request/stock-1.36-" + name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  };
  for (const bool names_only : {true, false}) {
    const auto filter = read_filter_request(recorded(names_only ? "filter-names" : "filter-nodes"));
    ASSERT_TRUE(filter) << filter.error().message;
    EXPECT_EQ(filter->names_only, names_only);
    EXPECT_EQ(filter->args.pod.label("berth.dev/grant").size(), 14u);
    EXPECT_FALSE(filter->args.names->empty());
    EXPECT_EQ(filter->args.nodes.size(), names_only ? 0u : filter->args.names->size());
    const auto preempt =
        read_preempt_request(recorded(names_only ? "preempt-uids" : "preempt-pods"));
    ASSERT_TRUE(preempt) << preempt.error().message;
    EXPECT_EQ(preempt->victims.size(), 3u);
    for (const auto& [node, victims] : preempt->victims) {
      ASSERT_FALSE(victims.uids.empty()) << node;
      EXPECT_EQ(victims.uids.front().size(), 36u) << node;
      EXPECT_EQ(victims.pods.size(), names_only ? 0u : victims.uids.size());
    }
  }
}

TEST(ExtenderRequest, WhatAnExtenderWritesIsReadAsItWasMeant) {
  for (const bool names_only : {true, false}) {
    const std::string third = names_only ? "n\"3" : "n3";  // no object has such a name
    const ExtenderArgs args = asked({"n1", "n2", third}, !names_only);
    ExtenderFilterResult result;
    result.kept.push_back({"n2", names_only ? kube::Object() : args.nodes[1]});
    result.failed["n1"] = "no \"room\"";
    result.unresolvable[third] = "never";
    const auto read = read_filter_reply(filter_reply(result, names_only), args, names_only, "e");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->kept.size(), 1u);
    EXPECT_EQ(read->kept[0].name, "n2");
    EXPECT_EQ(read->kept[0].node.valid(), !names_only);
    EXPECT_EQ(read->failed, result.failed);
    EXPECT_EQ(read->unresolvable, result.unresolvable);
  }
  VictimsByNode victims;
  victims["n1"] = {{}, {"a", "b"}, 1};
  const auto read = read_preempt_reply(preempt_reply(victims));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->at("n1").uids, ElementsAre("a", "b"));
  EXPECT_EQ(read->at("n1").pdb_violations, 1);
}

// As the k8s 1.36 scheduler writes an empty answer, and as Go reads ours: absent is not empty.
TEST(ExtenderRequest, NobodyIsAListWithoutMembers) {
  EXPECT_EQ(
      filter_reply({}, true),
      R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(
      filter_reply({}, false),
      R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(preempt_reply({}), R"({"NodeNameToMetaVictims":{}})");
}

TEST(ExtenderRequest, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"{}", "Pod"},
      {R"({"Pod":{}})", "neither Nodes nor NodeNames"},
      {R"({"Pod":[],"NodeNames":[]})", "Pod"},
      {R"({"Pod":{},"NodeNames":"n1"})", "NodeNames: expected a list, found a string"},
      {R"({"Pod":{},"NodeNames":[1]})", "NodeNames: expected a string, found a number"},
      {R"({"Pod":{},"Nodes":{"items":[null]}})", "Nodes.items: a node is null"},
      {R"({"Pod":{},"NodeNames":["a"})", ""},
  };
  for (const auto& [text, message] : rows) {
    const auto read = read_filter_request(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << text;
  }
  EXPECT_FALSE(read_preempt_request(R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[null]}}})"));
  EXPECT_FALSE(read_preempt_request(R"({"Pod":{},"NodeNameToMetaVictims":[]})"));
  EXPECT_TRUE(read_preempt_request(R"({"Pod":{},"NodeNameToVictims":null,"Extra":1})"));
}

}  // namespace
}  // namespace berth::scheduler
