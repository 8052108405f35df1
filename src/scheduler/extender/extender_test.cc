// SPDX-License-Identifier: Apache-2.0
// How calls queue, time out and are answered, in virtual time.
#include "scheduler/extender/extender.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"

namespace berth::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Takes every post and answers none by itself.
struct FakeTransport final : ExtenderTransport {
  struct Post {
    std::string target, body;
    std::size_t most;
    Done<ExtenderReply> done;
  };
  explicit FakeTransport(std::deque<Post>& to) : posts(to) {}
  void post(std::string target, std::string body, std::size_t most, Instant,
            Done<ExtenderReply> done) override {
    posts.push_back({std::move(target), std::move(body), most, std::move(done)});
  }
  std::deque<Post>& posts;
};

struct Lab {
  explicit Lab(ExtenderConfig config = full(), ExtenderLimits limits = {})
      : extender(std::make_unique<Extender>(scope, std::move(config),
                                            std::make_unique<FakeTransport>(posts), limits)) {}
  ~Lab() {
    extender.reset();
    scope.close(0s, [] {});
    home.close(0s, [] {});
    world.run_until_idle(1h);
  }
  static ExtenderConfig full() {
    return {.url_prefix = "http://e:1/x/",
            .filter_verb = "filter",
            .preempt_verb = "preempt",
            .prioritize_verb = "prioritize",
            .bind_verb = "bind",
            .weight = 3,
            .node_cache_capable = true};
  }
  static ExtenderArgs args() {
    return {.pod = kube::Object::parse(kube::kPod, R"({"metadata":{"name":"p"}})").value(),
            .names = std::make_shared<const std::vector<std::string>>(
                std::vector<std::string>{"n1", "n2"})};
  }
  void filter() {
    extender->filter(
        args(), home.done<ExtenderFilterResult>(kNoLimit, [this](Result<ExtenderFilterResult> r) {
          answers.push_back(r ? fmt::format("kept {}", r->kept.size()) : r.error().message);
        }));
  }
  void bind() {
    extender->bind({"p", "ns", "u", "n1"}, home.done<Ok>(kNoLimit, [this](Result<Ok> r) {
      answers.push_back(r ? "bound" : r.error().message);
    }));
  }
  // Answers the oldest post.
  void reply(ExtenderReply reply) {
    posts.front().done(std::move(reply));
    posts.pop_front();
    settle();
  }
  void settle() { world.run_for(0s); }

  World world{1};
  Scope scope{world.loop("io"), "extender"}, home{world.loop("scheduler"), "home"};
  std::deque<FakeTransport::Post> posts;
  std::unique_ptr<Extender> extender;
  std::vector<std::string> answers;
};

TEST(Extender, CallsAreSentBelowTheUrlAndAnswered) {
  Lab lab;
  lab.filter();
  lab.settle();
  ASSERT_EQ(lab.posts.size(), 1u);
  EXPECT_EQ(lab.posts[0].target, "/x/filter");
  EXPECT_THAT(lab.posts[0].body, HasSubstr(R"("NodeNames":["n1","n2"])"));
  EXPECT_GE(lab.posts[0].most, std::size_t{32} << 20);
  lab.reply({.body = R"({"NodeNames":["n2"]})"});
  EXPECT_THAT(lab.answers, ElementsAre("kept 1"));
}

TEST(Extender, AHangingCallEndsWithTheTimeoutAndLetsTheNextOneGo) {
  Lab lab(Lab::full(), {.concurrency = 1});
  lab.filter();
  lab.bind();
  lab.settle();
  ASSERT_EQ(lab.posts.size(), 1u);
  lab.world.run_for(5s);
  ASSERT_EQ(lab.answers.size(), 1u);
  EXPECT_THAT(lab.answers[0], HasSubstr("failed filter with extender at URL http://e:1/x/filter:"));
  lab.settle();
  ASSERT_EQ(lab.posts.size(), 2u);
  EXPECT_EQ(lab.posts[1].target, "/x/bind");
}

TEST(Extender, BindsDoNotWaitForACrowdOfFilters) {
  Lab lab(Lab::full(), {.concurrency = 2});
  for (int i = 0; i < 10; ++i) lab.filter();
  lab.bind();
  lab.settle();
  ASSERT_EQ(lab.posts.size(), 2u);
  lab.reply({.body = "{}"});
  lab.reply({.body = "{}"});
  EXPECT_TRUE(lab.posts[0].target == "/x/bind" || lab.posts[1].target == "/x/bind");
}

