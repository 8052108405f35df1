// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/openapi.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/openapi/definitions.h"
#include "apiserver/openapi/gnostic.h"
#include "json/slice.h"

namespace berth::apiserver {
namespace {

using testing::HasSubstr;

KindRow ships(std::string open_api) {
  KindRow row = Kind("example.org/v1", "Ship", "ships").status().scale();
  row.custom = true;
  row.open_api = std::move(open_api);
  return row;
}

class OpenApiTest : public testing::Test {
 protected:
  std::string get(std::string path, std::string accept = "") {
    kube::ApiRequest request;
    request.raw_path = std::move(path);
    request.accept = std::move(accept);
    auto reply = open_api_.answer(request);
    if (!reply) return std::to_string(http_code_of(reply.error().reason));
    type_ = reply->content_type;
    return std::get<std::string>(reply->body);
  }
  KindRegistry registry_;
  OpenApi open_api_{registry_};
  std::string type_;
};

// Everything that is referred to.
void collect_refs(json::Slice value, std::set<std::string>& out) {
  if (value.is_object())
    for (const auto [key, member] : value.members()) {
      if (key == "$ref" && member.is_string()) out.insert(member.text());
      collect_refs(member, out);
    }
  if (value.is_array())
    for (const json::Slice each : value.elements()) collect_refs(each, out);
}

TEST_F(OpenApiTest, TheIndexNamesEveryVersionAndItsDocumentIsThere) {
  const std::string index = get("/openapi/v3?timeout=32s");
  ASSERT_TRUE(json::check(index));
  EXPECT_EQ(type_, "application/json");
  std::size_t documents = 0;
  for (const auto [part, where] : json::Slice(index)["paths"].members()) {
    const std::string url = where["serverRelativeURL"].text();
    EXPECT_TRUE(url.starts_with("/openapi/v3/" + std::string(part) + "?hash=")) << url;
    const std::string document = get(url);
    ASSERT_TRUE(json::check(document)) << part;
    EXPECT_EQ(json::Slice(document)["openapi"].text(), "3.0.0");
    std::set<std::string> refs;
    collect_refs(json::Slice(document), refs);
    const json::Slice schemas = json::Slice(document)["components"]["schemas"];
    for (const std::string& ref : refs) {
      constexpr std::string_view kPrefix = "#/components/schemas/";
      ASSERT_TRUE(ref.starts_with(kPrefix)) << ref;
      EXPECT_TRUE(schemas[ref.substr(kPrefix.size())]) << part << " lacks " << ref;
    }
    ++documents;
  }
  EXPECT_GT(documents, 15u);
}

TEST_F(OpenApiTest, VersionTwoIsOneDocumentWithoutLooseEnds) {
  const std::string document = get("/openapi/v2", "application/json");
  ASSERT_TRUE(json::check(document));
  std::set<std::string> refs;
  collect_refs(json::Slice(document), refs);
  std::set<std::string, std::less<>> known;
  for (const auto [name, schema] : json::Slice(document)["definitions"].members())
    known.insert("#/definitions/" + std::string(name));
  for (const std::string& ref : refs) EXPECT_TRUE(known.contains(ref)) << ref;
  for (const KindRow* row : registry_.now()->rows()) {
    const json::Slice schema = json::Slice(document)["definitions"][row->schema->name];
    EXPECT_EQ(schema["x-kubernetes-group-version-kind"][0]["kind"].text(), row->kind.kind);
  }
}

TEST_F(OpenApiTest, SchemasSayTypesAndHowTheyMerge) {
  const std::string document = get("/openapi/v3/api/v1");
  const json::Slice schemas = json::Slice(document)["components"]["schemas"];
  const json::Slice spec = schemas["io.k8s.api.core.v1.PodSpec"]["properties"];
  EXPECT_EQ(
      spec["containers"].raw(),
      R"({"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"}],"default":{}},"x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map","x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"})");
  EXPECT_EQ(spec["activeDeadlineSeconds"].raw(), R"({"type":"integer","format":"int64"})");
  EXPECT_EQ(
      spec["nodeSelector"].raw(),
      R"({"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-map-type":"atomic"})");
  EXPECT_EQ(schemas["io.k8s.api.core.v1.PodSpec"]["required"].raw(), R"(["containers"])");
  EXPECT_EQ(schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"].raw(),
            R"({"oneOf":[{"type":"string"},{"type":"number"}]})");
  EXPECT_EQ(schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"].raw(),
            R"([{"group":"","kind":"Pod","version":"v1"}])");
}

TEST_F(OpenApiTest, PathsSayWhatCanBeDone) {
  const std::string document = get("/openapi/v3/apis/apps/v1");
  const json::Slice paths = json::Slice(document)["paths"];
  const json::Slice patch =
      paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
  EXPECT_EQ(patch["operationId"].text(), "patchAppsV1NamespacedDeployment");
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"].raw(),
            R"({"group":"apps","kind":"Deployment","version":"v1"})");
  std::set<std::string> names;
  for (const json::Slice each : patch["parameters"].elements()) names.insert(each["name"].text());
  EXPECT_THAT(names, testing::ElementsAre("dryRun", "fieldManager", "fieldValidation", "force"));
  EXPECT_TRUE(patch["requestBody"]["content"]["application/strategic-merge-patch+json"]);
  EXPECT_EQ(paths["/apis/apps/v1/deployments"]["get"]["operationId"].text(),
            "listAppsV1DeploymentForAllNamespaces");
  EXPECT_FALSE(paths["/apis/apps/v1/deployments"]["post"]);
  EXPECT_EQ(paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["get"]
                 ["x-kubernetes-group-version-kind"]["kind"]
                     .text(),
            "Scale");
  const std::string core = get("/openapi/v3/api/v1");
  const json::Slice binding =
      json::Slice(core)["paths"]["/api/v1/namespaces/{namespace}/pods/{name}/binding"];
  EXPECT_EQ(binding["post"]["operationId"].text(), "createCoreV1NamespacedPodBinding");
}

TEST_F(OpenApiTest, ACustomKindIsThereAsSoonAsItIsServed) {
  EXPECT_EQ(get("/openapi/v3/apis/example.org/v1"), "404");
  registry_.serve("ships", {ships(R"({"type":"object","properties":{"spec":{"type":"object",
    "properties":{"crew":{"type":"integer"}}}}})")});
  const std::string document = get("/openapi/v3/apis/example.org/v1");
  const json::Slice schema = json::Slice(document)["components"]["schemas"]["org.example.v1.Ship"];
  EXPECT_EQ(schema["properties"]["spec"]["properties"]["crew"]["type"].text(), "integer");
  EXPECT_EQ(schema["properties"]["kind"]["type"].text(), "string");
  EXPECT_THAT(std::string(schema["properties"]["metadata"].raw()), HasSubstr("ObjectMeta"));
  EXPECT_EQ(schema["x-kubernetes-group-version-kind"].raw(),
            R"([{"group":"example.org","kind":"Ship","version":"v1"}])");
  const json::Slice patch = json::Slice(
      document)["paths"]["/apis/example.org/v1/namespaces/{namespace}/ships/{name}"]["patch"];
  EXPECT_FALSE(patch["requestBody"]["content"]["application/strategic-merge-patch+json"]);
  EXPECT_THAT(get("/openapi/v2"), HasSubstr(R"("org.example.v1.ShipList":{"type":"object")"));
}

