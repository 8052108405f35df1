// SPDX-License-Identifier: Apache-2.0
#include "kube/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/time.h"

namespace berth::kube {
namespace {

constexpr std::string_view kWeb = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "42",
    "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z",
    "managedFields": [{"manager": "kubectl"}],
    "labels": {"app": "web"}, "annotations": {"note": "a \"b\""},
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-0", "controller": true}],
    "finalizers": ["a/b"]},
  "spec": {"nodeName": "n1"}, "extra": [1, 2], "status": {"phase": "Running"}})";

Object parsed(KindId kind, std::string_view text) {
  Result<Object> object = Object::parse(kind, text);
  EXPECT_TRUE(object.has_value()) << (object ? "" : object.error().message);
  return object ? *object : Object();
}

TEST(Object, WithoutMetadataHasEmptyMetadata) {
  const Object lease = *Object::parse(kLease, R"({"spec":{}})");
  EXPECT_EQ(lease.metadata().raw(), "{}");
  EXPECT_EQ(lease.name(), "");
}

TEST(Object, TellsItsMetadata) {
  const Object web = parsed(kPod, kWeb);
  EXPECT_EQ(web.key().text(), "shop/web");
  EXPECT_EQ(web.uid(), "u-1");
  EXPECT_EQ(web.revision(), 42u);
  EXPECT_EQ(web.generation(), 3);
  EXPECT_EQ(time_text(*web.created()), "2026-01-02T03:04:05Z");
  EXPECT_FALSE(web.deleting());
  EXPECT_EQ(web.label("app"), "web");
  EXPECT_EQ(web.annotation("note"), "a \"b\"");
  ASSERT_TRUE(web.controller());
  EXPECT_EQ(web.controller()->name, "rs");
  EXPECT_THAT(web.finalizers(), testing::ElementsAre("a/b"));
}

TEST(Object, KeepsUnknownMembersAndTellsThem) {
  const Object web = parsed(kPod, kWeb);
  EXPECT_EQ(web.member("spec")["nodeName"].text(), "n1");
  EXPECT_EQ(web.member("extra").size(), 2u);
  EXPECT_EQ(web.status()["phase"].text(), "Running");
  EXPECT_FALSE(web.member("status"));
  const Object again = parsed(kPod, web.json());
  EXPECT_EQ(again.json(), web.json());
  EXPECT_EQ(again.member("extra").raw(), "[1, 2]");
}

TEST(Object, ManagedFieldsCanBeLeftOutWhereverTheyStand) {
  for (const char* metadata : {R"({"managedFields":[1],"name":"a","uid":"u"})",
                               R"({"name":"a","managedFields":[1],"uid":"u"})",
                               R"({"name":"a","uid":"u","managedFields":[1]})"}) {
    const Object with = parsed(kPod, fmt::format(R"({{"metadata":{},"spec":{{}}}})", metadata));
    const Object without = with.without_managed_fields();
    EXPECT_EQ(without.metadata().raw(), R"({"name":"a","uid":"u"})");
    EXPECT_EQ(without.name(), "a");
    EXPECT_EQ(without.uid(), "u");
    EXPECT_EQ(without.member("spec").raw(), "{}");
  }
  const Object only = parsed(kPod, R"({"metadata":{"managedFields":[]}})");
  EXPECT_EQ(only.without_managed_fields().metadata().raw(), "{}");
}

TEST(Object, TellsWhatAnotherVersionDoesNotKeepAliveAnyway) {
  const Object first = parsed(
      kPod, R"({"metadata":{"name":"a"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})");
  const Object next = *first.next(7, {.status = R"({"phase":"Failed"})"});
  EXPECT_EQ(first.bytes_beyond(Object()), first.bytes());
  EXPECT_LT(first.bytes_beyond(next), first.bytes());
  const Object apart = parsed(kPod, first.json());
  EXPECT_EQ(first.bytes_beyond(apart), first.bytes());
  EXPECT_TRUE(first.shares_body(next));
  EXPECT_FALSE(first.shares_body(apart));
  EXPECT_FALSE(first.shares_body(Object()));
}

TEST(Object, TheLastOfEqualMembersCounts) {
  const Object o = parsed(
      kPod,
      R"({"metadata":{"name":"a"},"spec":1,"metadata":{"uid":"u"},"spec":2,"status":3,"status":4})");
  EXPECT_EQ(o.name(), "");
  EXPECT_EQ(o.uid(), "u");
  EXPECT_EQ(o.member("spec").raw(), "2");
  EXPECT_EQ(o.status().raw(), "4");
}

