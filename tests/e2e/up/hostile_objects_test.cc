// SPDX-License-Identifier: Apache-2.0
// Attacks by what is sent: documents, patches and schemas that are meant to take for ever, or all
// memory there is.
#include <functional>

#include <fmt/format.h>

#include "hostile_up.h"
#include "net/gzip.h"

namespace berth::e2e {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kJsonPatch = "application/json-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";
constexpr const char* kYaml = "application/yaml";

std::string times(int count, std::string_view text) {
  std::string out;
  out.reserve(text.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out += text;
  return out;
}
// "a0,a1,a2" of "a{}".
std::string listed(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", fmt::format(fmt::runtime(text), i));
  return out;
}
std::string map_named(std::string_view name, std::string_view more) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}{}}})",
                     name, more);
}
std::string with_metadata(const std::string& member) {
  return fmt::format(R"({{"metadata":{{"name":"hurt",{}}}}})", member);
}
std::string pod(const std::string& spec) {
  return fmt::format(
      R"({{"metadata":{{"name":"hurt"}},"spec":{{"containers":[{{"name":"c","image":"i"}}]{}}}}})",
      spec);
}

TEST_F(Hostile, DocumentsThatAreTooLargeTooDeepOrBrokenAreRefused) {
  const std::string maps = kMaps, one = maps + "/kube-root-ca.crt";
  const std::string deep = times(10'000, R"({"a":)") + "1" + times(10'000, "}");
  const std::string lists = times(10'000, "[") + times(10'000, "]");
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i)
    laughs += fmt::format("a{0}: &a{0} [{1}]\n", i, listed(9, fmt::format("*a{}", i - 1)));
  perform({
      {.name = "too large",
       .method = "POST",
       .target = maps,
       .body = std::string((3 << 20) + 1, ' '),
       .code = 413,
       .says = "Request entity too large: limit is 3145728"},
      {.name = "far too large",
       .method = "POST",
       .target = maps,
       .body = std::string(7 << 20, ' '),
       .code = 413,
       .says = "Request entity too large: limit is 3145728"},
      {.name = "deep objects",
       .method = "POST",
       .target = maps,
       .body = deep,
       .says = "exceeded max depth"},
      {.name = "deep lists",
       .method = "POST",
       .target = maps,
       .body = R"({"data":)" + lists + "}",
       .says = "exceeded max depth"},
      {.name = "a deep merge patch",
       .method = "PATCH",
       .target = one,
       .body = deep,
       .type = kMerge,
       .says = "exceeded max depth"},
      {.name = "a deep strategic patch",
       .method = "PATCH",
       .target = one,
       .body = deep,
       .type = kStrategic,
       .says = "exceeded max depth"},
      {.name = "a deep JSON patch",
       .method = "PATCH",
       .target = one,
       .body = R"([{"op":"add","path":"/data/x","value":)" + lists + "}]",
       .type = kJsonPatch,
       .says = "exceeded max depth"},
      {.name = "a deep apply",
       .method = "PATCH",
       .target = one + "?fieldManager=x",
       .body = deep,
       .type = kApply,
       .says = "nested too deeply"},
      {.name = "deep YAML",
       .method = "POST",
       .target = maps,
       .body = lists,
       .type = kYaml,
       .says = "nested too deeply"},
      {.name = "a billion laughs", .method = "POST", .target = maps, .body = laughs, .type = kYaml},
      {.name = "no UTF-8",
       .method = "POST",
       .target = maps,
       .body = "{\"data\":{\"x\":\"\xc3\x28\"}}",
       .says = "a string is not valid UTF-8"},
      {.name = "no UTF-8 in a name",
       .method = "POST",
       .target = maps,
       .body = "{\"metadata\":{\"name\":\"\xff\xfe\"}}",
       .says = "a string is not valid UTF-8"},
      {.name = "a number of 100,000 digits",
       .method = "POST",
       .target = kPods,
       .body = pod(R"(,"priority":)" + std::string(100'000, '9')),
       .says = "too large"},
      {.name = "an exponent",
       .method = "POST",
       .target = kPods,
       .body = pod(R"(,"priority":1e999999999)"),
       .says = "too large"},
      {.name = "a quantity of a million digits",
       .method = "POST",
       .target = kPods,
       .body = pod(fmt::format(R"(,"overhead":{{"cpu":"{}"}})", std::string(1'000'000, '9'))),
       .says = "more than 5000 digits"},
      // k8s 1.36: requests are not decompressed, so there is no bomb.
      {.name = "a gzip bomb",
       .method = "POST",
       .target = maps,
       .body = net::gzip(std::string(50'000'000, ' ')),
       .says = "invalid character '\\x1f'"},
      {.name = "protobuf that is none",
       .method = "POST",
       .target = maps,
       .body = std::string("k8s\0", 4) + std::string(100'000, '\xff'),
       .type = "application/vnd.kubernetes.protobuf"},
  });
}

TEST_F(Hostile, DocumentsThatGrowAreBounded) {
  most_kib = 600'000;  // some twenty documents of up to 3 MiB: text, tree and versions
  const std::string maps = kMaps;
  const std::string values = listed(60'000, R"("l{}":"v")");
  std::vector<Attack> attacks = {
      {.name = "unknown fields",
       .method = "POST",
       .target = maps + "?fieldValidation=Strict",
       .body = "{" + listed(200'000, R"("z{}":1)") + "}",
       .says = "unknown field \"z0\""},
      {.name = "unknown fields that are let be",
       .method = "POST",
       .target = maps + "?fieldValidation=Ignore",
       .body = R"({"metadata":{"name":"unknown"},)" + listed(200'000, R"("z{}":1)") + "}",
       .code = 201},
      {.name = "one field again and again",
       .method = "POST",
       .target = maps + "?fieldValidation=Strict",
       .body = R"({"data":{)" + times(300'000, R"("a":"b",)") + R"("a":"b"}})",
       .says = "duplicate field \"data.a\""},
      {.name = "annotations",
       .method = "POST",
       .target = maps,
       .body = with_metadata("\"annotations\":{" + listed(200'000, R"("l{}":"v")") + "}"),
       .code = 422,
       .says = "metadata.annotations: Too long: may not be more than 262144 bytes"},
      {.name = "owners",
       .method = "POST",
       .target = maps,
       .body = with_metadata(
           "\"ownerReferences\":[" +
           listed(25'000, R"({{"apiVersion":"v1","kind":"Pod","name":"p{0}","uid":"u{0}"}})") +
           "]"),
       .code = 201},
      {.name = "managed fields",
       .method = "POST",
       .target = maps,
       .body =
           R"({"metadata":{"name":"managed","managedFields":[{"manager":"x","operation":"Apply",)"
           R"("apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{)" +
           listed(100'000, R"("f:l{}":{{}})") + "}}}]}}",
       .code = 201},
      {.name = "many managers",
       .method = "POST",
       .target = maps,
       .body =
           R"({"metadata":{"name":"managers","managedFields":[)" +
           listed(
               20'000,
               R"({{"manager":"x{}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:a":{{}}}}}}}})") +
           "]}}",
       .code = 201},
      {.name = "containers that grow by their defaults",
       .method = "POST",
       .target = kPods,
       .body = R"({"metadata":{"name":"hurt"},"spec":{"containers":[)" +
               listed(60'000, R"({{"name":"c{}","image":"i"}})") + "]}}",
       .code = 500,
       .says = "etcdserver: request is too large"},
      {.name = "constraints in pairs",
       .method = "POST",
       .target = kPods,
       .body = pod(
           R"(,"topologySpreadConstraints":[)" +
           listed(10'000,
                  R"({{"maxSkew":1,"topologyKey":"k{}","whenUnsatisfiable":"DoNotSchedule"}})") +
           "]"),
       .code = 201},
      {.name = "its end",
       .method = "DELETE",
       .target = std::string(kPods) + "/hurt?gracePeriodSeconds=0",
       .code = 200},
      {.name = "an object to patch",
       .method = "POST",
       .target = maps,
       .body = map_named("patched", R"(,"data":{"a":")" + std::string(1'000, 'x') + "\"}"),
       .code = 201},
      {.name = "copies of copies",
       .method = "PATCH",
       .target = maps + "/patched",
       .body = "[" + listed(40, R"({{"op":"copy","from":"/data","path":"/data/x{}"}})") + "]",
       .type = kJsonPatch,
       .code = 422},
      {.name = "too many operations",
       .method = "PATCH",
       .target = maps + "/patched",
       .body = "[" + listed(10'001, R"({{"op":"add","path":"/data/x","value":"{}"}})") + "]",
       .type = kJsonPatch,
       .code = 413},
      {.name = "a large object",
       .method = "POST",
       .target = maps,
       .body = map_named("large", ",\"data\":{" + values + "}"),
       .code = 201},
      {.name = "operations on it",
       .method = "PATCH",
       .target = maps + "/large",
       .body = "[" + listed(9'999, R"({{"op":"remove","path":"/data/l{}"}})") + "]",
       .type = kJsonPatch,
       .code = 200},
      {.name = "all of it taken away",
       .method = "PATCH",
       .target = maps + "/large",
       .body = R"({"data":{)" + listed(60'000, R"("l{}":null)") + "}}",
       .type = kMerge,
       .code = 200},
  };
  // Every manager owns all fields once more, until there is no more room.
  for (int i = 0; i < 4; ++i)
    attacks.push_back({.name = fmt::format("applier {}", i),
                       .method = "PATCH",
                       .target = fmt::format("{}/applied?fieldManager=m{}", maps, i),
                       .body = map_named("applied", ",\"data\":{" + values + "}"),
                       .type = kApply,
                       .code = i == 0   ? 201
                               : i == 1 ? 200
                                        : 500,
                       .says = i < 2 ? "" : "etcdserver: request is too large"});
  perform(attacks);
}

// A definition whose objects' spec has this schema.
Attack definition(const std::string& name, const std::string& spec, int code = 201,
                  const std::string& says = "") {
  return {
      .name = "definition of " + name,
      .method = "POST",
      .target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      .body = fmt::format(
          R"({{"metadata":{{"name":"{0}.hurt.io"}},"spec":{{"group":"hurt.io","scope":"Namespaced",)"
          R"("names":{{"plural":"{0}","singular":"{0}","kind":"{0}kind","listKind":"{0}list"}},)"
          R"("versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":)"
          R"({{"type":"object","properties":{{"spec":{1}}}}}}}}}]}}}})",
          name, spec),
      .code = code,
      .says = says};
}

TEST_F(Hostile, SchemasThatAreMeantToHurtHurtNobody) {
  most_kib = 500'000;
  const struct {
    std::string name, schema, spec;
    int code;
    std::string says;
  } cases[] = {
      {"bomb", R"({"type":"string","pattern":"^(a+)+$"})",
       "\"" + std::string(1'000'000, 'a') + "b\"", 422, "should match '^(a+)+$'"},
      {"patterns",
       R"({"type":"array","items":{"type":"string","anyOf":[)" +
           listed(5'000, R"({{"pattern":"^v{}$"}})") + "]}}",
       "[" + listed(20'000, R"("x{}")") + "]", 422, "takes more steps than are allowed"},
      {"enumeration",
       R"({"type":"array","items":{"type":"string","enum":[)" + listed(100'000, R"("v{}")") + "]}}",
       "[" + listed(100'000, R"("x{}")") + "]", 422, "takes more steps than are allowed"},
      {"wide",
       R"({"type":"array","items":{"type":"object","properties":{)" +
           listed(20'000, R"("p{}":{{"type":"string"}})") + "}}}",
       "[" + listed(200'000, "{{}}") + "]", 422, "takes more steps than are allowed"},
      {"defaults",
       R"({"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":")" +
           std::string(100'000, 'y') + "\"}}}}",
       "[" + listed(500'000, "{{}}") + "]", 500, "etcdserver: request is too large"},
      {"unique", R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
       "[" + listed(200'000, R"("x{}")") + R"(,"x1"])", 422, "Duplicate value: \"x1\""},
      {"open", R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})",
       "{" + listed(40'000, R"("k{}":{{"a":[1,2,{{"b":"c"}}]}})") + "}", 201, ""},
  };
  conformance::Wire wire(up().access());
  for (const auto& [name, schema, spec, code, says] : cases) {
    perform({definition(name, schema)});
    const std::string target = fmt::format("/apis/hurt.io/v1/namespaces/default/{}", name);
    EXPECT_TRUE(eventually(
        std::chrono::seconds(60),
        [&] {
          const auto made =
              ask(wire, "POST", target + "?dryRun=All",
                  fmt::format(R"({{"apiVersion":"hurt.io/v1","kind":"{}kind","metadata":)"
                              R"({{"name":"try"}}}})",
                              name));
          return made && made->status == 201;
        }))
        << name << " is not served";
    perform({{.name = name,
              .method = "POST",
              .target = target,
              .body = fmt::format(R"({{"apiVersion":"hurt.io/v1","kind":"{}kind","metadata":)"
                                  R"({{"name":"hurt"}},"spec":{}}})",
                                  name, spec),
              .code = code,
              .says = says}});
  }
  // And those that are refused themselves.
  std::string branches = R"({"required":["z"]})";
  for (int i = 0; i < 17; ++i)
    branches = fmt::format(R"({{"allOf":[{{"anyOf":[{0},{0}]}}]}})", branches);
  perform({
      definition("nested",
                 times(10'000, R"({"type":"object","properties":{"a":)") + R"({"type":"string"})" +
                     times(10'000, "}}"),
                 400, "exceeded max depth"),
      definition("repeats",
                 R"({"type":"string","pattern":"((((a{0,10}){0,10}){0,10}){0,10}){0,10}"})", 422,
                 "pattern: Invalid value"),
      definition("many",
                 R"({"type":"object","properties":{)" +
                     listed(400, R"("p{0}":{{"type":"string","pattern":"(ab{0}){{1000}}"}})") +
                     "}}",
                 422, "its patterns are too large together"),
      definition("loose", R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})", 422,
                 "uniqueItems"),
      {.name = "branches without end",
       .method = "POST",
       .target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       .body = branches,
       .code = 413,
       .says = "limit is 3145728"},
  });
}

}  // namespace
}  // namespace berth::e2e
