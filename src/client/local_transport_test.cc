// SPDX-License-Identifier: Apache-2.0
#include "client/local_transport.h"

#include <gtest/gtest.h>

#include "base/world.h"

namespace berth::client {
namespace {

// Answers at once with what was asked.
class Echo final : public kube::ApiHandler {
 public:
  explicit Echo(Executor& home) : home_(home) {}
  void handle(kube::ApiRequest request, Done<kube::ApiReply> done) override {
    EXPECT_TRUE(home_.here());
    seen.push_back(request.user.name + " " + request.raw_path);
    at.push_back(home_.clock().now());
    kube::ApiReply reply;
    reply.body = request.raw_path;
    done(std::move(reply));
  }
  std::vector<std::string> seen;
  std::vector<Instant> at;

 private:
  Executor& home_;
};

class LocalTransportTest : public testing::Test {
 protected:
  ~LocalTransportTest() override {
    scope.close(0s, [] {});
    world.run_until_idle(1h);
  }
  void call(Transport& transport, std::string path, Instant deadline) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kRaw;
    request.raw_path = std::move(path);
    request.user.name = "system:masters";  // a sender cannot say who it is
    transport.call(std::move(request), deadline,
                   scope.done<kube::ApiReply>(kNoLimit, [this](Result<kube::ApiReply> r) {
                     EXPECT_TRUE(scope.executor().here());
                     replies.push_back(std::move(r));
                   }));
  }

  World world{1};
  Executor& server = world.loop("api");
  Scope scope{world.loop("client"), "test"};
  Echo echo{server};
  std::vector<Result<kube::ApiReply>> replies;
};

TEST_F(LocalTransportTest, CallsTheHandlerOnItsLoopAsItsOwnUser) {
  LocalTransport transport(server, echo, {.name = "scheduler", .uid = "", .groups = {}});
  call(transport, "/readyz", {1s});
  EXPECT_TRUE(replies.empty());
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_EQ(echo.seen, std::vector<std::string>{"scheduler /readyz"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(std::get<std::string>(replies[0]->body), "/readyz");
}

TEST_F(LocalTransportTest, TravelsAsLongAsThePlanSays) {
  LocalTransport transport(server, echo, {}, [] { return 7ms; });
  call(transport, "/a", {1s});
  EXPECT_TRUE(world.run_until_idle(1h));
  ASSERT_EQ(echo.at.size(), 1u);
  EXPECT_EQ(echo.at[0].since_start, Duration(7ms));
}

TEST_F(LocalTransportTest, BeginsNothingAfterTheDeadline) {
  LocalTransport transport(server, echo, {}, [] { return 2s; });
  call(transport, "/a", {1s});
  EXPECT_TRUE(world.run_until_idle(1h));
  EXPECT_TRUE(echo.seen.empty());
  ASSERT_EQ(replies.size(), 1u);
  ASSERT_FALSE(replies[0]);
  EXPECT_EQ(replies[0].error().reason, Reason::kTimeout);
  EXPECT_EQ(replies[0].error().outcome, Outcome::kNotSent);
}

}  // namespace
}  // namespace berth::client
