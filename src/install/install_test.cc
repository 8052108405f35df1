// SPDX-License-Identifier: Apache-2.0
#include "install/install.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"
#include "json/yaml.h"

namespace berth::install {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names(const std::string& stream) {
  std::vector<std::string> names;
  const auto documents = json::yaml_to_json(stream);
  EXPECT_TRUE(documents) << documents.error().message;
  if (!documents) return names;
  for (const json::YamlDocument& document : *documents) {
    const json::Slice object(document.json);
    names.push_back(object["kind"].text() + "/" + object["metadata"]["name"].text());
  }
  return names;
}

std::string made(const InstallOptions& options) {
  const Result<std::string> text = manifests(options);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

TEST(Install, DefinesKindsBeforeWhatUsesThem) {
  const std::vector<std::string> all = names(made({}));
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), "Namespace/berth-system");
  const auto place = [&](std::string_view name) {
    return std::find(all.begin(), all.end(), name) - all.begin();
  };
  EXPECT_THAT(all,
              AllOf(Contains("CustomResourceDefinition/testbeds.batchjob.gcr.io"),
                    Contains("PriorityClass/berth-ghost"), Contains("Deployment/berth-gateway")));
  EXPECT_LT(place("CustomResourceDefinition/testbeds.batchjob.gcr.io"),
            place("ClusterRole/berth-controllers"));
  EXPECT_LT(place("ClusterRole/berth-controllers"), place("Deployment/berth-controllers"));
}

TEST(Install, PutsEverythingWhereItIsTold) {
  const std::string text = made({.ns = "elsewhere", .image = "registry.example/berth:7"});
  EXPECT_THAT(text, Not(HasSubstr("berth-system")));
  EXPECT_THAT(text, Not(HasSubstr("berth:dev")));
  EXPECT_THAT(text, HasSubstr("image: registry.example/berth:7"));
  EXPECT_THAT(names(text), Contains("Namespace/elsewhere"));
}

TEST(Install, R56_TheRightToNodesIsGivenOnlyToWhoAsksForIt) {
  EXPECT_THAT(made({}), Not(HasSubstr("nodes/proxy")));
  const std::string text = made({.ns = "here", .container_snapshots = true});
  EXPECT_THAT(names(text), AllOf(Contains("ClusterRole/berth-container-snapshots"),
                                 Contains("ClusterRoleBinding/berth-container-snapshots")));
  EXPECT_THAT(text, HasSubstr("resources: [nodes/proxy], verbs: [create]"));
  EXPECT_THAT(text, HasSubstr("name: berth-controllers, namespace: here}"));
}

TEST(Install, ESI_121_ForSomeNamespacesGivesRightsThereAndSightOfNodesAndPods) {
  const std::string text = made({.parts = {"controllers"}, .namespaces = {"a", "b"}});
  EXPECT_THAT(text, HasSubstr("--namespaces=a, --namespaces=b"));
  const auto documents = json::yaml_to_json(text);
  ASSERT_TRUE(documents);
  std::set<std::string> roles;
  for (const json::YamlDocument& document : *documents) {
    const json::Slice object(document.json);
    if (object["metadata"]["name"].text() != "berth-controllers") continue;
    if (object["kind"].equals("Role")) roles.insert(object["metadata"]["namespace"].text());
    if (!object["kind"].equals("ClusterRole")) continue;
    std::map<std::string, std::string> rules;
    for (const json::Slice rule : object["rules"].elements())
      rules[rule["resources"][std::size_t{0}].text()] = rule["verbs"].raw();
    for (const auto& [resource, verbs] : rules)
      EXPECT_EQ(verbs, R"(["get","list","watch"])") << resource;
    for (const char* resource : {"nodes", "pods", "priorityclasses"})
      EXPECT_EQ(rules.count(resource), 1u) << resource;
    EXPECT_EQ(rules.count("batchjobs"), 0u);
  }
  EXPECT_THAT(roles, testing::IsSupersetOf({"a", "b"}));
}

TEST(Install, TheGatewayMeansTheNamespaceThatItIsFor) {
  const auto meant = [](const InstallOptions& options) {
    const std::string text = made(options);
    const std::size_t at = text.find("[berth, gateway,"), flag = text.find("--namespace=", at);
    return text.substr(flag + 12, text.find(',', flag) - flag - 12);
  };
  EXPECT_EQ(meant({}), "default");
  EXPECT_EQ(meant({.namespaces = {"a", "b"}}), "a");
  EXPECT_EQ(meant({.namespaces = {"a", "b"}, .external_ns = "b"}), "b");
}

TEST(Install, OfTheSchedulerAloneDefinesNothing) {
  const std::vector<std::string> all = names(made({.parts = {"scheduler"}}));
  EXPECT_THAT(all, Contains("Deployment/berth-scheduler"));
  EXPECT_THAT(all, Not(Contains(HasSubstr("CustomResourceDefinition"))));
}

