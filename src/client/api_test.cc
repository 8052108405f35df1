// SPDX-License-Identifier: Apache-2.0
#include "client/api.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"
#include "client/request_path.h"

namespace berth::client {
namespace {

using kube::ApiReply;
using testing::ElementsAre;
using testing::HasSubstr;

// Plays a script: the next answer for whatever comes. Notes what came, and when.
class Script final : public Transport {
 public:
  explicit Script(Executor& lane) : lane_(lane) {}
  Script& text(std::string body) {
    ApiReply reply;
    reply.body = std::move(body);
    answers_.push_back(std::move(reply));
    return *this;
  }
  Script& object(kube::KindId kind, std::string_view json) {
    ApiReply reply;
    reply.body = kube::Object::parse(kind, json).value();
    answers_.push_back(std::move(reply));
    return *this;
  }
  Script& page(std::vector<std::string> pods, std::string continue_token, kube::Revision revision) {
    ApiReply reply;
    kube::ObjectList list;
    list.revision = revision;
    list.continue_token = std::move(continue_token);
    for (const std::string& name : pods)
      list.items.push_back(
          kube::Object::parse(kube::kPod, R"({"metadata":{"name":")" + name + R"("}})").value());
    reply.body = std::move(list);
    answers_.push_back(std::move(reply));
    return *this;
  }
  Script& error(Reason reason, Outcome outcome = Outcome::kRefused,
                std::optional<Duration> retry_after = {}) {
    answers_.push_back(tl::unexpected(Error{.reason = reason,
                                            .message = std::string(name_of(reason)),
                                            .retry_after = retry_after,
                                            .outcome = outcome}));
    return *this;
  }
  void call(kube::ApiRequest request, Instant, Done<ApiReply> done) override {
    Result<net::HttpRequest> http = to_http(request);
    came.push_back(http ? http->method + " " + http->target : http.error().message);
    bodies.push_back(request.body.bytes ? *request.body.bytes : "");
    at.push_back(lane_.clock().now().since_start);
    if (answers_.empty()) {
      done(fail(Reason::kInternalError, "the script has ended"));
    } else {
      done(std::move(answers_.front()));
      answers_.pop_front();
    }
  }
  std::vector<std::string> came, bodies;
  std::vector<Duration> at;

 private:
  Executor& lane_;
  std::deque<Result<ApiReply>> answers_;
};

class ApiTest : public testing::Test {
 protected:
  ~ApiTest() override {
    scope.close(0s, [] {});
    world.run_until_idle(1h);
  }
  template <class T>
  Done<T> into(std::optional<Result<T>>& slot) {
    return scope.done<T>(kNoLimit, [&slot](Result<T> r) { slot = std::move(r); });
  }
  // Runs until there is nothing left to do; says what became of the call.
  template <class T>
  std::string outcome(const std::optional<Result<T>>& slot) {
    EXPECT_TRUE(world.run_until_idle(1h));
    if (!slot) return "no answer";
    return *slot ? "ok" : std::string(name_of(slot->error().reason));
  }

  World world{1};
  Executor& lane = world.loop("client");
  Scope scope{lane, "test"};
  Script script{lane};
  Api api{scope, script, Random(1)};
  const kube::Key pod{"lab", "web"};
};

constexpr char kFreePod[] = R"({"metadata":{"name":"web","namespace":"lab","uid":"u1"},"spec":{}})";
constexpr char kOurPod[] =
    R"({"metadata":{"name":"web","namespace":"lab","uid":"u1"},"spec":{"nodeName":"n1"}})";
constexpr char kTheirPod[] =
    R"({"metadata":{"name":"web","namespace":"lab","uid":"u1"},"spec":{"nodeName":"n2"}})";
constexpr char kNewPod[] =
    R"({"metadata":{"name":"web","namespace":"lab","uid":"u2"},"spec":{"nodeName":"n1"}})";
constexpr char kDeletingPod[] = R"({"metadata":{"name":"web","namespace":"lab","uid":"u1",)"
                                R"("deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}})";

