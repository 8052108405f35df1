// SPDX-License-Identifier: Apache-2.0
// Testbeds in a whole cluster: its scheduler, its nodes, and others who want the same room.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster/lab_for_test.h"
#include "json/yaml.h"
#include "kube/ours/ours.h"

namespace berth::cluster {
namespace {

void number_nodes(Lab& lab, int nodes, std::string_view label) {
  for (int i = 0; i < nodes; ++i)
    lab.api->patch(kube::kNode, {"", fmt::format("node-{}", i)},
                   fmt::format(R"({{"metadata":{{"labels":{{"{}":"{}"}}}}}})", label, i),
                   kube::PatchType::kMerge,
                   lab.scope->done<kube::Object>(60s, [](const auto& done) { EXPECT_TRUE(done); }));
}
// The thesis' listings as they are, and the job that the last of them names besides.
void apply_listings(Lab& lab) {
  for (const char* name : {"4.1-batch-job", "4.2-testbed", "4.3-scheduling"}) {
    std::ifstream in(fmt::format("examples/thesis/listing-{}.yaml", name));
    std::ostringstream text;
    text << in.rdbuf();
    const auto json = json::yaml_document_to_json(text.str());
    ASSERT_TRUE(json) << name;
    lab.create(*json, "default");
  }
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"batchjob-spark","namespace":"default"},"spec":{"sparkSpec":{"type":"Scala"}}})");
}
// Every job has run once, on two slots, and all is given back.
void expect_listings_carried_out(Lab& lab) {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  const auto schedulings = lab.list(kinds.scheduling);
  ASSERT_EQ(schedulings.size(), 1u);
  EXPECT_EQ(schedulings[0].status()["state"].text(), "Completed");
  EXPECT_TRUE(schedulings[0].status()["acquiredTime"].present());
  const auto jobs = lab.list(kinds.batch_job);
  ASSERT_EQ(jobs.size(), 2u);
  for (const kube::Object& job : jobs) {
    ASSERT_EQ(job.status()["scheduledEvents"].size(), 1u) << job.name();
    const json::Slice run = job.status()["scheduledEvents"][std::size_t{0}];
    EXPECT_TRUE(run["successful"].boolean()) << job.name();
    EXPECT_EQ(run["pods"].size(), 2u) << job.name();
    EXPECT_EQ(run["slotIds"].raw(), job.name() == "spark-crawler" ? "[0,3]" : "[1,2]");
    // Each in a slot of its own: with two slots a node, and nodes numbered first, 0 and 3 are on
    // the first node, 1 on the second and 2 on the third.
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(run["pods"][i]["slot"].integer(), run["slotIds"][i].integer()) << job.name();
      EXPECT_EQ(run["pods"][i]["node"].text(),
                fmt::format("node-{}", run["slotIds"][i].integer().value_or(-1) % 3))
          << job.name();
    }
  }
  EXPECT_EQ(lab.list(kinds.testbed)[0].status()["slotCounts"]["free"].integer(), 6);
  EXPECT_EQ(lab.list(kinds.ledger)[0].member("spec")["grants"].size(), 0u);
}
bool is_ghost(const kube::Object& pod) {
  return running(pod) && pod.label(kube::kGhostLabel) == "true";
}

TEST(Testbeds, ESI_001_ESI_102_ESI_109_TheThesisSchedulingRunsToItsEnd) {
  Lab lab(3);
  number_nodes(lab, 3, "tuberlin.de/node-with-slots-profiler");
  apply_listings(lab);
  lab.world.run_for(3min);
  expect_listings_carried_out(lab);
}

TEST(Testbeds, ESI_133_APlainJobRunsAsABatchJob) {
  Lab lab(3);
  number_nodes(lab, 3, "tuberlin.de/tb");
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":1,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"1","memory":"1Gi"}}})");
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"sum","namespace":"default"},"spec":{"jobSpec":{"template":{"metadata":{"annotations":{"berth.dev/duration":"20s"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}})");
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{"name":"s","namespace":"default"},"spec":{"testbed":{"name":"tb"},"slotBased":{"jobs":[{"name":{"name":"sum"},"slotIds":[0,2]}]}}})");
  lab.world.run_for(2min);
  const kube::Object job = lab.list(kube::thesis_kinds().batch_job).at(0);
  EXPECT_EQ(job.status()["state"].text(), "Completed");
  const json::Slice run = job.status()["scheduledEvents"][std::size_t{0}];
  EXPECT_TRUE(run["successful"].boolean());
  EXPECT_EQ(run["slotIds"].raw(), "[0,2]");
  EXPECT_EQ(run["pods"].size(), 2u);
  EXPECT_EQ(lab.list(kube::kJob).size(), 0u) << "it goes with its run";
}

TEST(Testbeds, ESI_030_PodsThatKnowNothingOfATestbedDoNotTakeItsRoom) {
  Lab lab(3);
  number_nodes(lab, 3, "tuberlin.de/node-with-slots-profiler");
  lab.world.run_for(10s);
  apply_listings(lab);
  lab.world.run_for(3s);
  lab.create(job_json("crowd", 120, "1h"));  // of one cpu each, more than there is
  lab.world.run_for(5min);
  EXPECT_EQ(lab.count(kube::kPod, is_ghost), 6u);
  const auto waits = [](const kube::Object& pod) {
    return pod.member("spec")["nodeName"].text().empty();
  };
  EXPECT_GT(lab.count(kube::kPod, waits), 0u) << "the crowd must not fit";
  expect_listings_carried_out(lab);
}

TEST(Testbeds, ESI_006_ESI_020_HoldsTheSlotsOfATestbed) {
  Lab lab(3);
  number_nodes(lab, 3, "tuberlin.de/tb");
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":2,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"750m","memory":"1Gi"}}})");
  lab.world.run_for(1min);
  const auto ghost = [](const kube::Object& pod) {
    return running(pod) && pod.label(kube::kGhostLabel) == "true" &&
           pod.member("spec")["priority"].integer() == kube::kGhostPriority;
  };
  EXPECT_EQ(lab.count(kube::kPod, ghost), 6u);
  const std::vector<kube::Object> testbeds = lab.list(kinds.testbed);
  ASSERT_EQ(testbeds.size(), 1u);
  EXPECT_EQ(testbeds[0].status()["state"].text(), "SUCCESS");
  EXPECT_EQ(testbeds[0].status()["slotCounts"]["free"].integer(), 6);
  EXPECT_EQ(lab.list(kinds.ledger).size(), 1u);
}

TEST(Testbeds, ESI_024_ScavengersGiveWayToTheSlotsOfATestbed) {
  Lab lab(1);
  number_nodes(lab, 1, "tuberlin.de/tb");
  for (int i = 0; i < 11; ++i)  // of a node's 16 cores, within the threshold
    lab.create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"s{}","namespace":"default"}},"spec":{{"completionProof":"ExitCodeOnly","job":{{"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"1h"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}}}}}}})",
        i));
  lab.world.run_for(2min);
  const auto scavenges = [](const kube::Object& pod) {
    return running(pod) && !pod.label(kube::kScavengerLabel).empty();
  };
  ASSERT_EQ(lab.count(kube::kPod, scavenges), 11u);
  lab.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":2,"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{"cpu":"4","memory":"1Gi"}}})");
  lab.world.run_for(2min);
  const kube::Object testbed = lab.list(kube::thesis_kinds().testbed).at(0);
  EXPECT_EQ(testbed.status()["slotCounts"]["free"].integer(), 2) << testbed.status().raw();
  EXPECT_LE(lab.count(kube::kPod, scavenges), 8u);
}

}  // namespace
}  // namespace berth::cluster
