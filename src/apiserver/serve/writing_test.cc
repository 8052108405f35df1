// SPDX-License-Identifier: Apache-2.0
// Writes that wait: for webhooks, for the journal.
#include "apiserver/serve/writing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"
#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using kube::kConfigMap;
using kube::kPod;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Writing, WhatGrowsBeyondWhatCanBeStoredIsRefusedAsEtcdDoes) {
  TestServer server;
  const std::string body = R"({"metadata":{"name":"c","labels":{"l":"v"}},"data":{)";
  std::string data;
  while (body.size() + data.size() < (std::size_t{3} << 20) - 100)
    data += fmt::format("{}\"k{}\":\"v\"", data.empty() ? "" : ",", data.size());
  for (const bool dry : {true, false}) {
    auto request = TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, body + data + "}}");
    request.options.dry_run = dry;
    auto made = server.start(std::move(request));
    server.world.run_until_idle({});
    ASSERT_TRUE(made->has_value());
    EXPECT_EQ(why_not(**made), "etcdserver: request is too large");
    EXPECT_EQ((*made)->error().code, 500);
  }
}

TEST(Writing, WhatItsDefaultsMakeTooLargeIsNotLookedAtAnyFurther) {
  TestServer server;
  std::string containers = R"({"name":"NO NAME"})";
  for (int i = 0; i < 30'000; ++i)
    containers += fmt::format(R"(,{{"name":"container-{}","image":"i"}})", i);
  const auto made = server.create(
      kube::kPod, "a", R"({"metadata":{"name":"p"},"spec":{"containers":[)" + containers + "]}}");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message, "etcdserver: request is too large") << "and not: invalid";
}

TEST(Writing, ManyOwnersAreToldApartAndDoubledOnesTakenTogether) {
  TestServer server;
  const auto owner = [](std::size_t i) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","name":"p{0}","uid":"u{0}"}})", i);
  };
  std::string owners = owner(0);
  for (std::size_t i = 1; i < 20'000; ++i) owners += "," + owner(i);  // looking at all pairs hangs
  owners += R"(,{"uid":"u7","name":"p7","kind":"Pod","apiVersion":"v1"})";
  const auto made = server.create(
      kConfigMap, "a", R"({"metadata":{"name":"c","ownerReferences":[)" + owners + "]}}");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->metadata()["ownerReferences"].size(), 20'000U);
}

// Webhooks that the test answers itself.
class HeldWebhooks final : public Webhooks {
 public:
  bool mutates(const AdmissionCall& call) const override { return call.row.id == kConfigMap && on; }
  bool validates(const AdmissionCall&) const override { return false; }
  void mutate(AdmissionCall& call, Done<Ok> done) override {
    ++asked;
    held = &call;
    answer = std::move(done);
  }
  void validate(AdmissionCall&, Done<Ok> done) override { done(Ok{}); }

  AdmissionCall* held = nullptr;
  Done<Ok> answer;
  int asked = 0;
  bool on = true;
};

// Writes down when it is asked, and what it sees then.
class Witness final : public AdmissionStep {
 public:
  explicit Witness(std::vector<std::string>& seen) : seen_(seen) {}
  std::string_view name() const override { return "Witness"; }
  Result<Ok> mutate(AdmissionCall& call) override {
    if (call.edit == nullptr) return Ok{};
    seen_.push_back(fmt::format("mutate {} uid={}", call.name,
                                Peek(call.edit->metadata())["uid"].text().empty() ? "no" : "yes"));
    if (call.operation == Operation::kCreate)
      make_dict(call.edit->metadata(), "labels")["seen"] = "yes";
    return Ok{};
  }
  Result<Ok> validate(AdmissionCall& call) override {
    if (call.edit == nullptr) return Ok{};
    seen_.push_back(fmt::format("validate {} uid={}", call.name,
                                Peek(call.edit->metadata())["uid"].text().empty() ? "no" : "yes"));
    if (Peek(call.edit->metadata())["labels"]["bad"]) return fail(Reason::kForbidden, "it is bad");
    return Ok{};
  }

 private:
  std::vector<std::string>& seen_;
};

TEST(Writing, AdmissionChangesWhatTheKindThenCompletesAndMayStillRefuseIt) {
  std::vector<std::string> seen;
  std::vector<std::unique_ptr<AdmissionStep>> steps;
  steps.push_back(std::make_unique<Witness>(seen));
  TestServer server(std::move(steps));
  const auto made = server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->label("seen"), "yes");
  EXPECT_THAT(seen, ElementsAre("mutate c uid=no", "validate c uid=yes"));
  const auto bad = server.patch(kConfigMap, {"a", "c"}, R"({"metadata":{"labels":{"bad":"yes"}}})");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, 403);
  EXPECT_EQ(server.get(kConfigMap, {"a", "c"})->revision(), made->revision());
}

