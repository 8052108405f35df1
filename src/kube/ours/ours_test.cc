// SPDX-License-Identifier: Apache-2.0
#include "kube/ours/ours.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"
#include "kube/ours/batch_job_view.h"
#include "kube/ours/reasons.h"
#include "kube/ours/scheduling_view.h"
#include "kube/ours/testbed_view.h"

namespace berth::kube {
namespace {

using testing::ElementsAre;

std::string file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Definitions : public testing::TestWithParam<std::size_t> {};

// The manifests that people read and install are those that the code makes. Where one has changed
// on purpose, BERTH_WRITE_CRDS=src/kube/ours/crds writes them anew.
TEST_P(Definitions, AreWhatTheManifestsSay) {
  const KindSpec kind = our_kinds()[GetParam()];
  const std::string path = "src/kube/ours/crds/" + kind.crd_name() + ".yaml";
  const std::string made = json::json_to_yaml(kind.crd());
  if (const char* folder = std::getenv("BERTH_WRITE_CRDS"))  // NOLINT: single-threaded
    std::ofstream(folder + ("/" + kind.crd_name() + ".yaml")) << made;
  EXPECT_EQ(file(path), made) << path;
}
INSTANTIATE_TEST_SUITE_P(All, Definitions, testing::Range(std::size_t{0}, our_kinds().size()),
                         [](const auto& param) {
                           const KindSpec kind = our_kinds()[param.param];
                           return kind.kind() + (kind.group() == kAliasGroup ? "Alias" : "");
                         });

TEST(SlotKinds, OfTheTwoGroupsDiffer) {
  EXPECT_EQ(kind_of(thesis_kinds().testbed).group, "batchjob.gcr.io");
  EXPECT_EQ(kind_of(alias_kinds().testbed).group, "esi.tu-berlin.de");
  EXPECT_EQ(kind_of(thesis_kinds().ledger).group, "berth.dev");
  EXPECT_EQ(kind_of(alias_kinds().scheduling).plural, "schedulings");
  EXPECT_NE(thesis_kinds().batch_job, alias_kinds().batch_job);
}

TEST(Reasons, AreInTheTableOnceForAKind) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ReasonRow& row : reason_rows())
    EXPECT_TRUE(seen.insert({row.kind, row.reason}).second) << row.kind << " " << row.reason;
  EXPECT_THAT(std::string(remedy_for("Scheduling", reason::kJobNotFound)),
              testing::StartsWith("Create the BatchJob"));
  EXPECT_EQ(remedy_for("Testbed", reason::kHeld), "");
  EXPECT_EQ(remedy_for("Testbed", "Nonsense"), "");
}

Object parsed(KindId kind, std::string_view json) {
  const auto object = Object::parse(kind, json);
  EXPECT_TRUE(object) << object.error().message;
  return object.value_or(Object());
}

TEST(TestbedView, ReadsClassesSizesAndPolicies) {
  const TestbedView view(parsed(
      thesis_kinds().testbed,
      R"({"metadata":{"name":"tb","namespace":"default"},"spec":{"nodeLabel":"l","slotsPerNode":2,"resourcesPerSlot":{"cpu":"700m"},"classes":[{"name":"gpu","slotsPerNode":1,"resourcesPerSlot":{"nvidia.com/gpu":1},"nodeLabel":"has-gpu"}],"sharing":"Shared","idlePolicy":{"after":"10m","shrinkTo":1},"quotas":[{"namespace":"a","maxSlots":3}]}})"));
  const std::vector<SlotClass> classes = view.classes();
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].name, "default");
  EXPECT_EQ(classes[0].per_node, 2);
  EXPECT_EQ(classes[0].size.at("cpu").milli_value(), 700);
  EXPECT_EQ(classes[1].node_label, "has-gpu");
  EXPECT_TRUE(view.shared());
  EXPECT_EQ(view.idle_policy()->after, 10min);
  EXPECT_EQ(view.idle_policy()->shrink_to, 1);
  EXPECT_EQ(view.quotas().at(0).max_slots, 3);
  EXPECT_EQ(view.quotas().at(0).max_grants, std::nullopt);
}

TEST(BatchJobView, ReadsClaimsOrdersPinsAndHistory) {
  const BatchJobView view(parsed(
      thesis_kinds().batch_job,
      R"({"metadata":{"name":"a","namespace":"x"},"spec":{"jobSpec":{},"activeScheduling":{"name":"s","uid":"u"},"creationRequest":{"slotIds":[3,0],"testbedName":{"name":"tb","namespace":"y"},"run":4}},"status":{"run":4,"closedRun":3,"pins":[{"slot":3,"podUid":"p"}],"scheduledEvents":[{"run":3,"successful":true,"slotIds":[1],"start":"2026-01-01T00:00:00Z","stop":"2026-01-01T00:01:00Z"}]}})"));
  EXPECT_EQ(view.claim()->scheduling, (Key{"x", "s"}));
  EXPECT_EQ(view.claim()->uid, "u");
  EXPECT_THAT(view.order()->slots, ElementsAre(0, 3));
  EXPECT_EQ(view.order()->testbed, (Key{"y", "tb"}));
  EXPECT_TRUE(view.open());
  EXPECT_EQ(view.pins().at(0).pod_uid, "p");
  EXPECT_EQ(view.succeeded(3), true);
  EXPECT_EQ(view.succeeded(4), std::nullopt);
  EXPECT_EQ(*view.history()[0].stop - *view.history()[0].start, 1min);
}

TEST(SchedulingView, NamesEachJobOnceInTheOrderOfItsFirstEntry) {
  const SchedulingView view(parsed(
      thesis_kinds().scheduling,
      R"({"metadata":{"name":"s","namespace":"d"},"spec":{"testbed":{"name":"tb"},"queueBased":[{"name":"a"},{"name":"b","namespace":"d"},{"name":"a"}]},"status":{"jobStates":[{"namespace":"d","name":"a","lastRun":2,"used":1}]}})"));
  EXPECT_THAT(view.jobs(), ElementsAre(Key{"d", "a"}, Key{"d", "b"}));
  EXPECT_EQ(view.queue().size(), 3u);
  EXPECT_EQ(view.job({"d", "a"}).last_run, 2);
  EXPECT_EQ(view.job({"d", "b"}).used, 0u);
  EXPECT_EQ(view.testbed(), (Key{"d", "tb"}));
}

}  // namespace
}  // namespace berth::kube
