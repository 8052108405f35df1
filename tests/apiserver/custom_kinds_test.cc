// SPDX-License-Identifier: Apache-2.0
// Definitions and their objects through the whole server: names, kinds that come and go, and what
// is left after a restart.
#include "apiserver/crd/custom_kinds.h"

#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"
#include "apiserver/store/sim_journal.h"
#include "base/faults.h"

namespace berth::apiserver {
namespace {

using kube::kCustomResourceDefinition;
using kube::PatchType;

struct Crd {
  std::string plural = "widgets", kind = "Widget", group = "example.com", short_name = "";
  std::string schema =
      R"("size":{"type":"integer","maximum":9},"color":{"type":"string","default":"red"})";
  std::string more_versions = "";
};

std::string crd(const Crd& c = {}) {
  const std::string shorts =
      c.short_name.empty() ? "" : fmt::format(R"(,"shortNames":["{}"])", c.short_name);
  return fmt::format(
      R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{0}.{1}"}},"spec":{{"group":"{1}","scope":"Namespaced","names":{{"plural":"{0}","kind":"{2}"{3}}},"versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}},"scale":{{"specReplicasPath":".spec.size","statusReplicasPath":".status.count"}}}},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{{4}}}}},"status":{{"type":"object","properties":{{"count":{{"type":"integer"}}}}}}}}}}}}}}{5}]}}}})",
      c.plural, c.group, c.kind, shorts, c.schema, c.more_versions);
}

std::string widget(std::string_view name, std::string_view spec = R"("size":3)",
                   std::string_view metadata = "") {
  return fmt::format(
      R"({{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{}"{}}},"spec":{{{}}}}})",
      name, metadata, spec);
}

std::string condition(const kube::Object& definition, std::string_view type) {
  for (const json::Slice each : definition.status()["conditions"].elements())
    if (each["type"].equals(type))
      return fmt::format("{} {}: {}", each["status"].text(), each["reason"].text(),
                         each["message"].text());
  return "none";
}