TEST(Install, OfTheExtenderTellsAStockSchedulerWhomToAsk) {
  const std::string text = made({.ns = "elsewhere", .parts = {"extender"}});
  EXPECT_THAT(names(text),
              AllOf(Contains("Namespace/elsewhere"), Contains("ClusterRole/berth-extender"),
                    Contains("ClusterRole/berth-extender-scavengers"),
                    Contains("Deployment/berth-extender"), Contains("NetworkPolicy/berth-extender"),
                    Contains("ConfigMap/berth-stock-scheduler"),
                    Not(Contains("Deployment/berth-controllers"))));
  const auto documents = json::yaml_to_json(text);
  ASSERT_TRUE(documents);
  for (const json::YamlDocument& document : *documents) {
    const json::Slice object(document.json);
    if (!object["kind"].equals("ConfigMap")) continue;
    const auto config = json::yaml_document_to_json(object["data"]["kube-scheduler.yaml"].text());
    ASSERT_TRUE(config) << config.error().message;
    const json::Slice extenders = json::Slice(*config)["extenders"];
    ASSERT_EQ(extenders.size(), 2u);
    EXPECT_EQ(extenders[std::size_t{0}]["urlPrefix"].text(),
              "https://berth-extender.elsewhere.svc:9443/slots");
    EXPECT_FALSE(extenders[std::size_t{0}]["ignorable"].boolean());
    EXPECT_TRUE(extenders[std::size_t{1}]["ignorable"].boolean());
  }
}

TEST(Install, OfOurSchedulerLetsItSeeSlotsAndPlaceExecutors) {
  const std::string text = made({.parts = {"controllers", "scheduler"}});
  EXPECT_THAT(text, HasSubstr("command: [berth, controllers, --executor-scheduler=berth,"));
  EXPECT_THAT(text, HasSubstr("resources: [testbeds, slotledgers, batchjobs]"));
  EXPECT_THAT(made({.parts = {"controllers"}}), Not(HasSubstr("--executor-scheduler")));
}

TEST(Install, OfASlotResourceTellsControllersAndTheStockScheduler) {
  const std::string text =
      made({.parts = {"controllers", "extender"}, .executors = {.slot_resource = true}});
  EXPECT_THAT(text, HasSubstr("command: [berth, controllers, --slot-resource,"));
  EXPECT_THAT(text, HasSubstr("- {name: berth.dev/slot, ignoredByScheduler: true}"));
  const std::string second =
      made({.parts = {"controllers", "extender"}, .executors = {.scheduler = "external"}});
  EXPECT_THAT(second, HasSubstr("command: [berth, controllers, --executor-scheduler=external,"));
  EXPECT_THAT(second, HasSubstr("- schedulerName: external"));
}

TEST(Install, OpensThePortsThatArePublishedAndNoOthers) {
  const auto documents =
      json::yaml_to_json(made({.parts = {"controllers", "gateway", "extender"}}));
  ASSERT_TRUE(documents);
  std::map<std::string, std::set<std::string>> published, open;
  for (const json::YamlDocument& document : *documents) {
    const json::Slice object(document.json);
    const std::string name = object["metadata"]["name"].text();
    if (object["kind"].equals("NetworkPolicy")) {
      EXPECT_EQ(object["spec"]["podSelector"]["matchLabels"]["app"].text(), name);
      for (const json::Slice port : object["spec"]["ingress"][std::size_t{0}]["ports"].elements())
        open[name].insert(port["port"].text());
    }
    if (!object["kind"].equals("Deployment")) continue;
    const json::Slice pod = object["spec"]["template"]["spec"];
    for (const json::Slice port : pod["containers"][std::size_t{0}]["ports"].elements())
      published[name].insert(port["name"].text());
  }
  EXPECT_EQ(published.size(), 3u);
  EXPECT_EQ(published, open);
}

TEST(Install, NamesThePartsThatThereAre) {
  const Result<std::string> text = manifests({.parts = {"controler"}});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, AllOf(HasSubstr("\"controler\""),
                                          HasSubstr("controllers, gateway, extender, scheduler")));
}

TEST(Install, P_07_GivesTheRightsForKindsThatAreAddedByConfiguration) {
  controllers::JobKind added;
  added.name = "volcano";
  added.api_version = "batch.volcano.sh/v1alpha1";
  added.kind = "Job";
  added.resource = "jobs";
  EXPECT_THAT(made({.job_kinds = {std::move(added)}}), HasSubstr("batch.volcano.sh"));
  EXPECT_THAT(made({}), Not(HasSubstr("batch.volcano.sh")));
}

}  // namespace
}  // namespace berth::install
