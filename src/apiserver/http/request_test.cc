// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/http/target.h"
#include "json/slice.h"
#include "kube/status.h"

namespace berth::apiserver {
namespace {

using kube::Verb;
using testing::ElementsAre;
using testing::HasSubstr;

class Requests : public testing::Test {
 protected:
  Requests() {
    KindRow row = std::move(Kind("example.org/v1", "Ship", "ships").status());
    row.custom = true;
    registry_.serve("ships.example.org", {row});
  }
  Result<Incoming> read(net::HttpRequest http) {
    return read_request(std::move(http), peer_, registry_.now(), limits_);
  }
  Result<Incoming> get(std::string target) { return read({.target = std::move(target)}); }
  Result<Incoming> send(std::string method, std::string target, std::string body = "",
                        std::string type = "") {
    net::HttpRequest http{.method = std::move(method), .target = std::move(target)};
    if (!type.empty()) http.headers.add("Content-Type", std::move(type));
    http.body = std::move(body);
    return read(std::move(http));
  }
  KindRegistry registry_;
  net::HttpPeer peer_{.address = "10.0.0.7:4711"};
  DoorLimits limits_;
};

std::string shown(const Result<Incoming>& in) {
  if (!in) return std::to_string(http_code_of(in.error().reason)) + " " + in.error().message;
  const kube::ApiRequest& r = in->request;
  if (r.verb == Verb::kRaw) return "raw " + r.raw_method + " " + r.raw_path;
  constexpr const char* kVerbs[] = {"get",    "list",  "watch",  "create",
                                    "update", "patch", "delete", "deletecollection"};
  std::string out = kVerbs[static_cast<int>(r.verb)];
  out += " " + in->row->kind.api_version() + " " + in->row->kind.plural + " ns=" + r.ns;
  out += " name=" + r.name + " sub=" + r.subresource;
  return out;
}

TEST_F(Requests, PathsAndMethodsSayWhatIsWanted) {
  const std::string refused = "405 the server does not allow this method on the requested resource";
  const struct {
    const char* method;
    const char* target;
    std::string means;
  } rows[] = {
      {"GET", "/api/v1/pods", "list v1 pods ns= name= sub="},
      {"GET", "/api/v1/pods/", "list v1 pods ns= name= sub="},
      {"GET", "/api/v1/pods?watch=true", "watch v1 pods ns= name= sub="},
      {"GET", "/api/v1/pods?watch=0", "list v1 pods ns= name= sub="},
      {"GET", "/api/v1/pods?watch", "watch v1 pods ns= name= sub="},
      {"GET", "/api/v1/namespaces/a/pods", "list v1 pods ns=a name= sub="},
      {"GET", "/api/v1/namespaces/a/pods/p", "get v1 pods ns=a name=p sub="},
      {"GET", "/api/v1/namespaces/a/pods/p?watch=1", "get v1 pods ns=a name=p sub="},
      {"HEAD", "/api/v1/namespaces/a/pods/p", "get v1 pods ns=a name=p sub="},
      {"GET", "/api/v1/namespaces/a/pods/p/status", "get v1 pods ns=a name=p sub=status"},
      {"GET", "/api/v1/watch/pods", "watch v1 pods ns= name= sub="},
      {"GET", "/api/v1/watch/namespaces/a/pods", "watch v1 pods ns=a name= sub="},
      {"POST", "/api/v1/watch/pods", refused},
      {"POST", "/api/v1/namespaces/a/pods", "create v1 pods ns=a name= sub="},
      {"POST", "/api/v1/namespaces/a/pods/p/binding", "create v1 pods ns=a name=p sub=binding"},
      {"POST", "/api/v1/namespaces/a/bindings", "create v1 bindings ns=a name= sub="},
      {"POST", "/api/v1/namespaces/a/pods/p", refused},
      {"POST", "/api/v1/pods", refused},
      {"PUT", "/api/v1/namespaces/a/pods/p", "update v1 pods ns=a name=p sub="},
      {"PUT", "/api/v1/namespaces/a/pods", refused},
      {"PATCH", "/api/v1/namespaces/a/pods", refused},
      {"DELETE", "/api/v1/namespaces/a/pods/p", "delete v1 pods ns=a name=p sub="},
      {"DELETE", "/api/v1/namespaces/a/pods", "deletecollection v1 pods ns=a name= sub="},
      {"DELETE", "/api/v1/pods", refused},
      {"OPTIONS", "/api/v1/pods", refused},
      {"TRACE", "/api/v1/namespaces/a/pods/p", refused},
      {"GET", "/api/v1/namespaces", "list v1 namespaces ns= name= sub="},
      {"GET", "/api/v1/namespaces/a", "get v1 namespaces ns= name=a sub="},
      {"PUT", "/api/v1/namespaces/a/finalize", "update v1 namespaces ns= name=a sub=finalize"},
      {"PUT", "/api/v1/namespaces/a/status", "update v1 namespaces ns= name=a sub=status"},
      {"POST", "/api/v1/nodes", "create v1 nodes ns= name= sub="},
      {"GET", "/apis/apps/v1/namespaces/a/deployments/d/scale",
       "get apps/v1 deployments ns=a name=d sub=scale"},
      {"GET", "/apis/example.org/v1/namespaces/a/ships/s",
       "get example.org/v1 ships ns=a name=s sub="},
      {"GET", "/api/v1/namespaces/a/pods/p%20q", "get v1 pods ns=a name=p q sub="},
      // What is no resource is left to the pages.
      {"GET", "/", "raw GET /"},
      {"GET", "/api", "raw GET /api"},
      {"GET", "/api/v1", "raw GET /api/v1"},
      {"GET", "/apis/apps/v1", "raw GET /apis/apps/v1"},
      {"HEAD", "/healthz?verbose", "raw HEAD /healthz?verbose"},
      {"POST", "/healthz", "raw POST /healthz"},
      {"GET", "/api/v1/pods/p", "raw GET /api/v1/pods/p"},
      {"GET", "/api/v1/namespaces/a/nodes", "raw GET /api/v1/namespaces/a/nodes"},
      {"GET", "/api/v1/namespaces/a/pods/p/nothing", "raw GET /api/v1/namespaces/a/pods/p/nothing"},
      {"GET", "/api/v1/namespaces/a/pods/p/status/more",
       "raw GET /api/v1/namespaces/a/pods/p/status/more"},
      {"GET", "/api/v1//pods", "raw GET /api/v1//pods"},
      {"GET", "/api/v1/namespaces/../pods", "raw GET /api/v1/namespaces/../pods"},
      {"GET", "/api/v2/pods", "raw GET /api/v2/pods"},
      {"GET", "/apis//v1/pods", "raw GET /apis//v1/pods"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(shown(send(row.method, row.target)), row.means) << row.method << " " << row.target;
  EXPECT_THAT(shown(get("/api/v1/%zz")), HasSubstr("400"));
  EXPECT_EQ(shown(get("/api/v1/namespaces/a/pods/p%25q")),
            "400 Name parameter invalid: \"p%q\": may not contain '%'");
  EXPECT_EQ(shown(get("/api/v1/namespaces/a/pods/..")),
            "400 Name parameter invalid: \"..\": may not be '..'");
}

TEST_F(Requests, WhatIsMissingBelowAServedGroupIsTheResource) {
  EXPECT_TRUE(get("/api/v1/ponds")->below_group);
  EXPECT_TRUE(get("/apis/apps/v1/namespaces/a/ponds")->below_group);
  EXPECT_TRUE(get("/api/v2")->below_group);
  EXPECT_TRUE(get("/api/v1//pods")->below_group);
  EXPECT_TRUE(get("/apis/apps/v9")->below_group);
  EXPECT_FALSE(get("/apis/apps")->below_group);
  EXPECT_FALSE(get("/apis/nobody.org/v1/ponds")->below_group);
  EXPECT_FALSE(get("/nowhere")->below_group);
}

TEST_F(Requests, ListsAndWatchesTakeTheirOptions) {
  const auto in =
      get("/api/v1/"
          "pods?watch=true&labelSelector=a+in+%28b%2Cc%29&fieldSelector=status.phase%21%3DFailed"
          "&resourceVersion=12&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
          "&sendInitialEvents=true&timeoutSeconds=300&limit=500&continue=abc&limit=7&unknown=1");
  ASSERT_TRUE(in) << in.error().message;
  const kube::Options& options = in->request.options;
  EXPECT_EQ(options.label_selector, "a in (b,c)");
  EXPECT_EQ(options.field_selector, "status.phase!=Failed");
  EXPECT_EQ(options.resource_version, "12");
  EXPECT_EQ(options.version_match, kube::VersionMatch::kNotOlderThan);
  EXPECT_TRUE(options.bookmarks);
  EXPECT_EQ(options.send_initial_events, true);
  EXPECT_EQ(options.timeout_seconds, 300);
  EXPECT_EQ(options.limit, 500);
  EXPECT_EQ(options.continue_token, "abc");
}

TEST_F(Requests, TheOldWayToWatchOneObjectSelectsItByName) {
  const auto in = get("/api/v1/watch/namespaces/a/pods/p");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->request.options.field_selector, "metadata.name=p");
  EXPECT_EQ(in->request.name, "");
  EXPECT_THAT(shown(get("/api/v1/watch/namespaces/a/pods/p?fieldSelector=x%3Dy")),
              HasSubstr("400 both a name and a field selector provided"));
}

TEST_F(Requests, WrongOptionsAreRefusedInTheRealServersWords) {
  const char* const kPod = "/api/v1/namespaces/a/pods/p";
  const char* const kPods = "/api/v1/namespaces/a/pods";
  const struct {
    const char* method;
    std::string target;
    const char* type;
    const char* says;
  } rows[] = {
      {"GET", "/api/v1/pods?limit=x", "", R"(400 strconv.ParseInt: parsing "x": invalid syntax)"},
      {"GET", "/api/v1/pods?limit=", "", R"(400 strconv.ParseInt: parsing "": invalid syntax)"},
      {"GET", "/api/v1/pods?timeoutSeconds=99999999999999999999", "",
       R"(400 strconv.ParseInt: parsing "99999999999999999999": value out of range)"},
      {"GET", "/api/v1/pods?resourceVersionMatch=Foo", "",
       R"(422 ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""])"},
      {"GET", "/api/v1/pods?resourceVersionMatch=Foo&resourceVersion=1", "",
       R"(422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", "")"},
      {"GET", "/api/v1/pods?watch=1&resourceVersionMatch=Foo&sendInitialEvents=true", "",
       R"(422 ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Foo": supported values: "NotOlderThan"])"},
      {"POST", std::string(kPods) + "?dryRun=Foo", "",
       R"(422 CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Foo"]: supported values: "All")"},
      {"PUT", std::string(kPod) + "?fieldValidation=Foo", "",
       R"(422 UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn")"},
      {"PATCH", std::string(kPod) + "?force=true", "application/merge-patch+json",
       R"(422 PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch)"},
      {"PATCH", kPod, "application/apply-patch+yaml",
       R"(422 PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch)"},
      {"POST", std::string(kPods) + "?fieldManager=a%07b", "",
       R"(422 CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\u0007b": invalid character U+0007 (at position 1))"},
      {"POST", std::string(kPods) + "?fieldManager=" + std::string(129, 'x'), "",
       R"(422 CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes)"},
      {"DELETE", std::string(kPod) + "?propagationPolicy=Foo", "",
       R"(422 DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil")"},
      {"DELETE", std::string(kPod) + "?gracePeriodSeconds=soon", "",
       R"(400 strconv.ParseInt: parsing "soon": invalid syntax)"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(shown(send(row.method, row.target, *row.method == 'D' ? "" : "{}", row.type)),
              row.says)
        << row.method << " " << row.target;
}

TEST_F(Requests, DeletionsSayHowInTheirBodyOrElseInTheQuery) {
  const std::string pods = "/api/v1/namespaces/a/pods", pod = pods + "/p";
  const auto body = send("DELETE", pod + "?gracePeriodSeconds=5", R"({"gracePeriodSeconds":0})");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(*body->request.body.bytes, R"({"gracePeriodSeconds":0})");
  EXPECT_FALSE(body->request.options.grace_period_seconds);

  const std::string packed(
      "k8s\0\x0a\x13\x0a\x02v1\x12\x0d"
      "DeleteOptions\x12\x02\x08\x07",
      29);
  const auto protobuf = send("DELETE", pod, packed, "application/vnd.kubernetes.protobuf");
  ASSERT_TRUE(protobuf) << protobuf.error().message;
  EXPECT_THAT(*protobuf->request.body.bytes, HasSubstr(R"("gracePeriodSeconds":7)"));

  const auto query = send("DELETE", pods + "?orphanDependents=true&labelSelector=x&dryRun=All");
  ASSERT_TRUE(query);
  EXPECT_FALSE(query->request.body.bytes);
  EXPECT_EQ(query->request.options.propagation, kube::Propagation::kOrphan);
  EXPECT_EQ(query->request.options.label_selector, "x");
  EXPECT_TRUE(query->request.options.dry_run);
  EXPECT_THAT(shown(send("DELETE", pod + "?orphanDependents=1&propagationPolicy=Orphan")),
              HasSubstr("orphanDependents and deletionPropagation cannot be both set"));
  EXPECT_THAT(shown(send("DELETE", pod, "x", "text/plain")), HasSubstr("415 "));
}

TEST_F(Requests, BodiesBecomeJson) {
  const std::string pods = "/api/v1/namespaces/a/pods";
  auto in = send("POST", pods, R"({"kind":"Pod"})", "application/json; charset=utf-8");
  ASSERT_TRUE(in);
  EXPECT_EQ(*in->request.body.bytes, R"({"kind":"Pod"})");
  in = send("POST", pods, "kind: Pod\nspec: {nodeName: x}\n", "application/yaml");
  ASSERT_TRUE(in);
  EXPECT_EQ(*in->request.body.bytes, R"({"kind":"Pod","spec":{"nodeName":"x"}})");
  EXPECT_EQ(in->request.body.media_type, "application/json");
  const std::string protobuf("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x0a\x03\x0a\x01p", 22);
  in = send("POST", pods, protobuf, "application/vnd.kubernetes.protobuf");
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(*in->request.body.bytes, R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}})");
  EXPECT_EQ(in->request.body.media_type, "application/json");
}

TEST_F(Requests, BodiesInOtherFormsAreRefused) {
  const std::string pods = "/api/v1/namespaces/a/pods";
  const std::string ships = "/apis/example.org/v1/namespaces/a/ships";
  EXPECT_EQ(shown(send("POST", pods, "x", "text/plain")),
            "415 the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf");
  EXPECT_EQ(shown(send("POST", ships, "x", "application/vnd.kubernetes.protobuf")),
            "415 the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml");
  EXPECT_EQ(shown(send("POST", pods, "junk", "application/vnd.kubernetes.protobuf")),
            "400 the object provided is unrecognized (must be of type Pod): provided data does not "
            "appear to be a protobuf message, expected prefix [107 56 115 0] (6a756e6b)");
  EXPECT_EQ(shown(send("POST", pods, "a: b: c", "application/yaml")),
            "400 the object provided is unrecognized (must be of type Pod): yaml: mapping values "
            "are not allowed in this context (613a20623a2063)");
  EXPECT_THAT(shown(send("POST", pods, "a: 1\nb: c: d", "application/yaml")),
              HasSubstr("yaml: line 2: mapping values are not allowed in this context"));
}

TEST_F(Requests, PatchesNameTheirType) {
  const std::string pod = "/api/v1/namespaces/a/pods/p";
  const std::string ship = "/apis/example.org/v1/namespaces/a/ships/s";
  auto in = send("PATCH", pod, "[]", "application/json-patch+json");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->request.options.patch_type, kube::PatchType::kJson);
  in = send("PATCH", pod, "{}", "application/strategic-merge-patch+json; charset=utf-8");
  ASSERT_TRUE(in);
  EXPECT_EQ(in->request.options.patch_type, kube::PatchType::kStrategic);
  in = send("PATCH", pod + "?fieldManager=me&force=true", "a: 1", "application/apply-patch+yaml");
  ASSERT_TRUE(in);
  EXPECT_EQ(*in->request.body.bytes, R"({"a":1})");
  EXPECT_TRUE(in->request.options.force);
  EXPECT_EQ(
      shown(send("PATCH", pod + "?fieldManager=me", "a: b: c", "application/apply-patch+yaml")),
      "400 error decoding YAML: error converting YAML to JSON: yaml: mapping values are not "
      "allowed in this context");
  EXPECT_EQ(shown(send("PATCH", pod, "{}", "application/json")), "415 415: Unsupported Media Type");
  EXPECT_EQ(shown(send("PATCH", ship, "{}", "application/strategic-merge-patch+json")),
            "415 the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
}

TEST_F(Requests, ABodyOverTheLimitIsTooLarge) {
  limits_.body_bytes = 10;
  const std::string pods = "/api/v1/namespaces/a/pods";
  EXPECT_EQ(shown(send("POST", pods, std::string(11, ' '))),
            "413 Request entity too large: limit is 10");
  EXPECT_TRUE(send("POST", pods, std::string(10, ' ')));
  EXPECT_THAT(
      shown(send("PATCH", pods + "/p", std::string(11, ' '), "application/merge-patch+json")),
      HasSubstr("413"));
  EXPECT_THAT(shown(send("DELETE", pods + "/p", std::string(11, ' '))), HasSubstr("413"));
}

TEST_F(Requests, DepthOfOtherFormsIsBounded) {
  std::string yaml;
  for (int i = 0; i < 10'000; ++i) yaml += "[";
  EXPECT_THAT(shown(send("POST", "/api/v1/namespaces/a/pods", yaml, "application/yaml")),
              HasSubstr("400 "));
}

TEST_F(Requests, WhoAsksIsSaidByTokenCertificateAndImpersonation) {
  net::HttpRequest http{.target = "/api/v1/pods"};
  http.headers.add("Authorization", "bearer abc def");
  http.headers.add("Impersonate-User", "jane");
  http.headers.add("Impersonate-Uid", "7");
  http.headers.add("Impersonate-Group", "a");
  http.headers.add("Impersonate-Group", "b");
  http.headers.add("Impersonate-Extra-Scopes", "view");
  http.headers.add("impersonate-extra-Acme.com%2FProject", "p");
  peer_.identity = net::PeerIdentity{.common_name = "node", .organizations = {"nodes"}, .uid = "u"};
  auto in = read(std::move(http));
  ASSERT_TRUE(in);
  EXPECT_EQ(in->credentials.bearer_token, "abc");
  EXPECT_EQ(in->credentials.common_name, "node");
  EXPECT_EQ(in->credentials.certificate_uid, "u");
  EXPECT_THAT(in->credentials.organizations, ElementsAre("nodes"));
  EXPECT_EQ(in->credentials.as_user, "jane");
  EXPECT_EQ(in->credentials.as_uid, "7");
  EXPECT_THAT(in->credentials.as_groups, ElementsAre("a", "b"));
  EXPECT_THAT(in->credentials.as_extra["scopes"], ElementsAre("view"));
  EXPECT_THAT(in->credentials.as_extra["acme.com/project"], ElementsAre("p"));

  net::Headers basic;
  basic.add("Authorization", "Basic YTpi");
  EXPECT_EQ(credentials_of(basic, {}).bearer_token, "");
}

TEST_F(Requests, AWriterWithoutANameIsCalledAsItsUserAgentBegins) {
  net::HttpRequest http{.method = "POST", .target = "/api/v1/namespaces/a/pods", .body = "{}"};
  http.headers.add("User-Agent", "kubectl/v1.33.1 (linux/amd64)");
  EXPECT_EQ(read(http)->request.options.field_manager, "kubectl");
  http.target += "?fieldManager=me";
  EXPECT_EQ(read(http)->request.options.field_manager, "me");
  EXPECT_EQ(manager_of("Go http\x01 client/1.1"), "Go http client");
  EXPECT_EQ(manager_of(std::string(300, 'x')).size(), 128u);
}

}  // namespace
}  // namespace berth::apiserver