class CustomKindsTest : public testing::Test {
 protected:
  CustomKindsTest()
      : custom(scope_, server.store(), server.kinds, Logger(server.log, server.world.clock())) {
    server.world.run_until_idle(Duration{});
    EXPECT_EQ(why_not(server.create(
                  kube::kNamespace, "",
                  R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")),
              "");
  }

  ~CustomKindsTest() override {
    scope_.close({}, [] {});
    server.world.run_until_idle(std::chrono::seconds(1));
  }

  void define(const Crd& c = {}) {
    ASSERT_EQ(why_not(server.create(kCustomResourceDefinition, "", crd(c))), "");
    server.world.run_until_idle(std::chrono::seconds(1));
  }
  kube::Object definition(std::string name = "widgets.example.com") {
    const Result<kube::Object> found = server.get(kCustomResourceDefinition, {"", std::move(name)});
    EXPECT_EQ(why_not(found), "");
    return found ? *found : kube::Object();
  }
  static kube::KindId kind(std::string_view plural = "widgets", std::string_view version = "v1",
                           std::string_view group = "example.com") {
    const auto found = kube::find_resource(group, version, plural);
    EXPECT_TRUE(found.has_value()) << plural;
    return found.value_or(kube::KindId{});
  }

  TestServer server;
  Scope scope_{server.world.loop("api"), "custom"};
  CustomKinds custom;
};

TEST_F(CustomKindsTest, ADefinitionIsEstablishedAndItsKindServed) {
  define({.short_name = "wd"});
  const kube::Object made = definition();
  EXPECT_EQ(condition(made, "NamesAccepted"), "True NoConflicts: no conflicts found");
  EXPECT_EQ(condition(made, "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  EXPECT_EQ(made.status()["acceptedNames"]["listKind"].text(), "WidgetList");
  EXPECT_EQ(made.status()["acceptedNames"]["shortNames"].raw(), R"(["wd"])");
  EXPECT_EQ(made.status()["storedVersions"].raw(), R"(["v1"])");

  const Result<kube::Object> created = server.create(kind(), "default", widget("a"));
  ASSERT_EQ(why_not(created), "");
  EXPECT_EQ(created->member("spec").raw(), R"({"size":3,"color":"red"})");
  EXPECT_EQ(created->generation(), 1);
  EXPECT_EQ(server.list(kind(), "default")->items.size(), 1U);
  EXPECT_EQ(why_not(server.create(kind(), "default", widget("b", R"("size":12)"))),
            "Widget.example.com \"b\" is invalid: spec.size: Invalid value: 12: spec.size in body "
            "should be less than or equal to 9");
}

TEST_F(CustomKindsTest, StatusAndScaleAreWrittenThroughTheirOwnDoors) {
  define();
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("a"))), "");
  const kube::Key key{"default", "a"};
  const Result<kube::Object> status = server.patch(
      kind(), key, R"({"spec":{"size":8},"status":{"count":2}})", PatchType::kMerge, "status");
  ASSERT_EQ(why_not(status), "");
  EXPECT_EQ(status->status()["count"].integer(), 2);
  EXPECT_EQ(status->member("spec")["size"].integer(), 3);
  EXPECT_EQ(status->generation(), 1);
  const Result<kube::Object> scaled =
      server.patch(kind(), key, R"({"spec":{"replicas":5}})", PatchType::kMerge, "scale");
  ASSERT_EQ(why_not(scaled), "");
  EXPECT_EQ(scaled->member("spec")["replicas"].integer(), 5);
  const Result<kube::Object> after = server.get(kind(), key);
  EXPECT_EQ(after->member("spec")["size"].integer(), 5);
  EXPECT_EQ(after->generation(), 2);
}

TEST_F(CustomKindsTest, ANameThatIsTakenIsWaitedFor) {
  define();
  define({.plural = "gadgets", .kind = "Widget"});
  const kube::Object second = definition("gadgets.example.com");
  EXPECT_EQ(condition(second, "NamesAccepted"),
            "False ListKindConflict: \"WidgetList\" is already in use");
  EXPECT_EQ(condition(second, "Established"), "False NotAccepted: not all names are accepted");
  EXPECT_EQ(why_not(server.erase(kCustomResourceDefinition, {"", "widgets.example.com"})), "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_EQ(condition(definition("gadgets.example.com"), "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  EXPECT_EQ(why_not(server.create(kind("gadgets"), "default", widget("a"))), "");
}

TEST_F(CustomKindsTest, ADefinitionGoesOnceItsObjectsAreGone) {
  define();
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("a"))), "");
  ASSERT_EQ(why_not(server.create(kind(), "default",
                                  widget("held", R"("size":1)", R"(,"finalizers":["x.y/z"])"))),
            "");
  ASSERT_EQ(why_not(server.erase(kCustomResourceDefinition, {"", "widgets.example.com"})), "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_EQ(condition(definition(), "Terminating"),
            "True InstanceDeletionInProgress: CustomResource deletion is in progress");
  EXPECT_EQ(server.list(kind())->items.size(), 1U);
  EXPECT_TRUE(server.get(kind(), {"default", "held"})->deleting());
  EXPECT_NE(why_not(server.create(kind(), "default", widget("late"))), "");

  ASSERT_EQ(
      why_not(server.patch(kind(), {"default", "held"}, R"({"metadata":{"finalizers":null}})")),
      "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_NE(why_not(server.get(kCustomResourceDefinition, {"", "widgets.example.com"})), "");
  EXPECT_EQ(server.kinds.now()->find("example.com", "v1", "widgets"), nullptr);
  EXPECT_EQ(server.store().count(kind()), 0U);

  // And may come back, even as something else.
  define({.kind = "Thing"});
  EXPECT_EQ(condition(definition(), "Established"),
            "True InitialNamesAccepted: the initial names have been accepted");
  const std::string thing =
      R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{}})";
  const Result<kube::Object> made = server.create(kind(), "default", thing);
  ASSERT_EQ(why_not(made), "");
  EXPECT_NE(made->json().find(R"("kind":"Thing")"), std::string::npos);
}

TEST_F(CustomKindsTest, WatchesEndWithTheirDefinitionOrAnotherSpec) {
  define();
  const auto watch = [&] {
    auto reply = server.call(TestServer::ask(kube::Verb::kWatch, kind(), {"default", ""}));
    EXPECT_EQ(why_not(reply), "");
    return std::move(std::get<std::unique_ptr<kube::WatchStream>>(reply->body));
  };
  const auto ends = [&](kube::WatchStream& stream) {
    const auto ended = std::make_shared<bool>(false);
    stream.read(server.scope().done<kube::WatchStream::Batch>(
        kNoLimit,
        [ended](Result<kube::WatchStream::Batch> batch) { *ended = batch && batch->end; }));
    server.world.run_for(std::chrono::seconds(3));
    return *ended;
  };
  const kube::Key name{"", "widgets.example.com"};
  const auto first = watch();
  ASSERT_EQ(why_not(server.patch(kCustomResourceDefinition, name,
                                 R"({"metadata":{"labels":{"a":"b"}}})")),
            "");
  EXPECT_FALSE(ends(*first));
  const auto second = watch();
  ASSERT_EQ(why_not(server.patch(kCustomResourceDefinition, name,
                                 R"({"spec":{"names":{"shortNames":["wi"]}}})")),
            "");
  EXPECT_TRUE(ends(*second));
  const auto third = watch();
  ASSERT_EQ(why_not(server.erase(kCustomResourceDefinition, name)), "");
  EXPECT_TRUE(ends(*third));
}