TEST_F(ApiTest, SendsEveryVerb) {
  for (int i = 0; i < 8; ++i) script.object(kube::kPod, kFreePod);
  std::optional<Result<kube::Object>> o1, o2, o3, o4, o5;
  std::optional<Result<Ok>> k1, k2, k3;
  kube::Options options;
  options.grace_period_seconds = 5;
  api.get(kube::kPod, pod, into(o1));
  api.get(kube::kPod, pod, into(o2), "status");
  api.create(kube::kPod, "lab", "{}", into(o3));
  api.update(kube::kPod, pod, "{}", into(o4), "status");
  api.patch(kube::kPod, pod, "[]", kube::PatchType::kJson, into(o5));
  api.erase(kube::kPod, pod, into(k1), options);
  api.erase_collection(kube::kPod, "lab", {}, into(k2));
  api.evict(pod, options, into(k3));
  EXPECT_EQ(outcome(o1) + outcome(o2) + outcome(o3) + outcome(o4) + outcome(o5) + outcome(k1) +
                outcome(k2) + outcome(k3),
            "okokokokokokokok");
  EXPECT_THAT(
      script.came,
      ElementsAre(
          "GET /api/v1/namespaces/lab/pods/web", "GET /api/v1/namespaces/lab/pods/web/status",
          "POST /api/v1/namespaces/lab/pods", "PUT /api/v1/namespaces/lab/pods/web/status",
          "PATCH /api/v1/namespaces/lab/pods/web", "DELETE /api/v1/namespaces/lab/pods/web",
          "DELETE /api/v1/namespaces/lab/pods", "POST /api/v1/namespaces/lab/pods/web/eviction"));
  EXPECT_EQ(script.bodies.back(),
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web","namespace":)"
            R"("lab"},"deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions",)"
            R"("gracePeriodSeconds":5}})");
}

TEST_F(ApiTest, ReadsTextFromRawPaths) {
  script.text("ok");
  std::optional<Result<std::string>> r;
  api.raw("GET", "/readyz", "", into(r));
  EXPECT_EQ(outcome(r), "ok");
  EXPECT_EQ(**r, "ok");
}

TEST_F(ApiTest, RepeatsOnlyWhatIsSafe) {
  const struct {
    const char* name;
    bool write;
    Reason reason;
    Outcome outcome;
    std::optional<Duration> retry_after;
    bool repeated;
  } rows[] = {
      {"throttled write", true, Reason::kTooManyRequests, Outcome::kRefused, 1s, true},
      {"throttled for good", true, Reason::kTooManyRequests, Outcome::kRefused, {}, false},
      {"server asks for time", true, Reason::kServerTimeout, Outcome::kRefused, 1s, true},
      {"conflict", true, Reason::kConflict, Outcome::kRefused, {}, false},
      {"conflict with a time", true, Reason::kConflict, Outcome::kRefused, 1s, false},
      {"too long a time", true, Reason::kTooManyRequests, Outcome::kRefused, 31s, false},
      {"never sent", true, Reason::kUnreachable, Outcome::kNotSent, {}, true},
      {"not trusted", true, Reason::kUntrusted, Outcome::kNotSent, {}, false},
      {"reply lost", true, Reason::kUnreachable, Outcome::kUnknown, {}, false},
      {"no reply in time", true, Reason::kTimeout, Outcome::kUnknown, {}, false},
      {"read, reply lost", false, Reason::kUnreachable, Outcome::kUnknown, {}, true},
      {"read, never sent", false, Reason::kUnreachable, Outcome::kNotSent, {}, true},
      {"read, not there", false, Reason::kNotFound, Outcome::kRefused, {}, false},
      {"no credentials", false, Reason::kUnauthorized, Outcome::kNotSent, {}, false},
      {"cancelled", false, Reason::kCancelled, Outcome::kUnknown, {}, false},
  };
  for (const auto& row : rows) {
    Script one(lane);
    Api now(scope, one, Random(1));
    one.error(row.reason, row.outcome, row.retry_after).object(kube::kPod, kFreePod);
    std::optional<Result<kube::Object>> r;
    if (row.write)
      now.update(kube::kPod, pod, "{}", into(r));
    else
      now.get(kube::kPod, pod, into(r));
    EXPECT_EQ(outcome(r), row.repeated ? "ok" : name_of(row.reason)) << row.name;
    EXPECT_EQ(one.came.size(), row.repeated ? 2u : 1u) << row.name;
    if (row.repeated && row.retry_after) {
      EXPECT_GE(one.at[1] - one.at[0], *row.retry_after) << row.name;
    }
  }
}

