// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"

namespace berth::apiserver {
namespace {

using kube::kConfigMap;
using kube::kDeployment;
using kube::kLease;
using kube::kNamespace;
using kube::kPod;
using kube::Verb;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";

TEST(Server, CreatesWhatCanThenBeReadListedAndDeleted) {
  TestServer server;
  const auto made = server.create(kPod, "default", pod_json("p"));
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->ns(), "default");
  EXPECT_EQ(made->uid().size(), 36U);
  EXPECT_EQ(made->generation(), 1);
  EXPECT_EQ(made->status()["phase"].text(), "Pending");
  EXPECT_EQ(made->member("spec")["schedulerName"].text(), "default-scheduler");
  EXPECT_EQ(made->revision(), server.store().published());

  EXPECT_EQ(server.get(kPod, {"default", "p"})->json(), made->json());
  const auto list = server.list(kPod, "default");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->revision, made->revision());

  ASSERT_TRUE(server.erase(kPod, {"default", "p"}).has_value());
  EXPECT_EQ(why_not(server.get(kPod, {"default", "p"})), "pods \"p\" not found");
  EXPECT_EQ(server.server().open_requests(), 0U);
}

TEST(Server, ANameIsTakenOnce) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})").has_value());
  const auto again = server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().reason, Reason::kAlreadyExists);
  EXPECT_EQ(again.error().code, 409);
  EXPECT_EQ(again.error().message, "configmaps \"c\" already exists");
  EXPECT_EQ(again.error().about->name, "c");
}

TEST(Server, GivesNamesAndTriesAnotherWhereOneIsTaken) {
  TestServer server;
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) {
    const auto made = server.create(kConfigMap, "a", R"({"metadata":{"generateName":"c-"}})");
    ASSERT_TRUE(made.has_value());
    EXPECT_TRUE(names.insert(std::string(made->name())).second);
    EXPECT_EQ(made->name().size(), 7U);
  }
}

TEST(Server, AnUpdateNeedsTheVersionThatItMeans) {
  TestServer server;
  const auto made = server.create(kConfigMap, "a", R"({"metadata":{"name":"c"},"data":{"x":"1"}})");
  const auto next =
      server.update(kConfigMap, {"a", "c"}, R"({"metadata":{"name":"c"},"data":{"x":"2"}})");
  ASSERT_TRUE(next.has_value()) << next.error().message;
  EXPECT_GT(next->revision(), made->revision());
  EXPECT_EQ(next->uid(), made->uid());
  const auto stale = server.update(
      kConfigMap, {"a", "c"},
      fmt::format(R"({{"metadata":{{"name":"c","resourceVersion":"{}"}},"data":{{"x":"3"}}}})",
                  made->revision()));
  ASSERT_FALSE(stale.has_value());
  EXPECT_EQ(stale.error().reason, Reason::kConflict);
  EXPECT_EQ(stale.error().message,
            fmt::format("Operation cannot be fulfilled on configmaps \"c\": {}", kModified));
  EXPECT_THAT(
      why_not(server.update(kConfigMap, {"a", "c"}, R"({"metadata":{"name":"c","uid":"other"}})")),
      HasSubstr("Precondition failed: UID in precondition: other"));
}

TEST(Server, WhatDoesNotChangeKeepsItsRevision) {
  TestServer server;
  const auto made = server.create(kPod, "default", pod_json("p"));
  const kube::Revision before = server.store().published();
  const auto same = server.patch(kPod, {"default", "p"}, R"({"metadata":{"labels":{}}})");
  ASSERT_TRUE(same.has_value()) << same.error().message;
  EXPECT_EQ(same->revision(), made->revision());
  EXPECT_EQ(server.store().published(), before);
}

TEST(Server, PatchesInThreeWays) {
  TestServer server;
  ASSERT_TRUE(server.create(kPod, "default", pod_json("p")).has_value());
  const kube::Key key{"default", "p"};
  ASSERT_TRUE(server.patch(kPod, key, R"({"metadata":{"labels":{"a":"b"}}})").has_value());
  ASSERT_TRUE(server
                  .patch(kPod, key, R"([{"op":"add","path":"/metadata/labels/c","value":"d"}])",
                         kube::PatchType::kJson)
                  .has_value());
  const auto last =
      server.patch(kPod, key, R"({"spec":{"containers":[{"name":"c","image":"other"}]}})",
                   kube::PatchType::kStrategic);
  ASSERT_TRUE(last.has_value()) << last.error().message;
  EXPECT_EQ(last->label("a"), "b");
  EXPECT_EQ(last->label("c"), "d");
  EXPECT_EQ(last->member("spec")["containers"][std::size_t{0}]["image"].text(), "other");
  EXPECT_EQ(last->generation(), 2);
}

TEST(Server, WhatIsPutIsReadBeforeItIsLookedUp) {
  TestServer server;
  const auto put = [&](std::string body) {
    return server
        .call(TestServer::ask(kube::Verb::kUpdate, kPod, {"default", "none"}, std::move(body)))
        .error();
  };
  EXPECT_EQ(put("").code, 400);
  EXPECT_EQ(put(pod_json("other")).message,
            "the name of the object (other) does not match the name on the URL (none)");
  EXPECT_EQ(put(pod_json("none")).code, 404);
  EXPECT_EQ(put(R"({"apiVersion":"a/b/c","kind":"Pod"})").message,
            "the object provided is unrecognized (must be of type Pod): unexpected GroupVersion "
            "string: a/b/c ({\"apiVersion\":\"a/b/c\",\"kind\":\" ...)");
}