TEST_F(CustomKindsTest, KindsOfKubernetesOwnGroupsTellWhetherTheyAreApproved) {
  std::string text = crd({.group = "sea.k8s.io"});
  EXPECT_NE(why_not(server.create(kCustomResourceDefinition, "", text)), "");
  const std::string name = R"("name":"widgets.sea.k8s.io")";
  text.replace(text.find(name), name.size(),
               name + R"(,"annotations":{"api-approved.kubernetes.io":"unapproved, a test"})");
  ASSERT_EQ(why_not(server.create(kCustomResourceDefinition, "", text)), "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_EQ(condition(definition("widgets.sea.k8s.io"), "KubernetesAPIApprovalPolicyConformant"),
            "False UnapprovedAnnotation: not approved: \"unapproved, a test\"");
  ASSERT_EQ(why_not(server.patch(
                kCustomResourceDefinition, {"", "widgets.sea.k8s.io"},
                R"({"metadata":{"annotations":{"api-approved.kubernetes.io":"https://a.b/c"}}})")),
            "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_EQ(condition(definition("widgets.sea.k8s.io"), "KubernetesAPIApprovalPolicyConformant"),
            "True ApprovedAnnotation: approved in https://a.b/c");
}

TEST_F(CustomKindsTest, WhatIsStoredReadsWithTheDefaultsOfToday) {
  define();
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("a"))), "");
  ASSERT_EQ(
      why_not(server.patch(
          kCustomResourceDefinition, {"", "widgets.example.com"},
          R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/new","value":{"type":"integer","default":5}}])",
          PatchType::kJson)),
      "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_EQ(server.get(kind(), {"default", "a"})->member("spec").raw(),
            R"({"size":3,"color":"red","new":5})");
  EXPECT_EQ(server.list(kind())->items.at(0).member("spec")["new"].integer(), 5);
}

TEST_F(CustomKindsTest, VersionsShowTheSameObjectsByAnotherName) {
  define(
      {.more_versions =
           R"(,{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},"shape":{"type":"string","default":"round"}}}}}}})"});
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("a"))), "");
  const Result<kube::Object> second = server.get(kind("widgets", "v2"), {"default", "a"});
  ASSERT_EQ(why_not(second), "");
  EXPECT_NE(second->json().find(R"("apiVersion":"example.com/v2")"), std::string::npos);
  EXPECT_EQ(second->member("spec")["shape"].text(), "round");
  EXPECT_EQ(second->revision(), server.get(kind(), {"default", "a"})->revision());
}

const std::string kNewVersion =
    R"({"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})";

TEST_F(CustomKindsTest, AnotherStoredVersionLosesNothing) {
  const kube::Key name{"", "widgets.example.com"};
  define();
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("a"))), "");
  const auto mark = [&](std::string_view patch) {
    ASSERT_EQ(why_not(server.patch(kCustomResourceDefinition, name, patch, PatchType::kJson)), "");
    server.world.run_until_idle(std::chrono::seconds(1));
  };
  mark(R"([{"op":"replace","path":"/spec/versions/0/storage","value":false},
           {"op":"add","path":"/spec/versions/-","value":)" +
       kNewVersion + "}]");
  EXPECT_EQ(definition().status()["storedVersions"].raw(), R"(["v1","v2"])");
  for (const std::string_view version : {"v1", "v2"}) {
    SCOPED_TRACE(version);
    EXPECT_EQ(server.list(kind("widgets", version), "default")->items.size(), 1U);
    const Result<kube::Object> found = server.get(kind("widgets", version), {"default", "a"});
    ASSERT_EQ(why_not(found), "");
    EXPECT_EQ(found->member("spec")["size"].integer(), 3);
    EXPECT_NE(found->json().find(fmt::format("example.com/{}", version)), std::string::npos);
  }
  const std::string b =
      R"({"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"b"},"spec":{"size":4}})";
  ASSERT_EQ(why_not(server.create(kind("widgets", "v2"), "default", b)), "");
  EXPECT_EQ(server.list(kind(), "default")->items.size(), 2U);

  // The old version leaves, as it does after a migration.
  ASSERT_EQ(
      why_not(server.patch(kCustomResourceDefinition, name,
                           R"({"status":{"storedVersions":["v2"]}})", PatchType::kMerge, "status")),
      "");
  mark(R"([{"op":"remove","path":"/spec/versions/0"}])");
  EXPECT_EQ(server.kinds.now()->find("example.com", "v1", "widgets"), nullptr);
  EXPECT_EQ(server.list(kind("widgets", "v2"), "default")->items.size(), 2U);

  ASSERT_EQ(why_not(server.erase(kCustomResourceDefinition, name)), "");
  server.world.run_until_idle(std::chrono::seconds(1));
  EXPECT_NE(why_not(server.get(kCustomResourceDefinition, name)), "");
  EXPECT_EQ(server.store().count(kind()) + server.store().count(kind("widgets", "v2")), 0U);
}

