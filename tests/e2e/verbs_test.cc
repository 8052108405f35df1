// SPDX-License-Identifier: Apache-2.0
// Every verb and every kind of refusal, against the real kube-apiserver.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "json/writer.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

using kube::PatchType;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string config_map(const std::string& name, const std::string& value = "1") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","labels":{{"app":"web"}}}},"data":{{"a":"{}"}}}})",
      name, value);
}

std::string pod(const std::string& name) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main","image":"example.com/a:1"}}]}}}})",
      name);
}

class RealVerbs : public SharedPlane {
 protected:
  kube::Object made(kube::KindId kind, const std::string& json) {
    auto object = admin().create(kind, ns(), json);
    EXPECT_TRUE(object) << object.error().message;
    return object ? *object : kube::Object();
  }
  Result<kube::Object> update(const kube::Key& at, std::string json, kube::Options options = {}) {
    return admin().ask<kube::Object>([&](client::Api& api, Done<kube::Object> done) {
      api.update(kube::kConfigMap, at, std::move(json), std::move(done), "", std::move(options));
    });
  }
  Result<Ok> bind(const kube::Object& object, const std::string& node) {
    return admin().ask<Ok>([&](client::Api& api, Done<Ok> done) {
      api.bind(object.key(), object.uid(), node, std::move(done));
    });
  }
  Result<Ok> evict(const kube::Key& at) {
    return admin().ask<Ok>(
        [&](client::Api& api, Done<Ok> done) { api.evict(at, {}, std::move(done)); });
  }
};

#define EXPECT_REFUSED(result, expected_reason, expected_code)                       \
  do {                                                                               \
    ASSERT_FALSE(result);                                                            \
    EXPECT_EQ((result).error().reason, expected_reason) << (result).error().message; \
    EXPECT_EQ((result).error().code, expected_code);                                 \
    EXPECT_EQ((result).error().outcome, Outcome::kRefused);                          \
  } while (false)

TEST_F(RealVerbs, CreatesReadsUpdatesAndDeletes) {
  const kube::Object first = made(kube::kConfigMap, config_map("m"));
  EXPECT_EQ(first.key(), key("m"));
  EXPECT_EQ(first.label("app"), "web");
  EXPECT_TRUE(first.created());

  const auto read = admin().get(kube::kConfigMap, key("m"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->json(), first.json());

  std::string changed = read->json();
  changed.replace(changed.find(R"("a":"1")"), 7, R"("a":"2")");
  const auto second = update(key("m"), changed);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_GT(second->revision(), first.revision());
  EXPECT_EQ(second->member("data")["a"].text(), "2");

  EXPECT_TRUE(admin().erase(kube::kConfigMap, key("m")));
  EXPECT_REFUSED(admin().get(kube::kConfigMap, key("m")), Reason::kNotFound, 404);
  EXPECT_REFUSED(admin().erase(kube::kConfigMap, key("m")), Reason::kNotFound, 404);
}

TEST_F(RealVerbs, NamesWhatIsWrong) {
  made(kube::kConfigMap, config_map("m"));
  EXPECT_REFUSED(admin().create(kube::kConfigMap, ns(), config_map("m")), Reason::kAlreadyExists,
                 409);

  const auto bad_name = admin().create(kube::kConfigMap, ns(), config_map("Not_A_Name"));
  EXPECT_REFUSED(bad_name, Reason::kInvalid, 422);
  EXPECT_THAT(bad_name.error().causes, Contains(Field(&Cause::field, "metadata.name")));

  const auto no_image = admin().create(
      kube::kPod, ns(),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"main"}]}})");
  EXPECT_REFUSED(no_image, Reason::kInvalid, 422);
  EXPECT_THAT(no_image.error().causes, Contains(Field(&Cause::field, "spec.containers[0].image")));
  EXPECT_THAT(no_image.error().causes, Contains(Field(&Cause::reason, "FieldValueRequired")));

  EXPECT_REFUSED(admin().create(kube::kConfigMap, ns(), "{not json"), Reason::kBadRequest, 400);
  EXPECT_REFUSED(admin().create(kube::kConfigMap, "no-such-namespace", config_map("m")),
                 Reason::kNotFound, 404);
  const kube::KindId nobody = kube::learn_kind(
      {.group = "nobody.example.com", .version = "v1", .kind = "Thing", .plural = "things"});
  EXPECT_REFUSED(admin().list_all(nobody, ns()), Reason::kNotFound, 404);
}