TEST(Server, AStatusIsWrittenByItsSubresourceAlone) {
  TestServer server;
  ASSERT_TRUE(server.create(kPod, "default", pod_json("p")).has_value());
  const kube::Key key{"default", "p"};
  const auto status = server.patch(kPod, key, R"({"status":{"phase":"Running"},"spec":{"x":1}})",
                                   kube::PatchType::kStrategic, "status");
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->status()["phase"].text(), "Running");
  EXPECT_EQ(status->generation(), 1);
  const auto main = server.patch(kPod, key, R"({"status":{"phase":"Failed"}})");
  ASSERT_TRUE(main.has_value());
  EXPECT_EQ(main->status()["phase"].text(), "Running");
}

TEST(Server, FinalizersHoldADeletionBackUntilTheLastIsGone) {
  TestServer server;
  ASSERT_TRUE(server.create(kConfigMap, "a", R"({"metadata":{"name":"c","finalizers":["a.b/c"]}})")
                  .has_value());
  ASSERT_TRUE(server.erase(kConfigMap, {"a", "c"}).has_value());
  const auto held = server.get(kConfigMap, {"a", "c"});
  ASSERT_TRUE(held.has_value());
  EXPECT_TRUE(held->deleting());
  EXPECT_EQ(why_not(server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})")),
            "object is being deleted: configmaps \"c\" already exists");
  ASSERT_TRUE(
      server.patch(kConfigMap, {"a", "c"}, R"({"metadata":{"finalizers":null}})").has_value());
  EXPECT_FALSE(server.get(kConfigMap, {"a", "c"}).has_value());
}

TEST(Server, PodsGetTheTimeTheyAskForAndItCanOnlyBeShortened) {
  TestServer server;
  const kube::Key key{"default", "p"};
  ASSERT_TRUE(server.create(kPod, "default", pod_json("p", "", R"(,"nodeName":"n1")")).has_value());
  const auto grace = [&] {
    return server.get(kPod, key)->metadata()["deletionGracePeriodSeconds"].integer().value_or(-1);
  };
  ASSERT_TRUE(server.erase(kPod, key).has_value());
  EXPECT_EQ(grace(), 30);
  EXPECT_EQ(server.get(kPod, key)->generation(), 2);
  ASSERT_TRUE(server.erase(kPod, key, {.grace_period_seconds = 60}).has_value());
  EXPECT_EQ(grace(), 30);
  ASSERT_TRUE(server.erase(kPod, key, {.grace_period_seconds = 5}).has_value());
  EXPECT_EQ(grace(), 5);
  ASSERT_TRUE(server.erase(kPod, key, {.grace_period_seconds = 0}).has_value());
  EXPECT_FALSE(server.get(kPod, key).has_value());
}

TEST(Server, ANamespaceIsGoneWhenItsContentIs) {
  TestServer server;
  ASSERT_TRUE(server.create(kNamespace, "", R"({"metadata":{"name":"x"}})").has_value());
  ASSERT_TRUE(server.erase(kNamespace, {"", "x"}).has_value());
  EXPECT_EQ(server.get(kNamespace, {"", "x"})->status()["phase"].text(), "Terminating");
  ASSERT_TRUE(server.erase(kNamespace, {"", "x"}).has_value());
  const auto last = server.update(
      kNamespace, {"", "x"}, R"({"metadata":{"name":"x"},"spec":{"finalizers":[]}})", "finalize");
  ASSERT_TRUE(last.has_value()) << last.error().message;
  EXPECT_FALSE(server.get(kNamespace, {"", "x"}).has_value());
}

TEST(Server, ADryRunLeavesNothingBehind) {
  TestServer server;
  const kube::Options dry{.dry_run = true};
  const auto made = server.create(kPod, "default", pod_json("p"), dry);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->uid().size(), 36U);
  EXPECT_EQ(made->revision(), 0U);
  EXPECT_FALSE(server.get(kPod, {"default", "p"}).has_value());
  ASSERT_TRUE(server.create(kPod, "default", pod_json("p")).has_value());
  const kube::Revision before = server.store().tip();
  ASSERT_TRUE(server.erase(kPod, {"default", "p"}, dry).has_value());
  ASSERT_TRUE(server
                  .patch(kPod, {"default", "p"}, R"({"metadata":{"labels":{"a":"b"}}})",
                         kube::PatchType::kMerge, "", dry)
                  .has_value());
  EXPECT_EQ(server.store().tip(), before);
}

TEST(Server, AWatchSeesWhatHappens) {
  TestServer server;
  ASSERT_TRUE(server.create(kPod, "default", pod_json("p")).has_value());
  auto reply =
      server.call(TestServer::ask(Verb::kWatch, kPod, {"default", ""}, "", {.timeout_seconds = 5}));
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  auto& stream = std::get<std::unique_ptr<kube::WatchStream>>(reply->body);
  std::vector<std::string> seen;
  bool ended = false;
  Fn<void()> read = [&] {
    stream->read(server.scope().done<kube::WatchStream::Batch>(
        kNoLimit, [&](Result<kube::WatchStream::Batch> batch) {
          ASSERT_TRUE(batch.has_value());
          for (const kube::WatchEvent& event : batch->events)
            seen.push_back(fmt::format("{} {}", static_cast<int>(event.type),
                                       event.object.valid() ? event.object.name() : ""));
          ended = batch->end;
          if (!ended) read();
        }));
  };
  read();
  server.world.run_until_idle({});
  ASSERT_TRUE(server.create(kPod, "default", pod_json("q")).has_value());
  ASSERT_TRUE(server.create(kPod, "other", pod_json("r")).has_value());
  ASSERT_TRUE(server.erase(kPod, {"default", "p"}).has_value());
  EXPECT_THAT(seen, ElementsAre("0 p", "0 q", "1 p", "2 p"));
  EXPECT_FALSE(ended);
  server.world.run_for(6s);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace berth::apiserver
