// SPDX-License-Identifier: Apache-2.0
// Extenders that help, and extenders that hang, lie or vanish.
#include <deque>

#include <gmock/gmock.h>

#include "lab.h"

namespace berth::scheduler::stories {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A pretended extender: `answer` gives the reply to "filter", "prioritize" and "bind"; nullopt
// leaves the caller hanging, an empty text closes the connection.
struct Helper {
  std::function<std::optional<std::string>(const std::string& verb, const std::string& body)>
      answer;
  std::vector<std::string> calls;  // verbs
  std::deque<Done<ExtenderReply>> hanging;

  auto maker() {
    return [this](Scope& scope, const ExtenderConfig& config) -> Result<std::unique_ptr<Extender>> {
      return std::make_unique<Extender>(scope, config, std::make_unique<Way>(*this));
    };
  }
  struct Way final : ExtenderTransport {
    explicit Way(Helper& to) : helper(to) {}
    void post(std::string target, std::string body, std::size_t, Instant,
              Done<ExtenderReply> done) override {
      const std::string verb = target.substr(target.rfind('/') + 1);
      helper.calls.push_back(verb);
      const auto text = helper.answer(verb, body);
      if (!text)
        helper.hanging.push_back(std::move(done));
      else if (text->empty())
        done(fail(Reason::kUnreachable, "connection reset"));
      else
        done(ExtenderReply{.body = *text});
    }
    Helper& helper;
  };
};

// Cares for pods that ask for example.com/gpu.
auto configured(ExtenderConfig extender = {}, bool ignorable = false) {
  return [extender, ignorable](SchedulerConfig& config) mutable {
    extender.url_prefix = "http://helper";
    extender.node_cache_capable = true;
    extender.ignorable = ignorable;
    extender.weight = 1;
    if (extender.filter_verb.empty() && extender.bind_verb.empty()) extender.filter_verb = "filter";
    extender.managed_resources = {{"example.com/gpu", false}};
    config.extenders = {extender};
  };
}

class Extending : public testing::Test {
 protected:
  void begin(ExtenderConfig config = {}, bool ignorable = false) {
    lab = std::make_unique<Lab>(configured(std::move(config), ignorable),
                                [this](AppOptions& options) { options.extender = helper.maker(); });
    for (const char* name : {"n1", "n2", "n3"})
      lab->server.objects.set(
          kube::kNode, {"", name},
          R"("spec":{},"status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"110","example.com/gpu":"4"}})");
    lab->run();
  }
  void gpu_pod(const std::string& name) {
    lab->server.objects.set(
        kube::kPod, {"default", name},
        R"("spec":{"schedulerName":"default-scheduler","containers":[{"name":"main","resources":{"requests":{"cpu":"1","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]},"status":{"phase":"Pending"})");
  }
  ~Extending() override {
    helper.hanging.clear();
    lab.reset();
  }
  Helper helper;
  std::unique_ptr<Lab> lab;
};

TEST_F(Extending, KeepsNodesScoresThemAndIsAskedOnlyAboutItsPods) {
  helper.answer = [](const std::string& verb, const std::string&) {
    return verb == "filter" ? R"({"NodeNames":["n2","n3"],"FailedNodes":{"n1":"no gpu"}})"
                            : R"([{"Host":"n2","Score":1},{"Host":"n3","Score":10}])";
  };
  begin({.filter_verb = "filter", .prioritize_verb = "prioritize"});
  lab->pod("plain");
  lab->run();
  EXPECT_THAT(helper.calls, IsEmpty());
  gpu_pod("gpu");
  lab->run();
  EXPECT_THAT(helper.calls, ElementsAre("filter", "prioritize"));
  EXPECT_EQ(lab->node_of("gpu"), "n3");
}

TEST_F(Extending, ARefusalEverywhereIsToldWithItsReasons) {
  helper.answer = [](const std::string&, const std::string&) {
    return R"({"NodeNames":[],"FailedNodes":{"n1":"no gpu","n2":"no gpu"},"FailedAndUnresolvableNodes":{"n3":"never"}})";
  };
  begin();
  gpu_pod("gpu");
  lab->run();
  ASSERT_FALSE(lab->server.events_of("gpu").empty());
  EXPECT_THAT(lab->server.events_of("gpu")[0],
              HasSubstr("0/3 nodes are available: 1 never, 2 no gpu."));
  EXPECT_NE(lab->scheduler().queue().find("default", "gpu"), nullptr);
}

