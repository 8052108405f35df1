// SPDX-License-Identifier: Apache-2.0
// Berth's own definitions on the embedded server: accepted, established, and as strict as a schema
// can be.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
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
  std::string scavenger(std::string_view spec, std::string_view version = "berth.dev/v1alpha1") {
    return apply(fmt::format(
        R"({{"apiVersion":"{}","kind":"ScavengerJob","metadata":{{"name":"sj{}"}},"spec":{{{}}}}})",
        version, ++made_, spec));
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

// As people write Jobs, and as clients print them.
constexpr std::string_view kJob =
    R"("job":{"backoffLimit":0,"template":{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":1,"memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":"web"}}}],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}]}}})";

TEST_F(OurKindsTest, R10_R11_R12_R13_R14_R15_R17_AScavengerJobSaysAllThis) {
  EXPECT_EQ(
      scavenger(
          R"("image":"i","command":["a"],"args":["b"],"workingDir":"/w","env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":2,"memory":"1Gi"}},"persistentVolumeClaims":[{"name":"p","mountPath":"/p","subPath":"x"},{"name":"q","mountPath":"/q"}],"configMaps":[{"name":"c","mountPath":"/c"}],"secrets":[{"name":"s","mountPath":"/s","readOnly":true}],"replicas":4,"runAsUser":1000,"duration":"30m","checkpoint":{"interval":"5m","maxNotice":"30s"},"minRun":"5m","maxInterruptions":10,"lostNode":"Restart","completionProof":"ExitCodeOnly","elastic":{"min":{"cpu":"1"}},"estimatedRuntime":"2h","terminationGracePeriodSeconds":30)"),
      "");
  const auto stored = server.get(kube::scavenger_kinds().job, {"default", "sj1"});
  ASSERT_EQ(why_not(stored), "");
  EXPECT_EQ(stored->member("spec")["lostNode"].text(), "Restart");
  EXPECT_EQ(scavenger(R"("image":"i")"), "");
  const auto plain = server.get(kube::scavenger_kinds().job, {"default", "sj2"});
  EXPECT_EQ(plain->member("spec")["replicas"].integer(), 1);
  EXPECT_EQ(plain->member("spec")["lostNode"].text(), "Wait");
  EXPECT_EQ(plain->member("spec")["completionProof"].text(), "Message");
}

TEST_F(OurKindsTest, R10_ExactlyOneProgramIsGiven) {
  EXPECT_EQ(scavenger(R"("mpi":{"image":"i","launcher":{"command":["mpirun","x"]}},"replicas":8)"),
            "");
  EXPECT_NE(scavenger(R"("duration":"30m")"), "");
  EXPECT_NE(scavenger(fmt::format(R"("image":"i",{})", kJob)), "");
  EXPECT_NE(scavenger(R"("image":"i","mpi":{"image":"i","launcher":{}})"), "");
  EXPECT_NE(scavenger(R"("image":"")"), "");
}

TEST_F(OurKindsTest, R16_AWholeJobIsKeptAndUnknownFieldsAreNot) {
  EXPECT_EQ(scavenger(kJob), "");
  const auto stored = server.get(kube::scavenger_kinds().job, {"default", "sj1"});
  ASSERT_EQ(why_not(stored), "");
  const json::Slice pod = stored->member("spec")["job"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][std::size_t{0}]["ports"][std::size_t{0}]["protocol"].text(), "TCP");
  EXPECT_EQ(pod["volumes"][std::size_t{0}]["emptyDir"]["sizeLimit"].text(), "1Gi");
  EXPECT_EQ(scavenger(kJob, "core.cerit.cz/v1"), "");
  EXPECT_NE(scavenger(R"("job":{"template":{"spec":{"containers":[{"name":"c","nonsense":1}]}}})"),
            "");
  EXPECT_NE(scavenger(R"("image":"i","nonsense":1)"), "");
}

TEST_F(OurKindsTest, R17_R46_BoundsHoldWithoutAWebhook) {
  EXPECT_NE(scavenger(R"("image":"i","duration":"soon")"), "");
  EXPECT_NE(scavenger(R"("image":"i","duration":"-5m")"), "");
  EXPECT_NE(scavenger(R"("image":"i","replicas":0)"), "");
  EXPECT_NE(scavenger(R"("image":"i","replicas":1001)"), "");
  EXPECT_NE(scavenger(R"("image":"i","resources":{"requests":{"cpu":"much"}})"), "");
  EXPECT_NE(
      scavenger(
          R"("image":"i","secrets":[{"name":"a","mountPath":"/x"},{"name":"b","mountPath":"/x"}])"),
      "");
  EXPECT_NE(scavenger(R"("image":"i","lostNode":"Panic")"), "");
}