TEST(Object, BadDocumentsAreRefusedWithTheirPlace) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"metadata":{"name":7}})", "Pod: metadata.name must be a string"},
      {R"({"metadata":{"labels":[]}})", "Pod: metadata.labels is of the wrong type"},
      {R"({"metadata":{"name":"a\u0020b"}})",
       "Pod: metadata.name has characters that no name may have"},
      {R"({"kind":"Node"})", "Pod: expected v1 Pod, found  Node"},
      {R"({"metadata":{"creationTimestamp":"now"}})",
       "Pod: metadata.creationTimestamp: \"now\" is no time"},
      {"{\n\"spec\":tru}", "Pod: line 2, column 8: expected true"},
      {"[]", "Pod: line 1, column 1: expected '{'"},
      {"{}{}", "Pod: line 1, column 3: nothing may follow the document"}};
  for (const auto& [text, message] : rows) {
    const Result<Object> object = Object::parse(kPod, text);
    ASSERT_FALSE(object) << text;
    EXPECT_EQ(object.error().message, message);
    EXPECT_EQ(object.error().reason, Reason::kBadRequest);
  }
}

TEST(Object, LearnsKindsThatNobodyToldItOf) {
  const Result<Object> o =
      Object::parse(R"({"apiVersion":"example.com/v1","kind":"Policy","metadata":{"name":"p"}})");
  ASSERT_TRUE(o);
  EXPECT_EQ(kind_of(o->kind()).plural, "policies");
  EXPECT_EQ(find_kind("example.com/v1", "Policy"), o->kind());
  EXPECT_EQ(learn_kind({"example.com", "v1", "Policy", "policys", false}), o->kind());
  EXPECT_EQ(kind_of(o->kind()).plural, "policys");
}

TEST(ObjectList, IsReadInOnePass) {
  const std::string text = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7","continue":"c","remainingItemCount":9}},"items":[{},{}]}})",
      kWeb, R"({"metadata":{"name":"b"}})");
  const Result<ObjectList> list = parse_list(kPod, text, false);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->revision, 7u);
  EXPECT_EQ(list->continue_token, "c");
  EXPECT_EQ(list->remaining, 9);
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_FALSE(list->items[0].metadata()["managedFields"]);
  EXPECT_EQ(list->items[0].label("app"), "web");
  EXPECT_EQ(list->items[1].name(), "b");
}

TEST(ObjectList, ErrorsNameTheItem) {
  const Result<ObjectList> list = parse_list(kPod, R"({"items":[{},{"metadata":{"uid":1}}]})");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message, "PodList, items[1]: metadata.uid must be a string");
  EXPECT_FALSE(parse_list(kPod, R"({"kind":"Status","items":[]})"));
  EXPECT_FALSE(parse_list(kPod, R"({"kind":"Pod","metadata":{}})"));
  EXPECT_TRUE(parse_list(kPod, R"({"kind":"Herd","items":[]})"));
  EXPECT_FALSE(parse_list(kPod, R"({"items":[{}})"));
}

}  // namespace
TEST(Object, TheNextVersionSharesWhatDidNotChange) {
  const Object first =
      Object::parse(kPod, R"({"metadata":{"name":"a","resourceVersion":"7","labels":{"x":"y"}},)"
                          R"("spec":{"nodeName":"n"},"status":{"phase":"Pending"}})")
          .value();
  const Object second = first.next(8, {.status = R"({"phase":"Running"})"}).value();
  EXPECT_EQ(second.revision(), 8U);
  EXPECT_EQ(second.name(), "a");
  EXPECT_EQ(second.label("x"), "y");
  EXPECT_EQ(second.member("spec").raw().data(), first.member("spec").raw().data());
  EXPECT_EQ(second.json(),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"8",)"
            R"("labels":{"x":"y"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}})");
  EXPECT_EQ(first.revision(), 7U);
  const Object third = second.next(9, {.body = "{}", .status = "null"}).value();
  EXPECT_FALSE(third.status().present());
  EXPECT_FALSE(third.member("spec").present());
}

TEST(Object, ARevisionIsWrittenWhereThereWasNone) {
  for (const std::string_view metadata : {"{}", "{ }", R"({"name":"a"})", R"({ "name":"a"})"}) {
    const Object made = Object::assemble(kPod, 12, {.metadata = metadata}).value();
    EXPECT_EQ(made.metadata()["resourceVersion"].text(), "12") << metadata;
    EXPECT_TRUE(Object::parse(kPod, made.json()).has_value()) << made.json();
  }
  EXPECT_EQ(Object::assemble(kPod, 0, {.metadata = R"({"name":"a"})"}).value().json(),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}})");
}

TEST(Object, MetadataThatNoObjectCanHaveIsRefused) {
  EXPECT_FALSE(Object::assemble(kPod, 1, {.metadata = R"({"name":7})"}).has_value());
  EXPECT_FALSE(
      Object::assemble(kPod, 1, {.metadata = R"({"creationTimestamp":"today"})"}).has_value());
}

}  // namespace berth::kube
