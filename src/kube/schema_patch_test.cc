// SPDX-License-Identifier: Apache-2.0
// Random strategic merge patches of many kinds with the answers of apimachinery v0.36.4: what the
// generated tables say must lead to the same documents as the Go types they were read from. An
// answer that depended on the order of a Go map was left out.
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "json/patch.h"
#include "json/slice.h"
#include "json/value.h"
#include "kube/schema.h"

namespace berth::kube {
namespace {

TEST(SchemaPatches, AgreeWithTheRealCode) {
  const std::map<std::string, KindId, std::less<>> kinds = {
      {"ClusterRole", kClusterRole},
      {"CustomResourceDefinition", kCustomResourceDefinition},
      {"Deployment", kDeployment},
      {"Ingress", learn_kind({"networking.k8s.io", "v1", "Ingress", "ingresses"})},
      {"Job", kJob},
      {"Node", kNode},
      {"PersistentVolume", kPersistentVolume},
      {"Pod", kPod},
      {"Secret", kSecret},
      {"Service", kService},
      {"ServiceAccount", kServiceAccount},
      {"StatefulSet", kStatefulSet},
      {"ValidatingWebhookConfiguration", kValidatingWebhookConfiguration},
  };
  std::ifstream file("src/kube/testdata/patches.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const json::Slice row(line);
    const json::Message* message = schema_of(kinds.at(row["objectKind"].text()));
    ASSERT_NE(message, nullptr) << line;
    const auto result =
        json::strategic_merge_patch(row["original"].raw(), row["patch"].raw(), *message);
    EXPECT_EQ(result.has_value(), row["valid"].boolean()) << line;
    if (!result) continue;
    json::Arena arena;
    EXPECT_TRUE(
        json::equal(json::parse_good(*result, arena), json::parse_good(row["result"].raw(), arena)))
        << line << "\ngives " << *result;
  }
  EXPECT_GT(rows, 150);
}

}  // namespace
}  // namespace berth::kube
