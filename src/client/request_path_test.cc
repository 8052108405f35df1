// SPDX-License-Identifier: Apache-2.0
#include "client/request_path.h"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

using kube::ApiRequest;
using kube::Options;
using kube::Verb;

ApiRequest on(Verb verb, kube::KindId kind, std::string ns, std::string name,
              std::string subresource = "", Options options = {}) {
  ApiRequest request;
  request.verb = verb;
  request.kind = kind;
  request.ns = std::move(ns);
  request.name = std::move(name);
  request.subresource = std::move(subresource);
  request.options = std::move(options);
  request.body.bytes = std::make_shared<const std::string>("{}");
  return request;
}

TEST(RequestPath, EveryVerbHasItsUrl) {
  Options selected;
  selected.label_selector = "app in (a,b),tier!=web";
  selected.field_selector = "spec.nodeName=n 1";
  Options paged;
  paged.limit = 500;
  paged.continue_token = "a+b/c=";
  paged.resource_version = "0";
  Options exact;
  exact.resource_version = "7";
  exact.version_match = kube::VersionMatch::kExact;
  Options stream;
  stream.bookmarks = true;
  stream.send_initial_events = true;
  stream.resource_version = "";
  stream.version_match = kube::VersionMatch::kNotOlderThan;
  stream.timeout_seconds = 300;
  Options write;
  write.dry_run = true;
  write.field_manager = "berth scheduler";
  write.field_validation = kube::FieldValidation::kStrict;
  Options apply;
  apply.patch_type = kube::PatchType::kApply;
  apply.force = true;
  apply.field_manager = "me";
  Options merge_with_force;
  merge_with_force.force = true;

  const struct {
    const char* name;
    ApiRequest request;
    std::string method, target;
  } rows[] = {
      {"get", on(Verb::kGet, kube::kPod, "lab", "web-0"), "GET",
       "/api/v1/namespaces/lab/pods/web-0"},
      {"get in a group", on(Verb::kGet, kube::kDeployment, "lab", "web"), "GET",
       "/apis/apps/v1/namespaces/lab/deployments/web"},
      {"get without namespace", on(Verb::kGet, kube::kNode, "", "n1"), "GET", "/api/v1/nodes/n1"},
      {"a namespace is not in one", on(Verb::kGet, kube::kNamespace, "x", "lab"), "GET",
       "/api/v1/namespaces/lab"},
      {"get a subresource", on(Verb::kGet, kube::kDeployment, "lab", "web", "scale"), "GET",
       "/apis/apps/v1/namespaces/lab/deployments/web/scale"},
      {"get with a colon", on(Verb::kGet, kube::kClusterRole, "", "system:node"), "GET",
       "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"},
      {"list everywhere", on(Verb::kList, kube::kPod, "", ""), "GET", "/api/v1/pods"},
      {"list selected", on(Verb::kList, kube::kPod, "lab", "", "", selected), "GET",
       "/api/v1/namespaces/lab/pods?labelSelector=app%20in%20%28a%2Cb%29%2Ctier%21%3Dweb"
       "&fieldSelector=spec.nodeName%3Dn%201"},
      {"list paged", on(Verb::kList, kube::kPod, "", "", "", paged), "GET",
       "/api/v1/pods?resourceVersion=0&limit=500&continue=a%2Bb%2Fc%3D"},
      {"list exact", on(Verb::kList, kube::kPod, "", "", "", exact), "GET",
       "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact"},
      {"watch", on(Verb::kWatch, kube::kLease, "kube-system", ""), "GET",
       "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?watch=true"},
      {"watch list", on(Verb::kWatch, kube::kPod, "", "", "", stream), "GET",
       "/api/v1/pods?watch=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300"
       "&allowWatchBookmarks=true&sendInitialEvents=true"},
      {"create", on(Verb::kCreate, kube::kPod, "lab", "", "", write), "POST",
       "/api/v1/namespaces/lab/"
       "pods?dryRun=All&fieldManager=berth%20scheduler&fieldValidation=Strict"},
      {"bind", on(Verb::kCreate, kube::kPod, "lab", "web-0", "binding"), "POST",
       "/api/v1/namespaces/lab/pods/web-0/binding"},
      {"create with its name", on(Verb::kCreate, kube::kNode, "", "n1"), "POST", "/api/v1/nodes"},
      {"update status", on(Verb::kUpdate, kube::kNode, "", "n1", "status"), "PUT",
       "/api/v1/nodes/n1/status"},
      {"apply", on(Verb::kPatch, kube::kPod, "lab", "a", "", apply), "PATCH",
       "/api/v1/namespaces/lab/pods/a?fieldManager=me&force=true"},
      {"only apply has force", on(Verb::kPatch, kube::kPod, "lab", "a", "", merge_with_force),
       "PATCH", "/api/v1/namespaces/lab/pods/a"},
      {"delete", on(Verb::kDelete, kube::kPod, "lab", "a"), "DELETE",
       "/api/v1/namespaces/lab/pods/a"},
      {"delete collection", on(Verb::kDeleteCollection, kube::kPod, "lab", "", "", selected),
       "DELETE",
       "/api/v1/namespaces/lab/pods?labelSelector=app%20in%20%28a%2Cb%29%2Ctier%21%3Dweb"
       "&fieldSelector=spec.nodeName%3Dn%201"},
  };
  for (const auto& row : rows) {
    Result<net::HttpRequest> http = to_http(row.request);
    ASSERT_TRUE(http) << row.name << ": " << http.error().message;
    EXPECT_EQ(http->method, row.method) << row.name;
    EXPECT_EQ(http->target, row.target) << row.name;
  }
}