TEST_F(ApiTest, WaitsLongerEachTimeAndGivesUp) {
  for (int i = 0; i < 20; ++i) script.error(Reason::kUnreachable, Outcome::kNotSent);
  std::optional<Result<kube::Object>> r;
  api.get(kube::kPod, pod, into(r));
  EXPECT_EQ(outcome(r), "Unreachable");
  EXPECT_LE(script.came.size(), 10u);
  EXPECT_GE(script.came.size(), 5u);
  EXPECT_LE(script.at.back(), Duration(60s));
  Duration bound = 100ms;
  for (std::size_t i = 1; i < script.at.size(); ++i, bound *= 2)
    EXPECT_LE(script.at[i] - script.at[i - 1], std::min<Duration>(bound, 30s)) << i;
}

TEST_F(ApiTest, AnUnexpectedReplyIsAnErrorInDoubt) {
  script.text("what?");
  std::optional<Result<kube::Object>> r;
  api.create(kube::kPod, "lab", "{}", into(r));
  EXPECT_EQ(outcome(r), "InternalError");
  EXPECT_EQ(r->error().outcome, Outcome::kUnknown);
}

TEST_F(ApiTest, QueuesBehindTheLimiterBindsFirst) {
  RateLimiter limiter(scope, {.qps = 1, .burst = 1});
  Api limited(scope, script, Random(1), &limiter);
  for (int i = 0; i < 3; ++i) script.object(kube::kPod, kFreePod);
  std::optional<Result<kube::Object>> a, b;
  std::optional<Result<Ok>> c;
  limited.create(kube::kPod, "lab", "{}", into(a), {}, Urgency::kEvent);
  limited.create(kube::kPod, "lab", "{}", into(b), {}, Urgency::kEvent);
  limited.bind(pod, "u1", "n1", into(c));
  EXPECT_EQ(outcome(a) + outcome(b) + outcome(c), "okokok");
  EXPECT_THAT(script.came, ElementsAre("POST /api/v1/namespaces/lab/pods",
                                       "POST /api/v1/namespaces/lab/pods/web/binding",
                                       "POST /api/v1/namespaces/lab/pods"));
}

TEST_F(ApiTest, ClosingTheScopeEndsACallThatWaits) {
  script.error(Reason::kTooManyRequests, Outcome::kRefused, 10s);
  Scope own(lane, "own");
  Api mine(own, script, Random(1));
  std::optional<Result<kube::Object>> r;
  mine.get(kube::kPod, pod, into(r));
  world.run_for(1s);
  EXPECT_FALSE(r);
  own.close(0s, [] {});
  EXPECT_EQ(outcome(r), "Cancelled");
  EXPECT_EQ(script.came.size(), 1u);
}