TEST_F(OpenApiTest, ADocumentChangesWithItsKindsAndOnlyThen) {
  const auto hash_of = [&](std::string_view part) {
    const std::string index = get("/openapi/v3");
    return json::Slice(index)["paths"][part]["serverRelativeURL"].text();
  };
  registry_.serve("ships", {ships(R"({"type":"object"})")});
  const std::string ships_before = hash_of("apis/example.org/v1"), core_before = hash_of("api/v1");
  registry_.serve("ships", {ships(R"({"type":"object","description":"floats"})")});
  EXPECT_NE(hash_of("apis/example.org/v1"), ships_before);
  EXPECT_EQ(hash_of("api/v1"), core_before);
  EXPECT_THAT(get("/openapi/v3/apis/example.org/v1"), HasSubstr("floats"));
  EXPECT_THAT(get("/openapi/v2"), HasSubstr("floats"));
  registry_.serve("ships", {});
  EXPECT_EQ(hash_of("apis/example.org/v1"), "");
}

TEST_F(OpenApiTest, VersionTwoLeavesOutWhatItCannotSay) {
  registry_.serve("ships", {ships(R"({"type":"object","required":["a"],"properties":{
    "a":{"type":"object","nullable":true,"properties":{"x":{"type":"string"}}},
    "b":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"x":{"type":"string"}}},
    "c":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
    "d":{"type":"array","items":{"type":"string","oneOf":[{"enum":["x"]}]}}}})")});
  const std::string document = get("/openapi/v2");
  const json::Slice schema = json::Slice(document)["definitions"]["org.example.v1.Ship"];
  EXPECT_FALSE(schema["required"]);
  EXPECT_EQ(schema["properties"]["a"].raw(), "{}");
  EXPECT_EQ(schema["properties"]["b"].raw(), R"({"x-kubernetes-preserve-unknown-fields":true})");
  EXPECT_EQ(schema["properties"]["c"].raw(), R"({"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(schema["properties"]["d"].raw(), R"({"type":"array","items":{"type":"string"}})");
}