TEST_F(RealVerbs, RefusesUnknownFieldsWhenAskedToBeStrict) {
  std::string json = config_map("m");
  json.insert(json.size() - 1, R"(,"colour":"blue")");
  EXPECT_REFUSED(admin().create(kube::kConfigMap, ns(), json,
                                {.field_validation = kube::FieldValidation::kStrict}),
                 Reason::kBadRequest, 400);
  const auto reply = admin().ask<kube::ApiReply>([&](client::Api& api, Done<kube::ApiReply> done) {
    kube::ApiRequest request{.verb = kube::Verb::kCreate, .kind = kube::kConfigMap, .ns = ns()};
    request.options.field_validation = kube::FieldValidation::kWarn;
    request.body.bytes = std::make_shared<const std::string>(json);
    api.call(std::move(request), client::Urgency::kStatus, std::move(done));
  });
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(reply->warnings, Contains(HasSubstr("unknown field \"colour\"")));
}

TEST_F(RealVerbs, RefusesAnUpdateOfAnOldVersion) {
  const kube::Object old = made(kube::kConfigMap, config_map("m"));
  ASSERT_TRUE(admin().patch(kube::kConfigMap, key("m"), R"({"data":{"a":"2"}})"));
  EXPECT_REFUSED(update(key("m"), old.json()), Reason::kConflict, 409);
}

TEST_F(RealVerbs, DryRunChangesNothing) {
  const kube::Options dry{.dry_run = true};
  const auto created = admin().create(kube::kConfigMap, ns(), config_map("m"), dry);
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE(created->uid().empty());
  EXPECT_REFUSED(admin().get(kube::kConfigMap, key("m")), Reason::kNotFound, 404);

  const kube::Object real = made(kube::kConfigMap, config_map("m"));
  const auto patched = admin().patch(kube::kConfigMap, key("m"), R"({"data":{"a":"2"}})",
                                     PatchType::kMerge, "", dry);
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->member("data")["a"].text(), "2");
  EXPECT_TRUE(update(key("m"), config_map("m", "3"), dry));
  EXPECT_TRUE(admin().erase(kube::kConfigMap, key("m"), dry));
  const auto after = admin().get(kube::kConfigMap, key("m"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->json(), real.json());
}

TEST_F(RealVerbs, DeletesOnlyWhatThePreconditionsName) {
  const kube::Object object = made(kube::kConfigMap, config_map("m"));
  EXPECT_REFUSED(admin().erase(kube::kConfigMap, key("m"),
                               {.precondition_uid = "00000000-0000-4000-8000-000000000000"}),
                 Reason::kConflict, 409);
  EXPECT_REFUSED(admin().erase(kube::kConfigMap, key("m"), {.precondition_revision = "1"}),
                 Reason::kConflict, 409);
  EXPECT_TRUE(admin().erase(kube::kConfigMap, key("m"),
                            {.precondition_uid = std::string(object.uid()),
                             .precondition_revision = std::to_string(object.revision())}));
}

TEST_F(RealVerbs, KnowsEveryTypeOfPatch) {
  made(kube::kPod, pod("p"));
  const auto json = admin().patch(
      kube::kPod, key("p"),
      R"([{"op":"test","path":"/metadata/labels/app","value":"web"},{"op":"add","path":"/metadata/labels/a~1b","value":"json"}])",
      PatchType::kJson);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->label("a/b"), "json");

  const auto merge =
      admin().patch(kube::kPod, key("p"), R"({"metadata":{"labels":{"a/b":null,"m":"merge"}}})");
  ASSERT_TRUE(merge) << merge.error().message;
  EXPECT_EQ(merge->label("a/b"), "");
  EXPECT_EQ(merge->label("m"), "merge");

  // By merge key: the container is found by its name, not replaced with the whole list.
  const auto strategic =
      admin().patch(kube::kPod, key("p"),
                    R"({"spec":{"containers":[{"name":"main","image":"example.com/a:2"}]}})",
                    PatchType::kStrategic);
  ASSERT_TRUE(strategic) << strategic.error().message;
  EXPECT_EQ(strategic->member("spec")["containers"][0]["image"].text(), "example.com/a:2");

  EXPECT_REFUSED(admin().patch(kube::kPod, key("p"),
                               R"([{"op":"test","path":"/metadata/labels/app","value":"db"}])",
                               PatchType::kJson),
                 Reason::kInvalid, 422);
}