TEST_F(CustomKindsTest, ADefinitionHasSoManyVersionsAtMost) {
  const auto with = [](int count) {
    std::string more;
    for (int i = 2; i <= count; ++i)
      more += fmt::format(
          R"(,{{"name":"v{}","served":true,"storage":false,"schema":{{"openAPIV3Schema":{{"type":"object"}}}}}})",
          i);
    return Crd{.plural = "manifolds", .kind = "Manifold", .more_versions = more};
  };
  EXPECT_EQ(why_not(server.create(kCustomResourceDefinition, "", crd(with(101)))),
            "CustomResourceDefinition.apiextensions.k8s.io \"manifolds.example.com\" is invalid: "
            "spec.versions: Too many: 101: must have at most 100 items");
  define(with(100));
  EXPECT_EQ(server.list(kind("manifolds", "v100"), "default")->items.size(), 0U);
}

TEST_F(CustomKindsTest, FieldsAreAppliedByTheRulesOfTheSchema) {
  define(
      {.schema =
           R"("tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"})"});
  const auto apply = [&](std::string manager, std::string_view spec) {
    return server.patch(kind(), {"default", "a"}, widget("a", spec), PatchType::kApply, "",
                        {.field_manager = std::move(manager)});
  };
  ASSERT_EQ(why_not(apply("one", R"("tags":["x"])")), "");
  const Result<kube::Object> both = apply("two", R"("tags":["y"])");
  ASSERT_EQ(why_not(both), "");
  EXPECT_EQ(both->member("spec")["tags"].raw(), R"(["x","y"])");
}

TEST(CustomKindsAfterARestart, ServeWhatTheyServedBeforeTheFirstRequest) {
  SimDisk disk;
  Faults faults;
  {
    TestServer first({}, {}, {}, nullptr);
    SimJournal journal(first.world.loop("disk"), disk, faults, {});
    Scope scope(first.world.loop("api"), "first");
    Store store(scope, {}, &journal);
    ASSERT_TRUE(store.recover().has_value());
    KindRegistry kinds;
    CustomKinds custom(scope, store, kinds, Logger(first.log, first.world.clock()));
    json::Arena arena;
    // As the server would have stored it.
    std::string text = crd();
    text.pop_back();
    text += R"(,"status":{"storedVersions":["v1"]}})";
    Result<kube::Object> object = kube::Object::parse(kCustomResourceDefinition, text);
    ASSERT_TRUE(object.has_value());
    store.write({.kind = kCustomResourceDefinition,
                 .key = {"", "widgets.example.com"},
                 .next = stamped(*object)},
                {});
    first.world.run_until_idle(std::chrono::seconds(1));
    EXPECT_NE(kinds.now()->find("example.com", "v1", "widgets"), nullptr);
    scope.close({}, [] {});
    first.world.run_until_idle(std::chrono::seconds(1));
  }
  TestServer second;
  SimJournal journal(second.world.loop("disk"), disk, faults, {});
  Scope scope(second.world.loop("api"), "second");
  Store store(scope, {}, &journal);
  ASSERT_TRUE(store.recover().has_value());
  KindRegistry kinds;
  const CustomKinds custom(scope, store, kinds, Logger(second.log, second.world.clock()));
  EXPECT_NE(kinds.now()->find("example.com", "v1", "widgets"), nullptr);
  scope.close({}, [] {});
  second.world.run_until_idle(std::chrono::seconds(1));
}

