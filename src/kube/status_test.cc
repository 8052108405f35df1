// SPDX-License-Identifier: Apache-2.0
#include "kube/status.h"

#include <gtest/gtest.h>

#include "kube/watch_event.h"

namespace berth::kube {
namespace {

TEST(Status, IsReadWithItsCauses) {
  const Error error = error_from_status(
      422,
      R"({"kind":"Status","status":"Failure","message":"no","reason":"Invalid","details":{"causes":[{"reason":"FieldValueInvalid","message":"m","field":"spec.x"}],"retryAfterSeconds":7},"code":422})",
      std::nullopt, true);
  EXPECT_EQ(error.reason, Reason::kInvalid);
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(error.code, 422);
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, "spec.x");
  EXPECT_EQ(error.retry_after, Duration(7s));
}

TEST(Status, BodiesThatAreNoStatusAreTakenByTheirCode) {
  struct Row {
    int code;
    const char* body;
    bool post;
    Reason reason;
    const char* message;
  };
  const Row rows[] = {
      {409, "", true, Reason::kAlreadyExists, "the server answered 409 AlreadyExists"},
      {409, "", false, Reason::kConflict, "the server answered 409 Conflict"},
      {503, "<html>\nno\n</html>\n", false, Reason::kServiceUnavailable, "<html> no </html>"},
      {404, "{\"kind\":\"Pod\"}", false, Reason::kNotFound, "{\"kind\":\"Pod\"}"},
      {409, R"({"kind":"Status","message":"x","reason":"AlreadyExists"})", false,
       Reason::kAlreadyExists, "x"},
      {429, "{\"kind\":", false, Reason::kTooManyRequests, "{\"kind\":"}};
  for (const Row& row : rows) {
    const Error error = error_from_status(row.code, row.body, std::nullopt, row.post);
    EXPECT_EQ(name_of(error.reason), name_of(row.reason)) << row.body;
    EXPECT_EQ(error.message, row.message);
    EXPECT_EQ(error.code, row.code);
  }
}

TEST(Status, TheHeaderDecidesWhenToComeBack) {
  EXPECT_EQ(
      error_from_status(429, R"({"kind":"Status","details":{"retryAfterSeconds":7}})", 2s, false)
          .retry_after,
      Duration(2s));
}

TEST(Status, ReadsBackWhatItWrote) {
  Error error{.reason = Reason::kConflict, .message = "a \"b\"", .retry_after = 1500ms};
  error.causes.push_back({"FieldManagerConflict", "m", "f"});
  const std::string text = status_json(error, {.name = "web", .kind = "pods"});
  EXPECT_EQ(
      text,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a \"b\"","reason":"Conflict","details":{"name":"web","kind":"pods","causes":[{"reason":"FieldManagerConflict","message":"m","field":"f"}],"retryAfterSeconds":2},"code":409})");
  const Error back = error_from_status(409, text, std::nullopt, true);
  EXPECT_EQ(back.reason, error.reason);
  EXPECT_EQ(back.causes, error.causes);
}

TEST(WatchEvent, IsReadFromALine) {
  const auto added = parse_watch_event(
      kPod,
      R"({"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}})");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(added->type, WatchEvent::Type::kAdded);
  EXPECT_EQ(added->object.name(), "a");
  EXPECT_EQ(added->revision, 5u);

  const auto mark = parse_watch_event(
      kPod,
      R"({"object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}},"type":"BOOKMARK"})");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->revision, 9u);
  EXPECT_TRUE(mark->initial_events_end);
  EXPECT_FALSE(mark->object.valid());

  const auto gone = parse_watch_event(
      kPod,
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}})");
  ASSERT_TRUE(gone);
  ASSERT_TRUE(gone->error);
  EXPECT_EQ(gone->error->reason, Reason::kExpired);
  EXPECT_EQ(gone->error->code, 410);
}

TEST(WatchEvent, ReadsBackWhatItWrote) {
  WatchEvent event;
  event.type = WatchEvent::Type::kDeleted;
  event.object =
      *Object::parse(kNode, R"({"metadata":{"name":"n","resourceVersion":"3"},"spec":{}})");
  const std::string line = watch_event_line(event, kNode);
  EXPECT_EQ(line,
            "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
            "\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"3\"},\"spec\":{}}}\n");
  EXPECT_EQ(parse_watch_event(kNode, line)->object.json(), event.object.json());

  WatchEvent mark;
  mark.type = WatchEvent::Type::kBookmark;
  mark.revision = 12;
  mark.initial_events_end = true;
  const auto back = parse_watch_event(kNode, watch_event_line(mark, kNode));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->revision, 12u);
  EXPECT_TRUE(back->initial_events_end);
}

TEST(WatchEvent, BadLinesAreRefused) {
  for (const char* line :
       {"", "{}", R"({"type":"MOVED","object":{}})", R"({"type":"ADDED"})",
        R"({"type":"ADDED","object":{"kind":"Node"}})", R"({"type":"ADDED","object":{})"}) {
    const auto event = parse_watch_event(kPod, line);
    ASSERT_FALSE(event) << line;
    EXPECT_TRUE(event.error().message.starts_with("watch event of pods: "))
        << event.error().message;
  }
}

TEST(Status, OfAnExpiredListTellsHowToGoOn) {
  const std::string text =
      status_json({.reason = Reason::kExpired, .message = "too old"}, {.continue_token = "abc"});
  EXPECT_EQ(json::Slice(text)["metadata"]["continue"].text(), "abc");
  EXPECT_EQ(json::Slice(text)["code"].integer(), 410);
}

}  // namespace
}  // namespace berth::kube
