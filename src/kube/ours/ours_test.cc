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
#include "kube/ours/scavenger_job_view.h"
#include "kube/ours/scavenger_policy_view.h"
#include "kube/ours/scavenger_quota_view.h"
#include "kube/ours/scheduling_view.h"
#include "kube/ours/testbed_view.h"
#include "kube/schema.h"

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
                           const bool alias =
                               kind.group() == kAliasGroup || kind.group() == kCeritGroup;
                           return kind.kind() + (alias ? "Alias" : "");
                         });

TEST(SlotKinds, OfTheTwoGroupsDiffer) {
  EXPECT_EQ(kind_of(thesis_kinds().testbed).group, "batchjob.gcr.io");
  EXPECT_EQ(kind_of(alias_kinds().testbed).group, "esi.tu-berlin.de");
  EXPECT_EQ(kind_of(thesis_kinds().ledger).group, "berth.dev");
  EXPECT_EQ(kind_of(alias_kinds().scheduling).plural, "schedulings");
  EXPECT_NE(thesis_kinds().batch_job, alias_kinds().batch_job);
}

TEST(ScavengerKinds, OfTheTwoGroupsDifferInTheJobAlone) {
  EXPECT_EQ(kind_of(scavenger_kinds().job).api_version(), "berth.dev/v1alpha1");
  EXPECT_EQ(kind_of(cerit_kinds().job).api_version(), "core.cerit.cz/v1");
  EXPECT_NE(scavenger_kinds().job, cerit_kinds().job);
  EXPECT_EQ(scavenger_kinds().gromacs, cerit_kinds().gromacs);
  EXPECT_FALSE(kind_of(scavenger_kinds().policy).namespaced);
  EXPECT_TRUE(kind_of(scavenger_kinds().quota).namespaced);
}

TEST(ScavengerKinds, R16_KeepNoFieldThatTheyDoNotKnow) {
  for (const KindSpec& kind : {scavenger_job_kind(), scavenger_policy_kind(),
                               scavenger_quota_kind(), gromacs_to_tune_kind()})
    EXPECT_EQ(kind.crd().find("x-kubernetes-preserve-unknown-fields"), std::string::npos)
        << kind.kind();
}

TEST(ScavengerKinds, R5_ClassesLieBelowEveryPodThatWasThereBefore) {
  EXPECT_LT(kStarvedPriority, 0);
  EXPECT_LT(kScavengerPriority, kStarvedPriority);
  int never = 0;
  for (const std::string& manifest : our_first_objects()) {
    const auto object = Object::parse(manifest);
    ASSERT_TRUE(object) << manifest;
    if (object->kind() != kPriorityClass || !object->name().starts_with("scavenger")) continue;
    EXPECT_TRUE(object->member("preemptionPolicy").equals("Never"));
    ++never;
  }
  EXPECT_EQ(never, 2);
}