TEST(CustomKindsAfterARestart, FindWhatWasStoredBeforeAnotherVersionWasMarked) {
  SimDisk disk;
  Faults faults;
  TestServer bench;
  SimJournal journal(bench.world.loop("disk"), disk, faults, {});
  const auto with_store = [&](std::string_view name, auto&& use) {
    Scope scope(bench.world.loop("api"), std::string(name));
    Store store(scope, {}, &journal);
    ASSERT_TRUE(store.recover().has_value());
    use(scope, store);
    bench.world.run_until_idle(std::chrono::seconds(1));
    scope.close({}, [] {});
    bench.world.run_until_idle(std::chrono::seconds(1));
  };
  with_store("first", [&](Scope&, Store& store) {
    // The version that was stored is no longer served, nor could its plural be guessed.
    std::string text = crd({.plural = "oxen", .kind = "Ox"});
    const std::string_view versions = R"("versions":[)";
    text.resize(text.find(versions) + versions.size());
    text += kNewVersion +
            R"(]},"status":{"storedVersions":["v2"],"acceptedNames":{"plural":"oxen","kind":"Ox"},)"
            R"("conditions":[{"type":"Established","status":"True"}]}})";
    store.write({.kind = kCustomResourceDefinition,
                 .key = {"", "oxen.example.com"},
                 .next = stamped(*kube::Object::parse(kCustomResourceDefinition, text))},
                {});
    const kube::Object ox = *kube::Object::parse(
        R"({"apiVersion":"example.com/v1","kind":"Ox","metadata":{"name":"a","namespace":"default"}})");
    store.write({.kind = ox.kind(), .key = {"default", "a"}, .next = stamped(ox)}, {});
    bench.world.run_until_idle(std::chrono::seconds(1));
  });
  with_store("second", [&](Scope& scope, Store& store) {
    KindRegistry kinds;
    const CustomKinds custom(scope, store, kinds, Logger(bench.log, bench.world.clock()));
    const KindRow* row = kinds.now()->find("example.com", "v2", "oxen");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(store.count(row->stored_as.value_or(row->id)), 1U);
    bench.world.run_until_idle(std::chrono::seconds(1));
    scope.close({}, [] {});
    bench.world.run_until_idle(std::chrono::seconds(1));
  });
}

// The texts are those of kube-apiserver 1.36.
TEST_F(CustomKindsTest, RulesAreAskedOfEveryObject) {
  define({.schema = R"j(
    "s":{"type":"string","x-kubernetes-validations":[{"rule":"self != 'x'"}]},
    "i":{"type":"integer","x-kubernetes-validations":[{"rule":"100 / self > 1"}]},
    "b":{"type":"boolean","x-kubernetes-validations":[{"rule":"self","message":"m"}]},
    "a":{"type":"array","items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"size(self) > 2","message":"m"}]},
    "q":{"type":"array","items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"size(self) > 2","message":"m","reason":"FieldValueRequired"}]},
    "is":{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"self + 1 > 2","message":"m"}]},
    "nu":{"type":"string","nullable":true,"x-kubernetes-validations":[{"rule":"self != 'x'","messageExpression":"'has ' + self"}]},
    "m":{"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(k, k != 'x')","fieldPath":"['x']"}]},
    "t":{"type":"string","format":"date-time","x-kubernetes-validations":[{"rule":"self > timestamp('2026-01-01T00:00:00Z')","message":"m"}]},
    "size":{"type":"integer"})j"});
  struct Row {
    const char *spec, *said;
  };
  const Row rows[] = {
      {R"("s":"x")", R"(spec.s: Invalid value: "x": failed rule: self != 'x')"},
      {R"("i":0)",
       R"(spec.i: Invalid value: "integer": division by zero evaluating rule: 100 / self > 1)"},
      {R"("i":200)", "spec.i: Invalid value: 200: failed rule: 100 / self > 1"},
      {R"("b":false)", "spec.b: Invalid value: false: m"},
      {R"("a":[1])", "spec.a: Invalid value: m"},
      {R"("q":[1])", "spec.q: Required value: m"},
      {R"("is":1)", "spec.is: Invalid value: 1: m"},
      {R"("is":"s")",
       R"(spec.is: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: m)"},
      {R"("nu":"x")", R"(spec.nu: Invalid value: "x": has x)"},
      {R"("nu":null)", ""},
      {R"("m":{"x":"y"})", "spec.m.[x]: Invalid value: failed rule: self.all(k, k != 'x')"},
      {R"("t":"2025-01-01T00:00:00Z")", R"(spec.t: Invalid value: "2025-01-01T00:00:00Z": m)"},
      {R"("s":"y","i":3,"b":true,"a":[1,2,3],"t":"2026-01-01T00:00:00.5Z")", ""}};
  int made = 0;
  for (const Row& row : rows) {
    const std::string name = fmt::format("w{}", ++made);
    const std::string said = why_not(server.create(kind(), "default", widget(name, row.spec)));
    EXPECT_EQ(said, *row.said == '\0'
                        ? std::string()
                        : fmt::format(R"(Widget.example.com "{}" is invalid: {})", name, row.said));
  }
}

