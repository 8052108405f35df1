// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/conform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/kind.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

std::string conformed(kube::KindId kind, std::string_view text) {
  json::Arena arena;
  json::Value document = json::parse(text, arena).value();
  const Result<Conformed> done = conform(document, *kube::schema_of(kind));
  return done ? json::print(document) : done.error().message;
}

TEST(Conform, EmptyFieldsAreLeftOutOrWrittenAsTheTypesDo) {
  struct Row {
    const char* name;
    kube::KindId kind;
    std::string_view in, out;
  };
  const Row rows[] = {
      {"a null is absent", kube::kPod, R"({"spec":{"nodeName":null,"containers":[]}})",
       R"({"spec":{"containers":[]},"status":{}})"},
      {"empty strings, zeros and lists go", kube::kPod,
       R"({"spec":{"nodeName":"","hostNetwork":false,"volumes":[],"nodeSelector":{},)"
       R"("containers":[{"name":"","args":[]}]}})",
       R"({"spec":{"containers":[{"name":"","resources":{}}]},"status":{}})"},
      {"a pointer keeps its zero", kube::kPod,
       R"({"spec":{"priority":0,"enableServiceLinks":false,"containers":null}})",
       R"({"spec":{"priority":0,"enableServiceLinks":false,"containers":null},"status":{}})"},
      {"amounts are spelled the usual way", kube::kPod,
       R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m","memory":1.5}}}]}})",
       R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1","memory":"1500m"}}}]},)"
       R"("status":{}})"},
      {"times are in UTC", kube::kPod,
       R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05+01:00"},"spec":{"containers":[]}})",
       R"({"metadata":{"creationTimestamp":"2026-01-02T02:04:05Z"},"spec":{"containers":[]},)"
       R"("status":{}})"},
      {"unknown fields go", kube::kConfigMap, R"({"kind":"ConfigMap","zzz":1,"data":{"a":"b"}})",
       R"({"kind":"ConfigMap","data":{"a":"b"}})"},
  };
  for (const Row& row : rows) EXPECT_EQ(conformed(row.kind, row.in), row.out) << row.name;
}

TEST(Conform, AWrongTypeIsToldAsTheRealDecoderTellsIt) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"spec":{"containers":"x"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type "
       "[]v1.Container"},
      {R"({"spec":{"containers":[{"name":7}]}})",
       "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type "
       "string"},
      {R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":"http"}]}]}})",
       "json: cannot unmarshal string into Go struct field "
       "ContainerPort.spec.containers.ports.containerPort of type int32"},
      {R"({"spec":{"priority":1.5}})",
       "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type "
       "int32"},
      {R"({"spec":{"priority":99999999999}})",
       "json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of "
       "type int32"},
      {R"({"spec":{"restartPolicy":1}})",
       "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type "
       "v1.RestartPolicy"},
      {R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}})",
       "quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {R"({"metadata":{"creationTimestamp":"yesterday"}})",
       "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as "
       "\"2006\""},
      {R"({"metadata":{"labels":{"a":1}}})",
       "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
       "string"},
      {R"({"spec":{"hostNetwork":"yes"}})",
       "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool"},
  };
  for (const auto& [in, out] : rows) EXPECT_EQ(conformed(kube::kPod, in), out) << in;
}

TEST(Conform, MicroTimesHaveSixDigits) {
  const std::string layout = "\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse ";
  const std::pair<std::string, std::string> rows[] = {
      {"2020-01-01T00:00:00Z", "\"Z\" as \".000000\""},
      {"2020-01-01T00:00:00.12345Z", "\".12345Z\" as \".000000\""},
      {"2020-01-01T00:00:00-01:00", "\"-01:00\" as \".000000\""},
      {"2020-01-01T00:00:00.1234567Z", "\"7Z\" as \"Z07:00\""},
      {"2020-01-01T00:00:00.123456-01:00", ""},
  };
  for (const auto& [time, why] : rows)
    EXPECT_EQ(conformed(kube::kLease, "{\"spec\":{\"renewTime\":\"" + time + "\"}}"),
              why.empty() ? R"({"spec":{"renewTime":"2020-01-01T01:00:00.123456Z"}})"
                          : "parsing time \"" + time + layout + why);
}

TEST(Conform, UnknownFieldsAreNamedWithTheirPlace) {
  json::Arena arena;
  json::Value document =
      json::parse(R"({"spec":{"foo":1,"containers":[{"name":"c","bar":2}]},"zzz":1})", arena)
          .value();
  EXPECT_THAT(conform(document, *kube::schema_of(kube::kPod)).value().unknown,
              testing::ElementsAre("spec.foo", "spec.containers[0].bar", "zzz"));
}

TEST(Conform, AnAbsentStructIsWrittenWithItsZeros) {
  json::Arena arena;
  EXPECT_EQ(json::print(zero_of(*kube::find_message("io.k8s.api.core.v1.ServiceStatus"), arena)),
            R"({"loadBalancer":{}})");
  EXPECT_EQ(json::print(zero_of(*kube::find_message("io.k8s.api.apps.v1.ReplicaSetStatus"), arena)),
            R"({"replicas":0})");
}

}  // namespace
}  // namespace berth::apiserver