class WithWebhooks : public testing::Test {
 protected:
  WithWebhooks() {
    auto made = std::make_unique<HeldWebhooks>();
    hooks = made.get();
    server.admission.webhooks = std::move(made);
  }
  ~WithWebhooks() override { hooks->answer = {}; }
  std::unique_ptr<TestServer> own = std::make_unique<TestServer>();
  TestServer& server = *own;
  HeldWebhooks* hooks;

  TestServer::Answered start_patch(std::string_view patch) {
    kube::ApiRequest request = TestServer::ask(kube::Verb::kPatch, kConfigMap, {"a", "c"}, patch);
    auto answer = server.start(std::move(request));
    server.world.run_until_idle({});
    return answer;
  }
  void answer(Result<Ok> with = Ok{}) {
    hooks->answer(std::move(with));
    server.world.run_until_idle({});
  }
  // As somebody else would, without webhooks.
  void touch(std::string_view value) {
    hooks->on = false;
    ASSERT_TRUE(
        server.patch(kConfigMap, {"a", "c"}, fmt::format(R"({{"data":{{"other":"{}"}}}})", value))
            .has_value());
    hooks->on = true;
  }
  void make() {
    hooks->on = false;
    ASSERT_TRUE(server.create(kConfigMap, "a", R"({"metadata":{"name":"c"}})").has_value());
    hooks->on = true;
  }
};

TEST_F(WithWebhooks, WaitsForThemAndTakesTheirChanges) {
  auto reply = server.start(
      TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, R"({"metadata":{"name":"c"}})"));
  server.world.run_until_idle({});
  EXPECT_FALSE(reply->has_value());
  EXPECT_EQ(server.server().open_requests(), 1U);
  make_dict(hooks->held->edit->metadata(), "labels")["by"] = "hook";
  hooks->held->warnings.emplace_back("beware");
  answer();
  ASSERT_TRUE(reply->has_value());
  ASSERT_TRUE((*reply)->has_value());
  EXPECT_THAT((**reply)->warnings, ElementsAre("beware"));
  EXPECT_EQ(server.get(kConfigMap, {"a", "c"})->label("by"), "hook");
  EXPECT_EQ(server.server().open_requests(), 0U);
}

TEST_F(WithWebhooks, ARefusalIsTheAnswer) {
  auto reply = server.start(
      TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, R"({"metadata":{"name":"c"}})"));
  server.world.run_until_idle({});
  answer(fail(Reason::kForbidden, "not with me"));
  ASSERT_TRUE(reply->has_value());
  EXPECT_EQ(why_not(**reply), "not with me");
}

TEST_F(WithWebhooks, APatchBeginsAnewWhereSomebodyElseWroteMeanwhile) {
  make();
  auto reply = start_patch(R"({"data":{"mine":"1"}})");
  touch("1");
  answer();  // in vain
  EXPECT_FALSE(reply->has_value());
  EXPECT_EQ(hooks->asked, 2);
  answer();
  ASSERT_TRUE(reply->has_value());
  ASSERT_TRUE((*reply)->has_value()) << (*reply)->error().message;
  const kube::Object now = *server.get(kConfigMap, {"a", "c"});
  EXPECT_EQ(now.member("data")["mine"].text(), "1");
  EXPECT_EQ(now.member("data")["other"].text(), "1");
}

TEST_F(WithWebhooks, APatchGivesUpAfterFiveAttempts) {
  make();
  auto reply = start_patch(R"({"data":{"mine":"1"}})");
  for (int i = 0; i < 5; ++i) {
    touch(std::to_string(i));
    answer();
  }
  ASSERT_TRUE(reply->has_value());
  ASSERT_FALSE((*reply)->has_value());
  EXPECT_EQ((*reply)->error().code, 409);
  EXPECT_EQ(hooks->asked, 5);
}

TEST_F(WithWebhooks, AnUpdateOfAVersionThatIsNoMoreConflicts) {
  make();
  const auto old = server.get(kConfigMap, {"a", "c"});
  auto reply = server.start(TestServer::ask(
      kube::Verb::kUpdate, kConfigMap, {"a", "c"},
      fmt::format(R"({{"metadata":{{"name":"c","resourceVersion":"{}"}},"data":{{"x":"y"}}}})",
                  old->revision())));
  server.world.run_until_idle({});
  touch("1");
  answer();
  answer();
  ASSERT_TRUE(reply->has_value());
  ASSERT_FALSE((*reply)->has_value());
  EXPECT_EQ((*reply)->error().reason, Reason::kConflict);
}

TEST_F(WithWebhooks, AServerThatClosesWhileTheyAreAskedSaysSo) {
  auto reply = server.start(
      TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, R"({"metadata":{"name":"c"}})"));
  server.world.run_until_idle({});
  server.scope().close(1s, [] {});
  server.world.run_until_idle(10s);
  ASSERT_TRUE(reply->has_value());
  EXPECT_EQ((*reply)->error().reason, Reason::kCancelled);
}