TEST_F(CustomKindsTest, WhatWasWrongBeforeARuleCameIsLetBe) {
  define();
  ASSERT_EQ(why_not(server.create(kind(), "default", widget("w", R"("size":3)"))), "");
  const auto ruled = [&](std::string_view rules) {
    ASSERT_EQ(
        why_not(server.patch(
            kCustomResourceDefinition, {"", "widgets.example.com"},
            fmt::format(
                R"([{{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/x-kubernetes-validations","value":{}}}])",
                rules),
            PatchType::kJson)),
        "");
    server.world.run_until_idle(std::chrono::seconds(1));
  };
  ruled(R"([{"rule":"self > 5","message":"too small"}])");
  const auto change = [&](std::string_view patch) {
    return why_not(server.patch(kind(), {"default", "w"}, patch));
  };
  EXPECT_EQ(change(R"({"spec":{"color":"blue"}})"), "");
  EXPECT_EQ(change(R"({"spec":{"size":4}})"),
            R"(Widget.example.com "w" is invalid: spec.size: Invalid value: 4: too small)");
  ruled(R"([{"rule":"self >= oldSelf","message":"only grows"}])");
  EXPECT_EQ(change(R"({"spec":{"size":2}})"),
            R"(Widget.example.com "w" is invalid: spec.size: Invalid value: 2: only grows)");
  EXPECT_EQ(change(R"({"spec":{"size":4}})"), "");
}

TEST_F(CustomKindsTest, ARuleThatCostsTooMuchRefusesTheObjectAndNotTheServer) {
  define({.schema = R"j("size":{"type":"integer"},"l":{"type":"array","items":{"type":"integer"},
    "x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}]})j"});
  std::string numbers = "1";
  for (int i = 0; i < 999; ++i) numbers += ",1";
  EXPECT_EQ(
      why_not(server.create(kind(), "default", widget("w", fmt::format(R"("l":[{}])", numbers)))),
      R"(Widget.example.com "w" is invalid: spec.l: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run)");
  EXPECT_EQ(why_not(server.create(kind(), "default", widget("w", R"("l":[1,2,3])"))), "");
}

TEST_F(CustomKindsTest, RulesBeyondTheLanguageAreRefusedWithTheirPlace) {
  const auto said = [&](std::string_view rules) {
    return why_not(server.create(
        kCustomResourceDefinition, "",
        crd({.schema = fmt::format(
                 R"("size":{{"type":"integer"}},"s":{{"type":"string","x-kubernetes-validations":[{}]}},"l":{{"type":"array","items":{{"type":"integer"{}}}}})",
                 rules, "")})));
  };
  const std::string head =
      R"(CustomResourceDefinition.apiextensions.k8s.io "widgets.example.com" is invalid: spec.validation.openAPIV3Schema.properties[spec].properties[s].x-kubernetes-validations[0])";
  EXPECT_EQ(
      said(R"({"rule":"self.split(',').size() > 1"})"),
      head +
          R"(.rule: Invalid value: {"Rule":"self.split(',').size() \u003e 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:11: the function 'split' is not supported by this server)"
          "\n | self.split(',').size() > 1\n | ..........^");
  EXPECT_EQ(said(R"({"rule":" "})"), head + ".rule: Required value: rule is not specified");
  EXPECT_EQ(
      said(R"({"rule":"self ==\n'x'"})"),
      head + ".message: Required value: message must be specified if rule contains line breaks");
  EXPECT_EQ(said(R"({"rule":"true","fieldPath":".a"})"),
            head + R"(.fieldPath: Invalid value: ".a": must be a valid path)");
}

}  // namespace
}  // namespace berth::apiserver