TEST(RequestPath, GoesBelowThePrefixOfTheServer) {
  EXPECT_EQ(to_http(on(Verb::kList, kube::kPod, "", ""), "/k8s/c-1")->target,
            "/k8s/c-1/api/v1/pods");
  ApiRequest raw;
  raw.verb = Verb::kRaw;
  raw.raw_method = "GET";
  raw.raw_path = "/readyz?verbose";
  EXPECT_EQ(to_http(raw, "/k8s")->target, "/k8s/readyz?verbose");
  EXPECT_FALSE(to_http(raw)->headers.has("Content-Type"));
}

TEST(RequestPath, PatchesSayTheirKind) {
  const std::pair<kube::PatchType, const char*> rows[] = {
      {kube::PatchType::kJson, "application/json-patch+json"},
      {kube::PatchType::kMerge, "application/merge-patch+json"},
      {kube::PatchType::kStrategic, "application/strategic-merge-patch+json"},
      {kube::PatchType::kApply, "application/apply-patch+yaml"},
  };
  for (const auto& [type, media_type] : rows) {
    Options options;
    options.patch_type = type;
    EXPECT_EQ(
        to_http(on(Verb::kPatch, kube::kPod, "a", "b", "", options))->headers.get("content-type"),
        media_type);
  }
  EXPECT_EQ(to_http(on(Verb::kCreate, kube::kPod, "a", ""))->headers.get("content-type"),
            "application/json");
}

TEST(RequestPath, DeleteCarriesItsOptionsAsABody) {
  Options all;
  all.grace_period_seconds = 0;
  all.propagation = kube::Propagation::kForeground;
  all.precondition_uid = "u-1";
  all.precondition_revision = "42";
  all.dry_run = true;
  Result<net::HttpRequest> http = to_http(on(Verb::kDelete, kube::kPod, "a", "b", "", all));
  ASSERT_TRUE(http);
  EXPECT_EQ(http->body, R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,)"
                        R"("preconditions":{"uid":"u-1","resourceVersion":"42"},)"
                        R"("propagationPolicy":"Foreground","dryRun":["All"]})");
  EXPECT_EQ(http->headers.get("content-type"), "application/json");
  EXPECT_EQ(to_http(on(Verb::kDelete, kube::kPod, "a", "b"))->body, "");
}

TEST(RequestPath, RefusesWhatWouldMeanSomethingElse) {
  const struct {
    const char* name;
    ApiRequest request;
  } rows[] = {
      {"a delete without a name is one of everything", on(Verb::kDelete, kube::kPod, "a", "")},
      {"get without name", on(Verb::kGet, kube::kPod, "a", "")},
      {"get without namespace", on(Verb::kGet, kube::kPod, "", "b")},
      {"create without namespace", on(Verb::kCreate, kube::kPod, "", "")},
      {"a collection with a name", on(Verb::kDeleteCollection, kube::kPod, "a", "b")},
      {"a path as name", on(Verb::kDelete, kube::kPod, "a", "..")},
      {"a slash in the name", on(Verb::kDelete, kube::kPod, "a", "b/status")},
      {"a path as namespace", on(Verb::kList, kube::kPod, "..", "")},
      {"a path as subresource", on(Verb::kGet, kube::kPod, "a", "b", "../c")},
  };
  for (const auto& row : rows) {
    Result<net::HttpRequest> http = to_http(row.request);
    ASSERT_FALSE(http) << row.name << ": " << http->target;
    EXPECT_EQ(http.error().reason, Reason::kBadRequest) << row.name;
    EXPECT_EQ(http.error().outcome, Outcome::kNotSent) << row.name;
  }
}

}  // namespace
}  // namespace berth::client