TEST(BuiltInFields, TellEverythingThatATableTells) {
  const std::string text = built_in("job", *find_message("io.k8s.api.batch.v1.JobSpec")).schema();
  const json::Slice schema(text);
  const json::Slice pod = schema["properties"]["template"]["properties"]["spec"]["properties"];
  const json::Slice containers = pod["containers"];
  EXPECT_EQ(containers["x-kubernetes-list-type"].text(), "map");
  const json::Slice container = containers["items"]["properties"];
  EXPECT_TRUE(container["resources"]["properties"]["limits"]["additionalProperties"]
                       ["x-kubernetes-int-or-string"]
                           .boolean());
  EXPECT_EQ(container["ports"]["items"]["properties"]["protocol"]["default"].text(), "TCP");
  EXPECT_TRUE(pod["volumes"]["items"]["properties"]["hostPath"]);
  EXPECT_EQ(pod["activeDeadlineSeconds"]["format"].text(), "int64");
  EXPECT_TRUE(schema["properties"]["template"]["properties"]["metadata"]["properties"]
                    ["creationTimestamp"]["nullable"]
                        .boolean());
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

TEST(ScavengerPolicyView, HasADefaultForEverything) {
  const Object empty = parsed(scavenger_kinds().policy, R"({"metadata":{"name":"default"}})");
  for (const Object* policy : {static_cast<const Object*>(nullptr), &empty}) {
    const ScavengerPolicy read = read_scavenger_policy(policy);
    EXPECT_EQ(read.threshold_percent, 70);
    EXPECT_EQ(read.threshold_scope, "Cluster");
    EXPECT_EQ(read.adaptive_reserve_percent, std::nullopt);
    EXPECT_EQ(read.steps, 3);
    EXPECT_EQ(read.window(std::nullopt), 30min);
    EXPECT_EQ(read.gib_milli, 125);
    EXPECT_EQ(read.max_notice, 0s);
    EXPECT_TRUE(read.respect_pending);
    EXPECT_TRUE(read.default_limits);
    EXPECT_EQ(read.weight_of("anybody"), 1);
  }
}

TEST(ScavengerPolicyView, ReadsWhatIsGivenWithinBounds) {
  const Object policy = parsed(
      scavenger_kinds().policy,
      R"({"metadata":{"name":"default"},"spec":{"thresholdPercent":90,"thresholdScope":"Both","starvation":"Aging","respectPending":false,"fairShares":{"enabled":true,"halfLife":"1h","weights":{"ann":"2","bob":"500m","eve":"0"}},"steps":5,"windowMin":"1h","windowMax":"10m","weights":{"core":"2","gpu":8},"maxNotice":"30s","scavengerPdbs":"Honour","regulator":{"enabled":true,"upperPercent":80},"defaultLimits":false}})");
  const ScavengerPolicy read = read_scavenger_policy(&policy);
  EXPECT_EQ(read.threshold_percent, 90);
  EXPECT_EQ(read.threshold_scope, "Both");
  EXPECT_EQ(read.starvation, "Aging");
  EXPECT_FALSE(read.respect_pending);
  EXPECT_EQ(read.half_life, 1h);
  EXPECT_EQ(read.weight_of("ann"), 2);
  EXPECT_EQ(read.weight_of("bob"), 0.5);
  EXPECT_GT(read.weight_of("eve"), 0) << "shares are divided by it";
  EXPECT_EQ(read.window(2h), 1h) << "the longest window is at least the shortest";
  EXPECT_EQ(read.core_milli, 2'000);
  EXPECT_EQ(read.gpu_milli, 8'000);
  EXPECT_EQ(read.max_notice, 30s);
  EXPECT_TRUE(read.honour_pdbs);
  EXPECT_EQ(read.upper_percent, 90) << "never below the threshold";
  EXPECT_FALSE(read.default_limits);
}

TEST(ScavengerQuotaView, CountsAllGpusAsOne) {
  const ScavengerQuotaView view(parsed(
      scavenger_kinds().quota,
      R"({"metadata":{"name":"q","namespace":"a"},"spec":{"maxJobs":3,"hard":{"cpu":"8","gpu":2},"weight":"1500m"}})"));
  EXPECT_EQ(view.max_jobs(), 3);
  EXPECT_EQ(view.hard().at("gpu").value(), 2);
  EXPECT_EQ(view.weight(), 1.5);
  const ResourceList counted = ScavengerQuotaView::counted({{"cpu", Quantity::of(4)},
                                                            {"nvidia.com/gpu", Quantity::of(1)},
                                                            {"amd.com/gpu", Quantity::of(2)}});
  EXPECT_EQ(counted.at("gpu").value(), 3);
  EXPECT_EQ(counted.count("memory"), 0u);
}

TEST(ScavengerJobView, ReadsWindowMountsAndAttempts) {
  const ScavengerJobView view(parsed(
      scavenger_kinds().job,
      R"({"metadata":{"name":"a","namespace":"x"},"spec":{"image":"i","duration":"30m","checkpoint":{"interval":"5m","maxNotice":"20s"},"configMaps":[{"name":"c","mountPath":"/c","readOnly":true}],"replicas":4},"status":{"attempt":2,"closedAttempt":1,"jobUid":"u"}})"));
  EXPECT_EQ(view.duration(), 30min);
  EXPECT_EQ(view.checkpoint().interval, 5min);
  EXPECT_EQ(view.checkpoint().max_notice, 20s);
  EXPECT_EQ(view.mounted("configMaps").at(0).mount_path, "/c");
  EXPECT_TRUE(view.open());
  EXPECT_EQ(view.phase(), "Pending");
  EXPECT_EQ(view.replicas(), 4);
}

}  // namespace
}  // namespace berth::kube