TEST_F(OurKindsTest, R17_R27_R46_RulesHoldWithoutAWebhook) {
  const auto refused = [&](std::string_view spec, std::string_view why) {
    EXPECT_THAT(scavenger(spec), testing::HasSubstr(std::string(why))) << spec;
  };
  refused(R"("duration":"30m")",
          R"(spec: Invalid value: exactly one of image, job and mpi must be given)");
  refused(R"("image":"i","duration":"0s")",
          R"(spec.duration: Invalid value: "0s": must be more than 0s)");
  refused(R"("image":"i","duration":"30m","checkpoint":{"interval":"30m"})",
          R"(spec.checkpoint.interval: Invalid value: must be less than duration)");
  EXPECT_EQ(scavenger(R"("image":"i","duration":"30m","checkpoint":{"interval":"29m59s"})"), "");
  refused(fmt::format(R"({},"replicas":2)", kJob), "spec.replicas: Invalid value");
}

TEST_F(OurKindsTest, R11_RequestsAreNotMoreThanLimits) {
  struct Row {
    const char *requests, *limits;
    bool fine;
  };
  const Row rows[] = {{R"("500m")", "1", true},   {"2", "1", false},
                      {"1", R"("1")", true},      {R"("2")", R"("1500m")", false},
                      {"2", R"("1500m")", false}, {R"("1Gi")", R"("2Gi")", true},
                      {R"("2")", "1", false},     {"1", "2", true}};
  for (const Row& row : rows) {
    const std::string said = scavenger(fmt::format(
        R"("image":"i","resources":{{"requests":{{"cpu":{},"memory":1}},"limits":{{"cpu":{}}}}})",
        row.requests, row.limits));
    if (row.fine)
      EXPECT_EQ(said, "") << row.requests << " " << row.limits;
    else
      EXPECT_THAT(said,
                  testing::HasSubstr(
                      R"(spec.resources.requests: Invalid value: must not be more than limits)"))
          << row.requests << " " << row.limits;
  }
}

TEST_F(OurKindsTest, R46_AJobSaysNothingAboutItsPlaceOrPriority) {
  struct Row {
    const char *pod, *why;
  };
  const Row rows[] = {
      {R"("priorityClassName":"system-node-critical")",
       "spec.job.template.spec: Forbidden: priorityClassName, priority"},
      {R"("priority":5)", "spec.job.template.spec: Forbidden: priorityClassName, priority"},
      {R"("schedulerName":"mine")", "spec.job.template.spec: Forbidden: schedulerName, nodeName"},
      {R"("nodeName":"n1")", "spec.job.template.spec: Forbidden: schedulerName, nodeName"},
      {R"("volumes":[{"name":"a","emptyDir":{}},{"name":"b","hostPath":{"path":"/"}}])",
       "spec.job.template.spec.volumes[1].hostPath: Forbidden: a scavenger may not use paths"}};
  for (const Row& row : rows)
    EXPECT_THAT(
        scavenger(fmt::format(
            R"("job":{{"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}],{}}}}}}})",
            row.pod)),
        testing::HasSubstr(row.why));
  EXPECT_THAT(
      scavenger(
          R"("job":{"manualSelector":true,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}})"),
      testing::HasSubstr("spec.job: Forbidden: selector, manualSelector"));
}

TEST_F(OurKindsTest, R53_R60_PoliciesQuotasAndCalculationsAreServed) {
  EXPECT_THAT(
      why_not(server.create(
          kube::scavenger_kinds().policy, "",
          R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{"name":"default"},"spec":{"schedulerName":"No Name"}})")),
      testing::HasSubstr("spec.schedulerName"));
  const auto policy = server.create(
      kube::scavenger_kinds().policy, "",
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{"name":"default"},"spec":{"thresholdPercent":80,"fairShares":{"enabled":true,"weights":{"ann":2}},"weights":{"gib":"125m"},"schedulerName":"packing.scavengers"}})",
      {.field_validation = kube::FieldValidation::kStrict});
  EXPECT_EQ(why_not(policy), "");
  const auto other = server.create(
      kube::scavenger_kinds().policy, "",
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{"name":"mine"},"spec":{}})");
  EXPECT_THAT(why_not(other), testing::HasSubstr("only the ScavengerPolicy named default counts"));
  EXPECT_EQ(
      apply(
          R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerQuota","metadata":{"name":"q"},"spec":{"maxJobs":3,"hard":{"cpu":"8","gpu":1}}})"),
      "");
  EXPECT_EQ(
      apply(
          R"({"apiVersion":"berth.dev/v1alpha1","kind":"GromacsToTune","metadata":{"name":"g"},"spec":{"scavengerJob":{"image":"gromacs","command":["gmx"]},"configurations":[{"resources":{"requests":{"cpu":16}}},{"resources":{"requests":{"cpu":8}},"nsPerDay":"12.5"}]}})"),
      "");
  EXPECT_NE(
      apply(
          R"({"apiVersion":"berth.dev/v1alpha1","kind":"GromacsToTune","metadata":{"name":"h"},"spec":{"scavengerJob":{"image":"gromacs"}}})"),
      "");
  EXPECT_THAT(
      apply(
          R"({"apiVersion":"berth.dev/v1alpha1","kind":"GromacsToTune","metadata":{"name":"i"},"spec":{"scavengerJob":{"image":"gromacs","duration":"10m","checkpoint":{"interval":"20m"}},"configurations":[{"resources":{"requests":{"cpu":16}}}]}})"),
      testing::HasSubstr("spec.scavengerJob.checkpoint.interval"));
}

}  // namespace
}  // namespace berth::apiserver