TEST_F(RealVerbs, AppliesOnTheServerAndReportsConflicts) {
  const auto apply = [&](const std::string& value, kube::Options options) {
    return admin().patch(kube::kConfigMap, key("m"), config_map("m", value), PatchType::kApply, "",
                         std::move(options));
  };
  ASSERT_TRUE(apply("1", {.field_manager = "first"}));
  const auto conflict = apply("2", {.field_manager = "second"});
  EXPECT_REFUSED(conflict, Reason::kConflict, 409);
  EXPECT_THAT(conflict.error().causes, Contains(Field(&Cause::reason, "FieldManagerConflict")));
  EXPECT_THAT(conflict.error().causes, Contains(Field(&Cause::field, ".data.a")));
  const auto forced = apply("2", {.force = true, .field_manager = "second"});
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_EQ(forced->member("data")["a"].text(), "2");
}

TEST_F(RealVerbs, WritesStatusApartFromTheRest) {
  made(kube::kPod, pod("p"));
  const auto status = admin().patch(
      kube::kPod, key("p"),
      R"({"metadata":{"labels":{"app":"db"}},"status":{"phase":"Running","message":"here"}})",
      PatchType::kStrategic, "status");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->status()["phase"].text(), "Running");
  const auto rest = admin().patch(kube::kPod, key("p"), R"({"status":{"message":"lost"}})");
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->status()["message"].text(), "here");
}

TEST_F(RealVerbs, BindsAPodOnce) {
  const kube::Object object = made(kube::kPod, pod("p"));
  const auto first = bind(object, "n1");
  EXPECT_TRUE(first) << first.error().message;
  const auto bound = admin().get(kube::kPod, key("p"));
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(bound->member("spec")["nodeName"].text(), "n1");
  const auto second = bind(object, "n2");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, Reason::kConflict) << second.error().message;
}

TEST_F(RealVerbs, BindsNoPodOfAnotherUid) {
  const kube::Object gone = made(kube::kPod, pod("p"));
  ASSERT_TRUE(admin().erase(kube::kPod, key("p"), {.grace_period_seconds = 0}));
  made(kube::kPod, pod("p"));
  const auto bound = bind(gone, "n1");
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().reason, Reason::kConflict) << bound.error().message;
}

TEST_F(RealVerbs, EvictsUnlessABudgetForbidsIt) {
  made(kube::kPod, pod("p"));
  made(kube::kPod, pod("q"));
  for (const char* name : {"p", "q"})
    ASSERT_TRUE(admin().patch(
        kube::kPod, key(name),
        R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
        PatchType::kStrategic, "status"));
  EXPECT_TRUE(evict(key("p")));
  EXPECT_REFUSED(admin().get(kube::kPod, key("p")), Reason::kNotFound, 404);

  const auto budget = admin().create(
      kube::kPodDisruptionBudget, ns(),
      R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}})");
  ASSERT_TRUE(budget) << budget.error().message;
  // What the disruption controller would say.
  ASSERT_TRUE(admin().patch(
      kube::kPodDisruptionBudget, key("b"),
      R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}})",
      PatchType::kMerge, "status"));
  const auto refused = evict(key("q"));
  EXPECT_REFUSED(refused, Reason::kTooManyRequests, 429);
  EXPECT_THAT(refused.error().causes, Contains(Field(&Cause::reason, "DisruptionBudget")));
  EXPECT_TRUE(admin().get(kube::kPod, key("q")));
}

TEST_F(RealVerbs, ListsPageByPage) {
  for (int i = 0; i < 25; ++i) made(kube::kConfigMap, config_map(fmt::format("m{:02}", i)));
  kube::Options options{.label_selector = "app=web", .limit = 10};
  std::vector<std::string> names;
  std::vector<std::size_t> sizes;
  kube::Revision revision = 0;
  do {
    const auto page =
        admin().ask<kube::ObjectList>([&](client::Api& api, Done<kube::ObjectList> done) {
          api.list(kube::kConfigMap, ns(), options, std::move(done));
        });
    ASSERT_TRUE(page) << page.error().message;
    if (revision == 0) revision = page->revision;
    EXPECT_EQ(page->revision, revision) << "pages of one list show one moment";
    sizes.push_back(page->items.size());
    for (const kube::Object& object : page->items) names.emplace_back(object.name());
    options.continue_token = page->continue_token;
    ASSERT_LT(sizes.size(), 5u);
  } while (!options.continue_token.empty());
  EXPECT_THAT(sizes, ::testing::ElementsAre(10, 10, 5));
  const auto all =
      admin().list_all(kube::kConfigMap, ns(), {.label_selector = "app=web", .limit = 10});
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->items.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(all->items[i].name(), names[i]);
}

