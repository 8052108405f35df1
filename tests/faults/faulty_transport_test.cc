// SPDX-License-Identifier: Apache-2.0
#include "client/faulty_transport.h"

#include <gtest/gtest.h>

#include "base/world.h"
#include "client/local_transport.h"
#include "fake_server.h"

namespace berth::faults {
namespace {

using client::TransportFaults;
using kube::ApiReply;
using kube::kPod;
using Batch = kube::WatchStream::Batch;
using Type = kube::WatchEvent::Type;

class FaultyTransportTest : public testing::Test {
 protected:
  ~FaultyTransportTest() override {
    bool closed = false;
    stream.reset();
    root.close({}, [&] { closed = true; });
    world.run_for(1s);
    EXPECT_TRUE(closed);
  }
  std::optional<Result<ApiReply>> call(kube::ApiRequest request, Duration for_long = 10s) {
    std::optional<Result<ApiReply>> out;
    transport.call(std::move(request), world.clock().now() + 1min,
                   root.done<ApiReply>(kNoLimit, [&out](auto reply) { out = std::move(reply); }));
    EXPECT_FALSE(out.has_value()) << "never inline";
    world.run_for(for_long);
    return out;
  }
  static kube::ApiRequest create(std::string name) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kCreate;
    request.kind = kPod;
    request.ns = "default";
    request.body.bytes =
        std::make_shared<const std::string>(R"({"metadata":{"name":")" + name + "\"}}");
    return request;
  }
  void open_watch() {
    kube::ApiRequest request;
    request.verb = kube::Verb::kWatch;
    request.kind = kPod;
    request.options.resource_version = std::to_string(server.revision());
    auto reply = call(std::move(request));
    stream = std::move(std::get<std::unique_ptr<kube::WatchStream>>((*reply)->body));
  }
  std::optional<Result<Batch>> read(Duration for_long = 10s) {
    std::optional<Result<Batch>> out;
    stream->read(root.done<Batch>(for_long, [&out](auto batch) { out = std::move(batch); }));
    world.run_for(for_long * 2);
    return out;
  }

  World world{1};
  FakeServer server{world.loop("api"), Random(1)};
  client::LocalTransport wire{world.loop("api"), server, {}};
  Scope root{world.loop("client"), "test"};
  client::FaultyTransport transport{root, wire, {}, Random(2)};
  std::unique_ptr<kube::WatchStream> stream;
};

TEST_F(FaultyTransportTest, WithoutFaultsItIsTheTransportBelow) {
  EXPECT_TRUE(call(create("a"))->has_value());
  EXPECT_EQ(server.all(kPod).size(), 1u);
}

TEST_F(FaultyTransportTest, ALostRequestNeverArrivesAndNobodyKnows) {
  transport.set({.lose_request = 1});
  EXPECT_EQ(call(create("a"))->error().outcome, Outcome::kUnknown);
  EXPECT_TRUE(server.all(kPod).empty());
}

TEST_F(FaultyTransportTest, ALostReplyWasCarriedOutAndNobodyKnows) {
  transport.set({.lose_reply = 1});
  EXPECT_EQ(call(create("a"))->error().outcome, Outcome::kUnknown);
  EXPECT_EQ(server.all(kPod).size(), 1u);
}

TEST_F(FaultyTransportTest, ARefusalSaysThatNothingWasDone) {
  transport.set({.refuse = 1});
  for (int i = 0; i < 20; ++i) {
    const Error error = call(create("a"))->error();
    EXPECT_EQ(error.outcome, Outcome::kRefused);
    EXPECT_GE(error.code, 400);
  }
  EXPECT_TRUE(server.all(kPod).empty());
}

TEST_F(FaultyTransportTest, DelaysAndSlowRepliesOnlyTakeTime) {
  transport.set({.delay = 1, .slow_reply = 1, .most_delay = 1s});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(call(create("p" + std::to_string(i)))->has_value());
}

TEST_F(FaultyTransportTest, WhileAwayNothingIsSentAndWatchesBreak) {
  open_watch();
  std::optional<Result<Batch>> seen;
  stream->read(root.done<Batch>(kNoLimit, [&seen](auto batch) { seen = std::move(batch); }));
  world.run_for(1s);
  EXPECT_FALSE(seen.has_value());
  transport.set_away(true);
  world.run_for(1s);
  EXPECT_EQ(seen->error().reason, Reason::kUnreachable);
  EXPECT_EQ(call(create("a"))->error().outcome, Outcome::kNotSent);
  EXPECT_TRUE(server.all(kPod).empty());
}

struct WatchFault {
  std::string_view name;
  TransportFaults faults;
  std::function<void(std::optional<Result<Batch>>)> expect;
};

TEST_F(FaultyTransportTest, WatchesGoWrongInTheWayTheyAreTold) {
  const WatchFault rows[] = {
      {"gone",
       {.watch_gone = 1},
       [](auto got) {
         ASSERT_TRUE(got && got->has_value());
         EXPECT_EQ((*got)->events.at(0).type, Type::kError);
         EXPECT_EQ((*got)->events.at(0).error->code, 410);
       }},
      {"silence",
       {.watch_silence = 1},
       [](auto got) { EXPECT_EQ(got->error().reason, Reason::kTimeout) << "our own limit"; }},
      {"lag",
       {.watch_lag = 1, .most_delay = 5s},
       [](auto got) { EXPECT_EQ((*got)->events.size(), 1u); }},
  };
  for (const WatchFault& row : rows) {
    SCOPED_TRACE(row.name);
    transport.set({});
    open_watch();
    transport.set(row.faults);
    server.set(kPod, {"default", std::string(row.name)}, "");
    row.expect(read());
  }
}

TEST_F(FaultyTransportTest, ACutWatchLosesTheRestOfItsEvents) {
  open_watch();
  for (int i = 0; i < 8; ++i) server.set(kPod, {"default", "p" + std::to_string(i)}, "");
  transport.set({.watch_cut = 1});
  const auto first = read();
  if (first->has_value()) {
    EXPECT_EQ(read()->error().reason, Reason::kUnreachable);
  } else {
    EXPECT_EQ(first->error().reason, Reason::kUnreachable);
  }
}

TEST_F(FaultyTransportTest, DuplicatesComeAgainInTheNextBatch) {
  open_watch();
  transport.set({.watch_duplicate = 1});
  server.set(kPod, {"default", "a"}, "");
  const auto first = read(), again = read();
  ASSERT_TRUE(first->has_value() && again->has_value());
  EXPECT_EQ((*first)->events.back().revision, (*again)->events.back().revision);
}

}  // namespace
}  // namespace berth::faults
