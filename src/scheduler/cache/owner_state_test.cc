// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/owner_state.h"

#include <gtest/gtest.h>

#include "kube/kind.h"
#include "scheduler/cache/test_builders.h"

namespace berth::scheduler {
namespace {

using namespace test;

kube::Object object(kube::KindId kind, std::string_view name, std::string_view selector,
                    std::string_view ns = "default") {
  return *kube::Object::parse(
      kind,
      fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"selector":{}}}}})",
                  name, ns, selector));
}

TEST(OwnerState, ADefaultSelectorIsThatOfServicesAndOwner) {
  const PodBuilder web = pod("p").label("app", "web").label("tier", "front");
  const auto owned = [&](std::string_view api, std::string_view kind, std::string_view name = "o") {
    return PodBuilder(web).controlled_by(api, kind, name).compile();
  };
  const struct {
    const char* name;
    std::vector<kube::Object> objects;
    PodPtr pod;
    const char* selector;  // "": everything, so no constraints
  } rows[] = {
      {"nothing there", {}, web.compile(), ""},
      {"a Service", {object(kube::kService, "s", R"({"app":"web"})")}, web.compile(), "app=web"},
      {"two Services",
       {object(kube::kService, "s", R"({"app":"web"})"),
        object(kube::kService, "t", R"({"tier":"front"})")},
       web.compile(),
       "app=web,tier=front"},
      {"a Service for others", {object(kube::kService, "s", R"({"app":"db"})")}, web.compile(), ""},
      {"a Service elsewhere",
       {object(kube::kService, "s", R"({"app":"web"})", "red")},
       web.compile(),
       ""},
      {"a Service without selector", {object(kube::kService, "s", "null")}, web.compile(), ""},
      {"a Service for all", {object(kube::kService, "s", "{}")}, web.compile(), ""},
      {"a ReplicaSet",
       {object(kube::kReplicaSet, "o", R"({"matchLabels":{"app":"web"}})")},
       owned("apps/v1", "ReplicaSet"),
       "app=web"},
      {"a StatefulSet that does not match its pod",
       {object(kube::kStatefulSet, "o", R"({"matchLabels":{"app":"db"}})")},
       owned("apps/v1", "StatefulSet"),
       "app=db"},
      {"a Service and a ReplicaSet that cannot both hold",
       {object(kube::kService, "s", R"({"app":"web"})"),
        object(kube::kReplicaSet, "o", R"({"matchLabels":{"app":"db"}})")},
       owned("apps/v1", "ReplicaSet"),
       "app=web,app=db"},
      {"a ReplicationController replaces what a Service says",
       {object(kube::kService, "s", R"({"app":"web","tier":"front"})"),
        object(kube::kReplicationController, "o", R"({"app":"db"})")},
       owned("v1", "ReplicationController"),
       "app=db,tier=front"},
      {"a ReplicaSet without selector",
       {object(kube::kReplicaSet, "o", "null")},
       owned("apps/v1", "ReplicaSet"),
       ""},
      {"a ReplicaSet for all",
       {object(kube::kReplicaSet, "o", "{}")},
       owned("apps/v1", "ReplicaSet"),
       ""},
      {"an owner that is not there",
       {object(kube::kReplicaSet, "o", R"({"matchLabels":{"app":"web"}})")},
       owned("apps/v1", "ReplicaSet", "other"),
       ""},
      {"an owner of another version",
       {object(kube::kReplicaSet, "o", R"({"matchLabels":{"app":"web"}})")},
       owned("apps/v1beta1", "ReplicaSet"),
       ""},
      {"an owner of another kind",
       {object(kube::kReplicaSet, "o", R"({"matchLabels":{"app":"web"}})")},
       owned("batch/v1", "Job"),
       ""},
  };
  for (const auto& row : rows) {
    OwnerState owners;
    for (const kube::Object& one : row.objects) owners.put(one);
    const OwnerState::Default& found = owners.default_selector(*row.pod);
    EXPECT_EQ(found.text, row.selector) << row.name;
    EXPECT_EQ(found.selector.everything(), found.text.empty()) << row.name;
    EXPECT_EQ(owners.default_selector(*row.pod).text, row.selector) << row.name << ", again";
  }
}

TEST(OwnerState, AnswersChangeWithTheObjects) {
  OwnerState owners;
  const PodPtr web = pod("p").label("app", "web").label("tier", "x").compile();
  EXPECT_EQ(owners.default_selector(*web).text, "");
  const std::uint64_t before = owners.epoch();
  owners.put(object(kube::kService, "s", R"({"app":"web"})"));
  EXPECT_NE(owners.epoch(), before);
  EXPECT_EQ(owners.default_selector(*web).text, "app=web");
  owners.put(object(kube::kService, "s", R"({"tier":"x"})"));
  EXPECT_EQ(owners.default_selector(*web).text, "tier=x");
  owners.put(object(kube::kService, "s", "null"));
  EXPECT_EQ(owners.default_selector(*web).text, "");
  owners.put(object(kube::kService, "s", R"({"app":"web"})"));
  owners.remove(object(kube::kService, "s", "null"));
  EXPECT_EQ(owners.default_selector(*web).text, "");
}

}  // namespace
}  // namespace berth::scheduler
