// SPDX-License-Identifier: Apache-2.0
// The lab from outside: what is posted below /lab/ happens to nodes and pods.
#include "lab/deeds.h"

#include <gmock/gmock.h>

#include "apiserver/serve/test_server.h"
#include "lab/attach.h"

namespace berth::lab {
namespace {

using apiserver::TestServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class DeedsTest : public testing::Test {
 protected:
  void start(IdleSigns signs = {}) {
    LabOptions options;
    options.nodes = 6;
    options.pace = kAtOnce;
    lab = std::make_unique<Lab>(
        server.scope(),
        LabParts{server.store(), server.server(), Random(1), Logger(log, server.world.clock())},
        std::move(options));
    attach(server.scope(), server.server(), *lab, {}, std::move(signs));
    lab->start(server.scope().done<Ok>(1h, [](const Result<Ok>& r) { EXPECT_TRUE(r); }));
    server.world.run_for(1s);
  }
  // The message, or the error's.
  std::string post(const std::string& path) {
    const TestServer::Answered answer = begin(path);
    server.world.run_for(100ms);
    return said(answer);
  }
  TestServer::Answered begin(const std::string& path) {
    kube::ApiRequest request{.verb = kube::Verb::kRaw};
    request.raw_method = "POST";
    request.raw_path = "/lab/" + path;
    return server.start(std::move(request));
  }
  static std::string said(const TestServer::Answered& answer) {
    if (!answer->has_value()) return "not answered";
    if (!(*answer)->has_value()) return (*answer)->error().message;
    return json::Slice(std::get<std::string>((**answer)->body))["message"].text();
  }
  std::string status() { return std::get<std::string>(server.page("/lab/status").value().body); }
  void create(std::string_view name, std::string_view metadata = "", std::string_view spec = "") {
    const auto made = server.create(
        kube::kPod, "default",
        apiserver::pod_json(name, metadata, fmt::format(R"(,"nodeName":"node-1"{})", spec)));
    ASSERT_TRUE(made.has_value()) << made.error().message;
    server.world.run_for(1s);
  }
  kube::Object pod(const std::string& name) {
    return server.get(kube::kPod, {"default", name}).value_or(kube::Object());
  }
  std::int64_t restarts(const std::string& name) {
    return pod(name)
        .status()["containerStatuses"][std::size_t{0}]["restartCount"]
        .integer()
        .value_or(-1);
  }

  StringSink log;
  std::unique_ptr<Lab> lab;  // outlives the server's scope
  TestServer server;
};

TEST_F(DeedsTest, NodesFailAndRecoverAndTheirAnnotationsSayIt) {
  start();
  const struct {
    const char *path, *message, *annotation, *value, *trouble;
  } rows[] = {
      {"crash-node/node-1", "node-1 has crashed", "fail", "crash", "crashed"},
      {"cut-off-node/node-1", "node-1 is cut off", "fail", "cut-off", "cut off"},
      {"sicken-node/node-1?with=disk-pressure", "node-1 reports disk-pressure", "fail",
       "disk-pressure", "disk-pressure"},
      {"slow-node/node-1?factor=2.5", "all on node-1 takes 2.5 times as long", "slow", "2.5",
       "2.5 times slower"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(post(row.path), row.message);
    EXPECT_EQ(server.get(kube::kNode, {"", "node-1"})
                  ->annotation(fmt::format("berth.dev/{}", row.annotation)),
              row.value);
    EXPECT_THAT(lab->troubles(), ElementsAre(Pair("node-1", row.trouble)));
    EXPECT_THAT(status(),
                HasSubstr(fmt::format(R"({{"node":"node-1","what":"{}"}})", row.trouble)));
    EXPECT_EQ(post("recover-node/node-1"), "node-1 is well");
    EXPECT_THAT(lab->troubles(), IsEmpty()) << row.path;
    EXPECT_EQ(server.get(kube::kNode, {"", "node-1"})->annotation("berth.dev/fail"), "");
  }
}

TEST_F(DeedsTest, ASlowNodeIsAsFastAsBeforeOnceItsAnnotationIsGone) {
  start();
  const auto annotate = [&](std::string_view value) {
    ASSERT_TRUE(server.patch(
        kube::kNode, {"", "node-1"},
        fmt::format(R"({{"metadata":{{"annotations":{{"berth.dev/slow":{}}}}}}})", value)));
    server.world.run_for(1s);
  };
  annotate(R"("3")");
  EXPECT_THAT(lab->troubles(), ElementsAre(Pair("node-1", "3 times slower")));
  annotate("null");
  EXPECT_THAT(lab->troubles(), IsEmpty());
}

TEST_F(DeedsTest, AFlappingNodeFlapsUntilItRecovers) {
  start();
  EXPECT_EQ(post("flap-node/node-2?down=20s&up=40s&times=1000"),
            "node-2 goes down for 20s and up for 40s, 1000 times");
  EXPECT_THAT(lab->troubles(), ElementsAre(Pair("node-2", "flapping, cut off")));
  server.world.run_for(25s);
  EXPECT_THAT(lab->troubles(), ElementsAre(Pair("node-2", "flapping")));
  EXPECT_TRUE(lab->busy());
  server.world.run_for(40s);
  EXPECT_FALSE(lab->is_beating("node-2"));
  EXPECT_EQ(post("recover-node/node-2"), "node-2 is well");
  server.world.run_for(1h);
  EXPECT_TRUE(lab->is_beating("node-2"));
  EXPECT_FALSE(lab->busy());
}

TEST_F(DeedsTest, AZoneIsLostAndComesBack) {
  start();
  EXPECT_EQ(post("lose-zone/lab-b"), "zone lab-b is lost: 2 nodes");
  EXPECT_THAT(lab->troubles(), ElementsAre(Pair("node-1", "crashed"), Pair("node-4", "crashed")));
  EXPECT_EQ(post("recover-zone/lab-b"), "zone lab-b is well: 2 nodes");
  EXPECT_THAT(lab->troubles(), IsEmpty());
  EXPECT_EQ(post("lose-zone/lab-x"), "no simulated node is in zone \"lab-x\"");
  EXPECT_EQ(post("lose-zone/"), "no simulated node is in zone \"\"");
}

TEST_F(DeedsTest, PodsCrashAndStick) {
  start();
  create("web");
  EXPECT_EQ(restarts("web"), 0);
  EXPECT_EQ(post("crash-pod/default/web"), "the containers of default/web end with an error");
  server.world.run_for(1min);
  EXPECT_EQ(restarts("web"), 1);
  EXPECT_EQ(post("stick-pod/default/web"), "default/web will not stop when it is deleted");
  ASSERT_TRUE(server.erase(kube::kPod, {"default", "web"}));
  server.world.run_for(1h);
  EXPECT_TRUE(pod("web").valid());
  EXPECT_EQ(post("recover"), "all is well");
  server.world.run_for(1min);
  EXPECT_FALSE(pod("web").valid());
}

TEST_F(DeedsTest, WhatCannotBeDoneIsToldInAPersonsWords) {
  start();
  create("web");
  ASSERT_TRUE(server.create(kube::kPod, "default", apiserver::pod_json("homeless")));
  lab->fail_node("node-1");
  const struct {
    const char *path, *says;
  } rows[] = {
      {"dance", "the lab knows no \"dance\""},
      {"paint-node/node-1", "the lab knows no \"paint-node\""},
      {"crash-node/node-77", "there is no simulated node \"node-77\""},
      {"flap-node/node-77", "there is no simulated node \"node-77\""},
      {"flap-node/node-1?down=soon", "down soon, up 30s, times 3: write times like 30s or 1m30s"},
      {"flap-node/node-1?times=0", "once at least"},
      {"slow-node/node-1?factor=-1", "factor \"-1\": write how many times as long all takes"},
      {"sicken-node/node-1?with=flu", "a node can be sick with not-ready"},
      {"crash-pod/default/nobody", "there is no pod default/nobody"},
      {"crash-pod/default/homeless", "pod default/homeless has no node yet"},
      {"crash-pod/default/web", "pod default/web is on node-1, which is silent"},
      {"settle?timeout=never", "timeout \"never\": write a time like 90s or 1h"},
  };
  for (const auto& row : rows) EXPECT_THAT(post(row.path), HasSubstr(row.says)) << row.path;
}

TEST_F(DeedsTest, SettleAnswersOnceNothingHasChangedForAWhile) {
  std::uint64_t changes = 0;
  start({.changes = [&] { return changes; }});
  create("job", R"(,"annotations":{"berth.dev/duration":"30s"})", R"(,"restartPolicy":"Never")");
  const TestServer::Answered settled = begin("settle");
  server.world.run_for(29s);
  EXPECT_EQ(said(settled), "not answered") << "it still runs, and will end by itself";
  const auto others_work = [&] {
    for (int i = 0; i < 60; ++i) {
      ++changes;
      server.world.run_for(100ms);
    }
  };
  others_work();
  EXPECT_EQ(pod("job").status()["phase"].text(), "Succeeded");
  EXPECT_EQ(said(settled), "not answered") << "something was done a moment ago";
  server.world.run_for(1300ms);
  EXPECT_EQ(said(settled), "idle");
  const TestServer::Answered limited = begin("settle?timeout=5s");
  others_work();
  EXPECT_EQ(said(limited), "not idle after 5s");
}

TEST_F(DeedsTest, SettleAsksWhoKnowsWhereTimeIsVirtual) {
  std::weak_ptr<Task> idle;
  start({.when_idle = [&](Task then) {
    const auto wish = std::make_shared<Task>(std::move(then));
    idle = wish;
    return wish;
  }});
  const TestServer::Answered settled = begin("settle");
  server.world.run_for(1min);
  EXPECT_EQ(said(settled), "not answered");
  ASSERT_FALSE(idle.expired());
  (*idle.lock())();
  server.world.run_for(1ms);
  EXPECT_EQ(said(settled), "idle");
  const TestServer::Answered limited = begin("settle?timeout=5s");
  server.world.run_for(6s);
  EXPECT_EQ(said(limited), "not idle after 5s");
  EXPECT_TRUE(idle.expired()) << "nobody waits for it any more";
}

}  // namespace
}  // namespace berth::lab
