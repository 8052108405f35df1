// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/json_path.h"

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

std::string found(std::string_view path) {
  static const kube::Object object = *kube::Object::parse(
      kube::kConfigMap,
      R"({"metadata":{"name":"x","labels":{"a.b/c":"d"}},"spec":{"n":3,"list":[1,2,3],"parts":[{"id":"a","w":1},{"id":"b","w":2}],"deep":{"id":"z"}}})");
  const Result<JsonPath> parsed = JsonPath::parse(path);
  if (!parsed) return "refused";
  std::string out;
  for (const json::Slice each : parsed->find(object))
    out += (out.empty() ? "" : " ") + std::string(each.raw());
  return out;
}

TEST(JsonPath, LeadsToWhatItNames) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {".spec.n", "3"},
      {".metadata.name", "\"x\""},
      {".metadata.labels['a.b/c']", "\"d\""},
      {".metadata.labels.a\\.b/c", "\"d\""},
      {".spec.missing.below", ""},
      {".spec.list[0]", "1"},
      {".spec.list[-1]", "3"},
      {".spec.list[-1:]", "3"},
      {".spec.list[0:2]", "1 2"},
      {".spec.list[0:3:2]", "1 3"},
      {".spec.list[9]", ""},
      {".spec.list[*]", "1 2 3"},
      {".spec.parts[*].id", "\"a\" \"b\""},
      {".spec.parts[?(@.id==\"b\")].w", "2"},
      {".spec.parts[?(@.w>1)].id", "\"b\""},
      {".spec.parts[?(@.id!='a')].w", "2"},
      {".spec.parts[?(@.missing)].w", ""},
      {".spec..id", "\"a\" \"b\" \"z\""},
  };
  for (const auto& [path, values] : table) EXPECT_EQ(found(path), values) << path;
}

TEST(JsonPath, IsRefusedWhereItCannotBeRead) {
  for (const std::string_view path : {"spec", ".a[", ".a[x]", ".a[?(b==1)]", ".a[1:2:0]"})
    EXPECT_EQ(found(path), "refused") << path;
  EXPECT_EQ(found(std::string(500, '.') + "a"), "refused");
}

}  // namespace
}  // namespace berth::apiserver
