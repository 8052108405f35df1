// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/accept.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

std::string shown(const Result<Wanted>& wanted) {
  if (!wanted)
    return std::to_string(http_code_of(wanted.error().reason)) + " " + wanted.error().message;
  std::string out = wanted->yaml ? "yaml" : "json";
  if (wanted->form == Form::kTable) out += " table";
  if (wanted->form == Form::kMetadata) out += " metadata";
  if (wanted->form == Form::kMetadataList) out += " metadata list";
  if (wanted->form != Form::kWhole) out += " " + std::string(wanted->version);
  if (wanted->include == Include::kNone) out += " none";
  if (wanted->include == Include::kObject) out += " object";
  if (wanted->pretty) out += " pretty";
  return out;
}

TEST(Accept, TheFirstThatCanBeGivenIsTaken) {
  const std::string known =
      "406 only the following media types are accepted: application/json, application/yaml";
  const std::string all = known + ", application/vnd.kubernetes.protobuf";
  const std::string routed =
      "406 406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
      "application/vnd.kubernetes.protobuf";
  const struct {
    const char* accept;
    std::string gives;
  } rows[] = {
      {"", "json"},
      {"*/*", "json"},
      {"application/*", "json"},
      {"application/json", "json"},
      {"application/yaml", "yaml"},
      {"application/json;as=Table;v=v1;g=meta.k8s.io,application/"
       "json;as=Table;v=v1beta1;g=meta.k8s."
       "io,application/json",
       "json table v1"},
      {"application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json", "json table v1beta1"},
      {"application/json;as=Table;v=v2;g=meta.k8s.io, application/json", "json"},
      {"application/vnd.kubernetes.protobuf, */*", "json"},
      {"application/vnd.kubernetes.protobuf,application/json", "json"},
      {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
       "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
       "json metadata list v1"},
      {"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "json metadata v1"},
      {"application/json;q=0.5, application/yaml", "yaml"},
      {"*/*, application/yaml", "yaml"},
      {"text/html, application/json;q=0.9", "json"},
      {"application/json;pretty=1", "json pretty"},
      {"application/json;stream=watch", "json"},
      {"application/vnd.kubernetes.protobuf", known},
      {"text/html", routed},
      {"application/json;as=Something;g=meta.k8s.io;v=v1", all},
      {"application/json;stream=other", all},
      {";;;,,,===", routed},
  };
  for (const auto& row : rows)
    EXPECT_EQ(shown(negotiate(row.accept, Query(), "", {})), row.gives) << row.accept;
}

TEST(Accept, AWatchIsNeverInYaml) {
  EXPECT_EQ(shown(negotiate("application/yaml", Query(), "", {.watch = true})),
            "406 only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(shown(negotiate("text/html", Query(), "", {.collection = true})),
            "406 406: Not Acceptable\n\nAvailable representations: application/json, "
            "application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(shown(negotiate("text/html", Query(), "", {.custom = true})),
            "406 only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(shown(negotiate("application/json;stream=watch", Query(), "", {.watch = true})),
            "json");
}

TEST(Accept, RowsOfATableHoldWhatTheQuerySays) {
  const char* const kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const auto with = [&](std::string_view query) {
    return shown(negotiate(kTable, Query(query), "", {}));
  };
  EXPECT_EQ(with("includeObject=None"), "json table v1 none");
  EXPECT_EQ(with("includeObject=Object"), "json table v1 object");
  EXPECT_EQ(with("includeObject=Metadata"), "json table v1");
  EXPECT_EQ(with("includeObject=Foo"),
            "400 Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": "
            "must be 'Metadata', 'Object', 'None', or empty");
}

TEST(Accept, PeopleGetItIndented) {
  EXPECT_EQ(shown(negotiate("", Query(), "curl/7.88", {})), "json pretty");
  EXPECT_EQ(shown(negotiate("", Query("pretty=false"), "curl/7.88", {})), "json");
  EXPECT_EQ(shown(negotiate("", Query("pretty=true"), "kubectl", {})), "json pretty");
  EXPECT_EQ(shown(negotiate("", Query("pretty=x"), "Mozilla/5.0", {})), "json");
}

}  // namespace
}  // namespace berth::apiserver