TEST_F(RealVerbs, SelectsByLabelsAndFields) {
  made(kube::kPod, pod("p"));
  const kube::Object bound = made(kube::kPod, pod("q"));
  ASSERT_TRUE(bind(bound, "n1"));
  const auto count = [&](kube::Options options) {
    const auto list = admin().list_all(kube::kPod, ns(), std::move(options));
    EXPECT_TRUE(list) << list.error().message;
    return list ? list->items.size() : 99;
  };
  EXPECT_EQ(count({.label_selector = "app in (web, db), !old"}), 2u);
  EXPECT_EQ(count({.label_selector = "app!=web"}), 0u);
  EXPECT_EQ(count({.field_selector = "spec.nodeName=n1"}), 1u);
  EXPECT_REFUSED(admin().list_all(kube::kPod, ns(), {.label_selector = "app in ("}),
                 Reason::kBadRequest, 400);
}

TEST_F(RealVerbs, DeletesACollection) {
  for (const char* name : {"a", "b", "c"}) made(kube::kConfigMap, config_map(name));
  ASSERT_TRUE(admin().patch(kube::kConfigMap, key("b"), R"({"metadata":{"labels":{"app":"db"}}})"));
  const auto gone = admin().ask<Ok>([&](client::Api& api, Done<Ok> done) {
    api.erase_collection(kube::kConfigMap, ns(), {.label_selector = "app=web"}, std::move(done));
  });
  ASSERT_TRUE(gone) << gone.error().message;
  const auto left = admin().list_all(kube::kConfigMap, ns());
  ASSERT_TRUE(left) << left.error().message;
  ASSERT_EQ(left->items.size(), 1u);
  EXPECT_EQ(left->items[0].name(), "b");
}

TEST_F(RealVerbs, KeepsAnOwnerUntilItsDependentsAreGone) {
  made(kube::kConfigMap, config_map("m"));
  ASSERT_TRUE(
      admin().erase(kube::kConfigMap, key("m"), {.propagation = kube::Propagation::kForeground}));
  // Nobody collects garbage here, so the object waits for ever.
  const auto waiting = admin().get(kube::kConfigMap, key("m"));
  ASSERT_TRUE(waiting) << waiting.error().message;
  EXPECT_TRUE(waiting->deleting());
  EXPECT_THAT(waiting->finalizers(), ::testing::ElementsAre("foregroundDeletion"));
}

TEST_F(RealVerbs, AsksForAnythingElseByPath) {
  const auto raw = [&](const std::string& path) {
    return admin().ask<std::string>([&](client::Api& api, Done<std::string> done) {
      api.raw("GET", path, "", std::move(done));
    });
  };
  EXPECT_EQ(raw("/readyz"), "ok");
  const auto version = raw("/version");
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(json::Slice(*version)["gitVersion"].text(), "v1.36.4");
  EXPECT_REFUSED(raw("/no/such/path"), Reason::kNotFound, 404);
}

TEST_F(RealVerbs, TellsAWriteWithoutAnswerFromOneThatWasRefused) {
  // The server stands still with our request in its hands: it may carry it out later, and here it
  // does.
  plane().api_server().freeze();
  kube::ApiRequest request{.verb = kube::Verb::kCreate, .kind = kube::kConfigMap, .ns = ns()};
  request.body.bytes = std::make_shared<const std::string>(config_map("m"));
  const auto lost = admin().once(request, 1s);
  plane().api_server().signal(SIGCONT);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().outcome, Outcome::kUnknown) << lost.error().message;
}

TEST_F(RealVerbs, KnowsThatAnUnreachableServerDidNothing) {
  auto session = Session::open(plane().kubeconfig());
  ASSERT_TRUE(session) << session.error().message;
  plane().kill_api_server();
  kube::ApiRequest request{.verb = kube::Verb::kCreate, .kind = kube::kConfigMap, .ns = ns()};
  request.body.bytes = std::make_shared<const std::string>(config_map("m"));
  const auto lost = (*session)->once(request, 5s);
  const auto up = plane().start_api_server();
  ASSERT_TRUE(up) << up.error().message;
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, Reason::kUnreachable);
  EXPECT_EQ(lost.error().outcome, Outcome::kNotSent) << lost.error().message;
  // The same session finds the new server without being told.
  EXPECT_TRUE(admin().create(kube::kConfigMap, ns(), config_map("m")));
}

}  // namespace
}  // namespace berth::e2e