TEST_F(ApiTest, BindSaysWhichPodAndNode) {
  script.text(R"({"kind":"Status"})");
  std::optional<Result<Ok>> r;
  api.bind(pod, "u1", "n1", into(r));
  EXPECT_EQ(outcome(r), "ok");
  EXPECT_EQ(script.bodies[0],
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"web","namespace":"lab",)"
            R"("uid":"u1"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

TEST_F(ApiTest, BindTellsALostReplyFromALostRace) {
  const struct {
    const char* name;
    Reason reason;
    Outcome outcome;
    const char* read_back;  // null: the pod is gone
    std::string result;
    std::size_t calls;
  } rows[] = {
      {"reply lost, we won", Reason::kUnreachable, Outcome::kUnknown, kOurPod, "ok", 2},
      {"409, we won", Reason::kConflict, Outcome::kRefused, kOurPod, "ok", 2},
      {"409, somebody else won", Reason::kConflict, Outcome::kRefused, kTheirPod, "Conflict", 2},
      {"another pod of that name", Reason::kConflict, Outcome::kRefused, kNewPod, "Conflict", 2},
      {"reply lost, pod gone", Reason::kTimeout, Outcome::kUnknown, nullptr, "NotFound", 2},
      {"409, being deleted", Reason::kConflict, Outcome::kRefused, kDeletingPod, "Conflict", 2},
      {"reply lost, not bound: again", Reason::kUnreachable, Outcome::kUnknown, kFreePod, "ok", 3},
      {"409, not bound: again", Reason::kConflict, Outcome::kRefused, kFreePod, "ok", 3},
  };
  for (const auto& row : rows) {
    Script one(lane);
    Api now(scope, one, Random(1));
    one.error(row.reason, row.outcome);
    if (row.read_back != nullptr)
      one.object(kube::kPod, row.read_back);
    else
      one.error(Reason::kNotFound);
    one.text("bound");
    std::optional<Result<Ok>> r;
    now.bind(pod, "u1", "n1", into(r));
    EXPECT_EQ(outcome(r), row.result) << row.name;
    EXPECT_EQ(one.came.size(), row.calls) << row.name;
  }
}

TEST_F(ApiTest, BindIsRefusedAtOnceWhereNothingIsInDoubt) {
  script.error(Reason::kForbidden);
  std::optional<Result<Ok>> r;
  api.bind(pod, "u1", "n1", into(r));
  EXPECT_EQ(outcome(r), "Forbidden");
  EXPECT_EQ(script.came.size(), 1u);
}

TEST_F(ApiTest, BindStaysInDoubtWhenReadingBackFails) {
  script.error(Reason::kUnreachable, Outcome::kUnknown).error(Reason::kForbidden);
  std::optional<Result<Ok>> r;
  api.bind(pod, "u1", "n1", into(r));
  EXPECT_EQ(outcome(r), "Unreachable");
  EXPECT_EQ(r->error().outcome, Outcome::kUnknown);
  EXPECT_THAT(r->error().message, HasSubstr("reading the pod back: Forbidden"));
}

TEST_F(ApiTest, BindDoesNotTryForEver) {
  for (int i = 0; i < 20; ++i) script.error(Reason::kConflict).object(kube::kPod, kFreePod);
  std::optional<Result<Ok>> r;
  api.bind(pod, "u1", "n1", into(r));
  EXPECT_EQ(outcome(r), "Conflict");
  EXPECT_EQ(script.came.size(), 10u);
}

TEST_F(ApiTest, ListAllReadsEveryPage) {
  script.page({"a", "b"}, "t1", 7).page({"c"}, "t2", 7).page({"d"}, "", 7);
  kube::Options options;
  options.resource_version = "5";
  options.version_match = kube::VersionMatch::kNotOlderThan;
  std::optional<Result<kube::ObjectList>> r;
  api.list_all(kube::kPod, "", options, into(r));
  ASSERT_EQ(outcome(r), "ok");
  EXPECT_EQ((*r)->items.size(), 4u);
  EXPECT_EQ((*r)->revision, 7u);
  EXPECT_EQ((*r)->continue_token, "");
  EXPECT_THAT(script.came,
              ElementsAre("GET /api/v1/pods?resourceVersion=5&resourceVersionMatch=NotOlderThan"
                          "&limit=500",
                          "GET /api/v1/pods?limit=500&continue=t1",
                          "GET /api/v1/pods?limit=500&continue=t2"));
}

TEST_F(ApiTest, ListAllStartsOverUnpagedWhenItsRevisionIsGone) {
  script.page({"a"}, "t1", 7).error(Reason::kExpired).page({"a", "b"}, "", 9);
  std::optional<Result<kube::ObjectList>> r;
  api.list_all(kube::kPod, "lab", {}, into(r));
  ASSERT_EQ(outcome(r), "ok");
  EXPECT_EQ((*r)->items.size(), 2u);
  EXPECT_EQ((*r)->revision, 9u);
  EXPECT_EQ(script.came.back(), "GET /api/v1/namespaces/lab/pods");
}

TEST_F(ApiTest, ListAllHandsBackASecondExpiry) {
  script.page({"a"}, "t1", 7).error(Reason::kExpired).error(Reason::kGone);
  std::optional<Result<kube::ObjectList>> r;
  api.list_all(kube::kPod, "lab", {}, into(r));
  EXPECT_EQ(outcome(r), "Gone");
}

}  // namespace
}  // namespace berth::client
