// SPDX-License-Identifier: Apache-2.0
#include "kube/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"

namespace berth::kube {
namespace {

using testing::HasSubstr;

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string bytes(unsigned field, std::string_view content) {
  return varint(field << 3 | 2) + varint(content.size()) + std::string(content);
}
std::string body(std::string_view api_version, std::string_view kind, std::string_view message) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, api_version) + bytes(2, kind)) +
         bytes(2, message);
}
// A message has metadata under 1; in that the name is 1.
std::string pod(std::string_view rest) {
  return body("v1", "Pod", bytes(1, bytes(1, "web")) + std::string(rest));
}
constexpr unsigned kSpec = 2, kContainers = 2, kSecurityContext = 14, kSupplementalGroups = 4;

std::string read(std::string_view from, const ProtobufLimits& limits = {}) {
  const auto json = protobuf_to_json(from, {}, limits);
  return json ? *json : "refused: " + json.error().message;
}

TEST(Protobuf, NamesItsKindFirstAndLeavesOutWhatIsEmpty) {
  EXPECT_EQ(read(body("v1", "Pod", bytes(1, bytes(1, "web") + bytes(2, "") + number(7, 0)))),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}})");
}

TEST(Protobuf, ABodyWithoutKindIsWhatWasExpected) {
  const std::string bare = std::string("k8s\0", 4) + bytes(2, bytes(1, bytes(1, "web")));
  EXPECT_EQ(protobuf_to_json(bare, kPod).value(),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}})");
  EXPECT_FALSE(protobuf_to_json(bare));
}

TEST(Protobuf, UnknownNumbersArePassedOver) {
  EXPECT_EQ(read(pod(bytes(99, "x") + number(98, 1) + varint(97 << 3 | 1) + "12345678")),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}})");
}

TEST(Protobuf, AMessageInPiecesIsOneMessage) {
  const std::string json = read(pod(bytes(kSpec, bytes(kContainers, bytes(1, "a"))) +
                                    bytes(kSpec, bytes(kContainers, bytes(1, "b")))));
  EXPECT_EQ(json::Slice(json)["spec"]["containers"].size(), 2u) << json;
  EXPECT_TRUE(json::Slice(json)["spec"]["containers"][1]["name"].equals("b"));
}

TEST(Protobuf, ListsOfNumbersMayBePacked) {
  const std::string packed = bytes(kSupplementalGroups, varint(7) + varint(300));
  const std::string apart = number(kSupplementalGroups, 7) + number(kSupplementalGroups, 300);
  for (const std::string& groups : {packed, apart}) {
    const std::string json = read(pod(bytes(kSpec, bytes(kSecurityContext, groups))));
    EXPECT_THAT(json, HasSubstr(R"("supplementalGroups":[7,300])"));
  }
}

TEST(Protobuf, TextThatIsNotUtf8IsMendedAsGoDoes) {
  EXPECT_EQ(read(body("v1", "Pod", bytes(1, bytes(1, "a\xff")))),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\ufffd"}})");
}

TEST(Protobuf, OptionsOfADeletionAreTheSameInEveryGroup) {
  EXPECT_EQ(read(body("apps/v1", "DeleteOptions", number(1, 0))),
            R"({"kind":"DeleteOptions","apiVersion":"apps/v1","gracePeriodSeconds":0})");
}

TEST(Protobuf, WhatIsWrongIsRefusedWithItsReason) {
  struct Row {
    const char* name;
    std::string body;
    const char* says;
  };
  const std::string prefix("k8s\0", 4);
  const Row rows[] = {
      {"empty", "", "does not appear to be a protobuf message"},
      {"JSON", "{}", "does not appear to be a protobuf message"},
      {"a kind nobody knows", body("v1", "Pond", ""), "no kind \"Pond\" is registered"},
      {"no kind", prefix + bytes(2, ""), "no kind \"\" is registered"},
      {"encoded", prefix + bytes(3, "gzip"), "not supported"},
      {"an envelope cut short", prefix + "\x0a\x7f", "unexpected EOF"},
      {"a length past the end", pod("\x12\xff\xff\xff\xff\x0f"), "unexpected EOF"},
      {"a length that overflows", pod("\x12" + std::string(10, '\xff')), "integer overflow"},
      {"number 0", pod(bytes(0, "x")), "illegal tag"},
      {"a group", pod(varint(2 << 3 | 3)), "illegal wireType"},
      {"a number where a message should be", pod(number(kSpec, 1)), "wrong wireType = 0"},
      {"a number for a text", body("v1", "Pod", bytes(1, number(1, 1))), "wrong wireType = 0"},
      {"no JSON where JSON should be",
       body("apps/v1", "ControllerRevision", bytes(2, bytes(1, "{oops"))), "line 1"},
  };
  for (const Row& row : rows) EXPECT_THAT(read(row.body), HasSubstr(row.says)) << row.name;
}

// JSONSchemaProps.not is 28: schemas nest without end.
std::string nested_schema(int levels) {
  std::string schema;
  for (int i = 0; i < levels; ++i) schema = bytes(28, schema);
  return body("apiextensions.k8s.io/v1", "CustomResourceDefinition",
              bytes(2, bytes(7, bytes(4, bytes(1, schema)))));
}

TEST(Protobuf, DepthIsBounded) {
  EXPECT_THAT(read(nested_schema(50)), HasSubstr(R"("not":{"not":{)"));
  EXPECT_THAT(read(nested_schema(200)), HasSubstr("nested too deep"));
}

TEST(Protobuf, SizeAndNumberOfValuesAreBounded) {
  EXPECT_THAT(read(pod(""), {.max_bytes = 10}), HasSubstr("more than the 10 that are taken"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += number(90, 1);
  EXPECT_THAT(read(pod(many), {.max_values = 1100}), HasSubstr("\"kind\":\"Pod\""));
  EXPECT_THAT(read(pod(many), {.max_values = 900}), HasSubstr("too many values"));
  const std::string packed = bytes(kSupplementalGroups, std::string(1000, '\1'));
  EXPECT_THAT(read(pod(bytes(kSpec, bytes(kSecurityContext, packed))), {.max_values = 900}),
              HasSubstr("too many values"));
}

}  // namespace
}  // namespace berth::kube