TEST(Journaled, AReplyComesWhenTheWriteCanBeSeen) {
  HeldJournal journal;
  TestServer server({}, {}, {}, &journal);
  auto made = server.start(TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""},
                                           R"({"metadata":{"name":"c"},"data":{"x":"1"}})"));
  server.world.run_until_idle({});
  EXPECT_FALSE(made->has_value());
  EXPECT_FALSE(server.get(kConfigMap, {"a", "c"}).has_value());
  // What changes nothing waits just as long, and what comes after builds on it.
  auto same = server.start(
      TestServer::ask(kube::Verb::kPatch, kConfigMap, {"a", "c"}, R"({"data":{"x":"1"}})"));
  auto next = server.start(
      TestServer::ask(kube::Verb::kPatch, kConfigMap, {"a", "c"}, R"({"data":{"y":"2"}})"));
  auto again = server.start(
      TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, R"({"metadata":{"name":"c"}})"));
  server.world.run_until_idle({});
  EXPECT_FALSE(same->has_value());
  EXPECT_FALSE(next->has_value());
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ(why_not(**again), "configmaps \"c\" already exists");
  ASSERT_EQ(journal.held.size(), 1U);
  journal.held[0](Ok{});
  server.world.run_until_idle({});
  ASSERT_TRUE(made->has_value() && same->has_value());
  EXPECT_FALSE(next->has_value());
  ASSERT_EQ(journal.held.size(), 2U);
  journal.held[1](Ok{});
  server.world.run_until_idle({});
  ASSERT_TRUE(next->has_value() && (*next)->has_value());
  EXPECT_EQ(server.get(kConfigMap, {"a", "c"})->member("data")["y"].text(), "2");
  journal.held.clear();
}

TEST(Journaled, WhatCannotBeKeptIsToldAndTheServerIsNotReady) {
  HeldJournal journal;
  TestServer server({}, {}, {}, &journal);
  auto made = server.start(
      TestServer::ask(kube::Verb::kCreate, kConfigMap, {"a", ""}, R"({"metadata":{"name":"c"}})"));
  auto same = server.start(
      TestServer::ask(kube::Verb::kPatch, kConfigMap, {"a", "c"}, R"({"metadata":{"name":"c"}})"));
  server.world.run_until_idle({});
  journal.works = false;
  journal.held[0](fail(Reason::kInternalError, "the disk is full"));
  server.world.run_until_idle({});
  ASSERT_TRUE(made->has_value());
  EXPECT_THAT(why_not(**made), HasSubstr("the disk is full"));
  EXPECT_EQ((*made)->error().code, 500);
  // Neither is what changed nothing, but of what could not be kept.
  ASSERT_TRUE(same->has_value());
  EXPECT_THAT(why_not(**same), HasSubstr("the disk is full"));
  const auto ready = server.page("/readyz");
  ASSERT_TRUE(ready.has_value());
  EXPECT_EQ(ready->code, 500);
  EXPECT_THAT(std::get<std::string>(ready->body), HasSubstr("[-]etcd failed"));
  journal.held.clear();
}

TEST(Managers, FollowWhatComesFromOutsideFromItsCreationOn) {
  TestServer server;
  const auto managers = [&](std::string_view name) {
    std::vector<std::string> out;
    const auto found = server.get(kConfigMap, {"default", std::string(name)});
    for (const json::Slice each : found->metadata()["managedFields"].elements())
      out.push_back(each["manager"].text() + " " + std::string(each["fieldsV1"].raw()));
    return out;
  };
  const auto text = [](std::string_view name) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"a":"1"}}}})", name);
  };
  ASSERT_TRUE(server.call_from_outside(
      "ann", TestServer::ask(kube::Verb::kCreate, kConfigMap, {"default", ""}, text("outer"),
                             {.field_manager = "tool"})));
  EXPECT_THAT(managers("outer"), ElementsAre(R"(tool {"f:data":{".":{},"f:a":{}}})"));
  // Others who write to it are noted, wherever they are.
  kube::ApiRequest patch =
      TestServer::ask(kube::Verb::kPatch, kConfigMap, {"default", "outer"}, R"({"data":{"b":"2"}})",
                      {.patch_type = kube::PatchType::kMerge});
  patch.user.name = "system:kube-scheduler";
  ASSERT_TRUE(server.call(patch));
  EXPECT_THAT(managers("outer"), ElementsAre(R"(kube-scheduler {"f:data":{"f:b":{}}})",
                                             R"(tool {"f:data":{".":{},"f:a":{}}})"));

  ASSERT_TRUE(server.create(kConfigMap, "default", text("inner")));
  EXPECT_THAT(managers("inner"), ElementsAre());
  ASSERT_TRUE(server.call_from_outside(
      "ann", TestServer::ask(kube::Verb::kPatch, kConfigMap, {"default", "inner"},
                             R"({"data":{"b":"2"}})", {.patch_type = kube::PatchType::kMerge})));
  EXPECT_THAT(managers("inner"), ElementsAre());
}

}  // namespace
}  // namespace berth::apiserver
