// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"

namespace berth::scheduler {
namespace {

using namespace test;

// An API server with one answer for everything.
class OneAnswer final : public client::Transport {
 public:
  void call(kube::ApiRequest request, Instant, Done<kube::ApiReply> done) override {
    ++calls;
    if (request.body.bytes) body = *request.body.bytes;
    if (error)
      done(tl::unexpected(*error));
    else
      done(kube::ApiReply{});
  }
  std::optional<Error> error;
  std::string body;
  int calls = 0;
};

std::optional<Result<Status>> bind(OneAnswer& server) {
  std::optional<Result<Status>> answer;
  TestServices services(&server);
  PluginBench bench("DefaultBinder", {}, &services);
  {
    const auto attempt = bench.attempt(pod("web").ns("lab").uid("u1"));
    bench.as<Bind>().bind(attempt->cycle, "n1",
                          services.scope().done<Status>(
                              kNoLimit, [&answer](Result<Status> r) { answer = std::move(r); }));
  }  // the answer comes when the attempt is over
  services.world.run_until_idle(1h);
  return answer;
}

TEST(DefaultBinder, TellsTheApiServerWhichPodGoesWhere) {
  OneAnswer server;
  const auto answer = bind(server);
  ASSERT_TRUE(answer && *answer);
  EXPECT_TRUE((*answer)->ok());
  EXPECT_EQ(server.calls, 1);
  EXPECT_THAT(server.body, testing::HasSubstr(R"("uid":"u1")"));
  EXPECT_THAT(server.body, testing::HasSubstr(R"("name":"n1")"));
}

TEST(DefaultBinder, HandsARefusalOnAsItIs) {
  OneAnswer server;
  server.error = Error{.reason = Reason::kForbidden, .message = "not you"};
  const auto answer = bind(server);
  ASSERT_TRUE(answer && !*answer);
  EXPECT_EQ(answer->error().reason, Reason::kForbidden);
  EXPECT_EQ(answer->error().message, "not you");
}

}  // namespace
}  // namespace berth::scheduler