TEST(Extender, LargeRequestsGoOneByOne) {
  Lab lab(Lab::full(), {.concurrency = 8, .bytes = 100});
  lab.bind();  // each counts as a kilobyte
  lab.bind();
  lab.settle();
  EXPECT_EQ(lab.posts.size(), 1u);
  lab.reply({.body = "{}"});
  EXPECT_EQ(lab.posts.size(), 1u);
  EXPECT_THAT(lab.answers, ElementsAre("bound"));
}

TEST(Extender, TooManyWaitingCallsAreRefused) {
  Lab lab(Lab::full(), {.concurrency = 1, .waiting = 1});
  for (int i = 0; i < 3; ++i) lab.filter();
  lab.settle();
  ASSERT_EQ(lab.answers.size(), 1u);
  EXPECT_THAT(lab.answers[0], HasSubstr("too many calls wait"));
}

TEST(Extender, StatusAndContentDecide) {
  struct Row {
    ExtenderReply reply;
    const char* answer;
  };
  const Row rows[] = {
      {{.status = 500}, "failed filter with extender at URL http://e:1/x/filter, code 500"},
      {{.status = 204}, "failed filter with extender at URL http://e:1/x/filter, code 204"},
      {{.status = 302, .location = "/other"}, "code 302, which leads to /other"},
      {{.status = 307, .location = "http://elsewhere:1/y"}, "which leads to http://elsewhere:1/y"},
      {{.body = "<html>"}, "the reply to filter cannot be used"},
      {{.body = R"({"Error":"no licence"})"}, "no licence"},
      {{.body = R"({"NodeNames":["n9"]})"},
       R"(extender "http://e:1/x/" claims a filtered node "n9" which is not found in the input node list)"},
  };
  for (const Row& row : rows) {
    Lab lab;
    lab.filter();
    lab.settle();
    lab.reply(row.reply);
    ASSERT_EQ(lab.answers.size(), 1u) << row.answer;
    EXPECT_THAT(lab.answers[0], HasSubstr(row.answer));
  }
}

TEST(Extender, ARedirectionWithinTheOriginIsFollowedTenTimes) {
  Lab lab;
  lab.filter();
  lab.settle();
  lab.reply({.status = 307, .location = "http://E:1/moved?a=b"});
  ASSERT_EQ(lab.posts.size(), 1u);
  EXPECT_EQ(lab.posts[0].target, "/moved?a=b");
  EXPECT_THAT(lab.posts[0].body, HasSubstr("NodeNames"));
  for (int i = 0; i < 10; ++i) lab.reply({.status = 308, .location = "/again"});
  ASSERT_EQ(lab.answers.size(), 1u);
  EXPECT_THAT(lab.answers[0], HasSubstr("code 308"));
}

TEST(Extender, VerbsItDoesNotHaveAreAnsweredAsKubeSchedulerDoes) {
  Lab lab({.url_prefix = "http://e"});
  lab.filter();
  lab.bind();
  HostScores scores;
  lab.extender->prioritize(
      Lab::args(), lab.home.done<HostScores>(kNoLimit, [&](Result<HostScores> r) { scores = *r; }));
  lab.settle();
  EXPECT_THAT(lab.answers, ElementsAre("kept 2", "extender http://e has no bind verb"));
  EXPECT_EQ(scores.weight, 0);
  EXPECT_THAT(scores.hosts, ElementsAre(HostScore{"n1", 0}, HostScore{"n2", 0}));
}

TEST(Extender, WhoIsDestroyedAnswersItsCalls) {
  Lab lab(Lab::full(), {.concurrency = 1});
  lab.filter();
  lab.filter();
  lab.settle();
  lab.extender.reset();
  lab.posts.clear();
  lab.settle();
  EXPECT_EQ(lab.answers.size(), 2u);
}

TEST(Extender, InterestIsAboutManagedResourcesOfAllContainers) {
  Lab all, some({.url_prefix = "http://e", .managed_resources = {{"example.com/chip", true}}});
  struct Row {
    const char* spec;
    bool interested;
  };
  const Row rows[] = {
      {R"({})", false},
      {R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}]})", false},
      {R"({"containers":[{},{"resources":{"requests":{"example.com/chip":"0"}}}]})", true},
      {R"({"containers":[{"resources":{"limits":{"example.com/chip":"1"}}}]})", true},
      {R"({"initContainers":[{"resources":{"limits":{"example.com/chip":"1"}}}]})", true},
      {R"({"ephemeralContainers":[{"resources":{"limits":{"example.com/chip":"1"}}}]})", false},
  };
  for (const Row& row : rows) {
    const auto pod =
        kube::Object::parse(kube::kPod, fmt::format(R"({{"metadata":{{}},"spec":{}}})", row.spec));
    EXPECT_EQ(some.extender->interested(*pod), row.interested) << row.spec;
    EXPECT_TRUE(all.extender->interested(*pod));
  }
}

}  // namespace
}  // namespace berth::scheduler