TEST_F(Extending, OneThatHangsHoldsUpNobodyElse) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run(1s);
  for (int i = 0; i < 5; ++i) lab->pod(fmt::format("plain-{}", i));
  lab->run(1s);
  for (int i = 0; i < 5; ++i) EXPECT_NE(lab->node_of(fmt::format("plain-{}", i)), "");
  lab->run(4s);
  EXPECT_EQ(lab->node_of("gpu"), "");
  ASSERT_FALSE(lab->server.events_of("gpu").empty()) << "its time was up";
  EXPECT_THAT(lab->server.patches.at(0), HasSubstr("SchedulerError"));
}

TEST_F(Extending, WhatCannotBeReadIsAnErrorOrLeftOut) {
  for (const std::string reply : {"<html>", "{\"NodeNames\":7}", "", "{\"Error\":\"my fault\"}"}) {
    for (const bool ignorable : {false, true}) {
      helper.answer = [reply](const std::string&, const std::string&) { return reply; };
      begin({}, ignorable);
      gpu_pod("gpu");
      lab->run();
      EXPECT_EQ(lab->node_of("gpu") != "", ignorable) << reply;
      EXPECT_EQ(lab->server.events_of("gpu").at(0).substr(0, 9),
                ignorable ? "Scheduled" : "FailedSch")
          << reply;
      lab.reset();
    }
  }
}

TEST_F(Extending, MayBindAndItsFailureIsOurs) {
  int binds = 0;
  helper.answer = [&](const std::string&, const std::string&) {
    return ++binds == 1 ? R"({"Error":"not now"})" : R"({})";
  };
  begin({.bind_verb = "bind"});
  gpu_pod("gpu");
  lab->run(500ms);
  EXPECT_THAT(lab->server.events_of("gpu"), ElementsAre(HasSubstr("FailedScheduling: not now")));
  lab->run(10s);
  EXPECT_EQ(binds, 2);
  EXPECT_THAT(lab->server.binds, IsEmpty()) << "it said that it did";
  EXPECT_THAT(lab->server.events_of("gpu"), Contains(HasSubstr("Scheduled: ")));
}

TEST_F(Extending, WhoMayBeIgnoredAndCannotBindIsReplaced) {
  helper.answer = [&](const std::string&, const std::string&) { return ""; };
  begin({.bind_verb = "bind"}, true);
  gpu_pod("gpu");
  lab->run();
  EXPECT_NE(lab->node_of("gpu"), "");
}

TEST_F(Extending, APodThatIsDeletedMeanwhileIsNotPlaced) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->remove_pod("gpu");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1"]})"});
  lab->run();
  EXPECT_THAT(lab->server.binds, IsEmpty());
  EXPECT_EQ(lab->scheduler().cluster().pod_count(), 0u);
  EXPECT_THAT(lab->scheduler().queue().in_flight_pods(), IsEmpty());
}

TEST_F(Extending, APodThatSomebodyElseBindsMeanwhileIsLeftAlone) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->pod("gpu", "1", R"(,"nodeName":"n2")");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1"]})"});
  lab->run();
  EXPECT_THAT(lab->server.binds, IsEmpty());
  EXPECT_EQ(lab->scheduler().cluster().pod_count(), 1u);
  EXPECT_THAT(lab->scheduler().queue().in_flight_pods(), IsEmpty());
}

TEST_F(Extending, ItsAnswerIsCheckedAgainstWhatHappenedMeanwhile) {
  helper.answer = [](const std::string&, const std::string&) { return std::nullopt; };
  begin();
  gpu_pod("gpu");
  lab->run();
  lab->node("n1", "4", R"("unschedulable":true)");
  lab->run();
  helper.hanging.front()(ExtenderReply{.body = R"({"NodeNames":["n1","n2"]})"});
  lab->run();
  EXPECT_EQ(lab->node_of("gpu"), "n2");
}

}  // namespace
}  // namespace berth::scheduler::stories