TEST_F(OpenApiTest, AKindWithoutASchemaIsOpen) {
  registry_.serve("ships", {ships("")});
  const std::string document = get("/openapi/v3/apis/example.org/v1");
  const json::Slice schema = json::Slice(document)["components"]["schemas"]["org.example.v1.Ship"];
  EXPECT_TRUE(schema["x-kubernetes-preserve-unknown-fields"].boolean());
}

TEST_F(OpenApiTest, VersionTwoComesAsProtobufToWhoAsksForIt) {
  const std::string packed =
      get("/openapi/v2?timeout=32s", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
  EXPECT_EQ(type_, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_TRUE(
      packed.starts_with(std::string_view("\x0a\x03"
                                          "2.0\x12",
                                          6)));
  EXPECT_THAT(packed, HasSubstr("io.k8s.api.core.v1.PodSpec"));
  get("/openapi/v2", "*/*");
  EXPECT_EQ(type_, "application/json");
  EXPECT_EQ(get("/openapi/v2", "text/html"), "406");
}

TEST_F(OpenApiTest, OtherPathsAreNotThere) {
  EXPECT_EQ(get("/openapi/v3/apis/nobody.org/v1"), "404");
  EXPECT_EQ(get("/openapi/v4"), "404");
  EXPECT_EQ(get("/openapi/v3/"), get("/openapi/v3"));
}

TEST(Gnostic, EncodesASmallDocument) {
  const std::string packed = gnostic_document(json::Slice(
      R"({"swagger":"2.0","info":{"title":"t","version":"v"},"paths":{},"definitions":{"A":
      {"type":"object","properties":{"b":{"$ref":"#/definitions/B"}},"x-k":[1]}}})"));
  const std::string schema =
      std::string("\xb2\x01\x08\x0a\x06object", 11) +         // type = 22
      std::string("\xca\x01\x18\x0a\x16\x0a\x01", 7) + "b" +  // properties = 25
      std::string("\x12\x11\x0a\x0f#/definitions/B", 19) +
      std::string("\xfa\x01\x0c\x0a\x03x-k\x12\x05\x12\x03[1]", 15);  // vendor_extension = 31
  const std::string named =
      std::string("\x0a\x01", 2) + "A" + '\x12' + static_cast<char>(schema.size()) + schema;
  const std::string definitions = '\x0a' + std::string(1, static_cast<char>(named.size())) + named;
  EXPECT_EQ(packed, std::string("\x0a\x03", 2) + "2.0" +
                        std::string("\x12\x06\x0a\x01t\x12\x01v", 8) + std::string("\x42\x00", 2) +
                        '\x4a' + static_cast<char>(definitions.size()) + definitions);
}

TEST(Definitions, NamesOfCustomKindsAreTheirGroupBackwards) {
  EXPECT_EQ(custom_name({.group = "a.example.org", .version = "v1", .kind = "Ship", .plural = ""}),
            "org.example.a.v1.Ship");
}

}  // namespace
}  // namespace berth::apiserver
