// SPDX-License-Identifier: Apache-2.0
// Berth's own definitions on the embedded server: accepted, established, and as strict as a schema
// can be.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/crd/custom_kinds.h"
#include "apiserver/serve/test_server.h"
#include "json/yaml.h"
#include "kube/ours/ours.h"

namespace berth::apiserver {
namespace {

class OurKindsTest : public testing::Test {
 protected:
  OurKindsTest()
      : custom(scope_, server.store(), server.kinds, Logger(server.log, server.world.clock())) {
    server.world.run_until_idle(Duration{});
    EXPECT_EQ(why_not(server.create(
                  kube::kNamespace, "",
                  R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})")),
              "");
    for (const kube::KindSpec& kind : kube::our_kinds())
      EXPECT_EQ(why_not(server.create(kube::kCustomResourceDefinition, "", kind.crd())), "")
          << kind.crd_name();
    server.world.run_until_idle(std::chrono::seconds(1));
  }
  ~OurKindsTest() override {
    scope_.close({}, [] {});
    server.world.run_until_idle(std::chrono::seconds(1));
  }

  std::string apply(const std::string& manifest) {
    const auto object = kube::Object::parse(manifest);
    if (!object) return object.error().message;
    return why_not(server.create(object->kind(), "default", manifest,
                                 {.field_validation = kube::FieldValidation::kStrict}));
  }
  std::string job(std::string_view spec) {
    return apply(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"j{}"}},"spec":{{{}}}}})",
        ++made_, spec));
  }
  std::string scheduling(std::string_view spec) {
    return apply(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"s{}"}},"spec":{{{}}}}})",
        ++made_, spec));
  }
  std::string ledger(std::string_view spec) {
    return apply(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"SlotLedger","metadata":{{"name":"l{}"}},"spec":{{{}}}}})",
        ++made_, spec));
  }

  TestServer server;
  Scope scope_{server.world.loop("api"), "custom"};
  CustomKinds custom;
  int made_ = 0;
};

TEST_F(OurKindsTest, ESI_001_AreEstablishedAndStructural) {
  for (const kube::KindSpec& kind : kube::our_kinds()) {
    const auto made = server.get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
    ASSERT_EQ(why_not(made), "");
    for (const json::Slice each : made->status()["conditions"].elements()) {
      EXPECT_FALSE(each["type"].equals("NonStructuralSchema")) << kind.crd_name();
      if (each["type"].equals("Established")) {
        EXPECT_EQ(each["status"].text(), "True");
      }
    }
  }
}

TEST_F(OurKindsTest, ESI_001_TheListingsOfTheThesisApplyUnchanged) {
  for (const char* name : {"4.1-batch-job", "4.2-testbed", "4.3-scheduling"}) {
    std::ifstream in(fmt::format("examples/thesis/listing-{}.yaml", name));
    std::ostringstream text;
    text << in.rdbuf();
    const auto json = json::yaml_document_to_json(text.str());
    ASSERT_TRUE(json) << name;
    EXPECT_EQ(apply(*json), "") << name;
  }
  const auto job = server.get(kube::thesis_kinds().batch_job, {"default", "spark-crawler"});
  ASSERT_EQ(why_not(job), "");
  EXPECT_EQ(job->member("spec")["externalScheduler"]["profiler"][std::size_t{0}]["spark-pi"].text(),
            "27 (16)");
}

TEST_F(OurKindsTest, ESI_001_TheAliasGroupTakesTheSame) {
  EXPECT_EQ(
      apply(
          R"({"apiVersion":"esi.tu-berlin.de/v1alpha1","kind":"BatchJob","metadata":{"name":"a"},"spec":{"flinkSpec":{"jarFile":"x"}}})"),
      "");
}

TEST_F(OurKindsTest, ESI_002_ExactlyOneApplicationIsDescribed) {
  EXPECT_EQ(job(R"("sparkSpec":{"type":"Scala"})"), "");
  EXPECT_EQ(job(R"("flinkSpec":{"jarFile":"x"})"), "");
  EXPECT_EQ(job(R"("application":{"kind":"ray","spec":{}})"), "");
  EXPECT_NE(job(R"("sparkSpec":{},"flinkSpec":{})"), "");
  EXPECT_NE(job(R"("externalScheduler":{})"), "");
  EXPECT_NE(job(R"("sparkSpec":{},"nonsense":1)"), "");
}

TEST_F(OurKindsTest, ESI_011_ESI_012_ASchedulingHasATestbedAndOneStrategy) {
  constexpr std::string_view kOn = R"("testbed":{"name":"tb"})";
  EXPECT_EQ(scheduling(fmt::format(R"({},"queueBased":[{{"name":"a"}},{{"name":"a"}}])", kOn)), "");
  EXPECT_EQ(
      scheduling(fmt::format(
          R"({},"slotBased":{{"mode":"relaxed","jobs":[{{"name":{{"name":"a"}},"slotIds":[0,3]}}]}})",
          kOn)),
      "");
  EXPECT_NE(scheduling(R"("queueBased":[{"name":"a"}])"), "");
  EXPECT_NE(scheduling(std::string(kOn)), "");
  EXPECT_NE(scheduling(fmt::format(R"({},"queueBased":[],"slotBased":{{"jobs":[]}})", kOn)), "");
  EXPECT_NE(scheduling(fmt::format(R"({},"slotBased":{{"mode":"wild","jobs":[]}})", kOn)), "");
  EXPECT_NE(scheduling(fmt::format(
                R"({},"slotBased":{{"jobs":[{{"name":{{"name":"a"}},"slotIds":[3,3]}}]}})", kOn)),
            "");
}

TEST_F(OurKindsTest, I1_TheServerRefusesASlotThatIsGrantedTwice) {
  constexpr std::string_view kGrants =
      R"("grants":[{"id":"a-1","job":"d/a"},{"id":"b-1","job":"d/b"}])";
  EXPECT_EQ(ledger(fmt::format(
                R"({},"slots":[{{"slot":0,"grant":"a-1"}},{{"slot":1,"grant":"b-1"}}])", kGrants)),
            "");
  EXPECT_NE(ledger(fmt::format(
                R"({},"slots":[{{"slot":0,"grant":"a-1"}},{{"slot":0,"grant":"b-1"}}])", kGrants)),
            "");
}

}  // namespace
}  // namespace berth::apiserver
