// SPDX-License-Identifier: Apache-2.0
// Berth's own definitions on the real kube-apiserver: what the embedded server says of them, the
// real one says too.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"
#include "kube/ours/ours.h"
#include "kube/pod_view.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

class RealOurKinds : public SharedPlane {
 protected:
  void SetUp() override {
    SharedPlane::SetUp();
    if (IsSkipped()) return;
    for (const kube::KindSpec& kind : kube::our_kinds()) {
      const auto made = admin().create(kube::kCustomResourceDefinition, "", kind.crd());
      ASSERT_TRUE(made || made.error().reason == Reason::kAlreadyExists)
          << kind.crd_name() << ": " << made.error().message;
    }
    for (const kube::KindSpec& kind : kube::our_kinds()) {
      kubectl({"--kubeconfig=" + plane().kubeconfig().string(), "wait", "--timeout=60s",
               "--for=condition=Established", "crd/" + kind.crd_name()});
      const auto now = admin().get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
      ASSERT_TRUE(now) << now.error().message;
      EXPECT_FALSE(kube::find_condition(now->status(), "NonStructuralSchema").present());
    }
  }
  std::string apply(const std::string& manifest) {
    const auto object = kube::Object::parse(manifest);
    if (!object) return object.error().message;
    const auto made = admin().create(object->kind(), "default", manifest,
                                     {.field_validation = kube::FieldValidation::kStrict});
    return made ? "" : made.error().message;
  }
};

TEST_F(RealOurKinds, ESI_001_TheListingsOfTheThesisApplyUnchanged) {
  for (const char* name : {"4.1-batch-job", "4.2-testbed", "4.3-scheduling"}) {
    std::ifstream in(fmt::format(BERTH_SOURCE_DIR "/examples/thesis/listing-{}.yaml", name));
    std::ostringstream text;
    text << in.rdbuf();
    const auto json = json::yaml_document_to_json(text.str());
    ASSERT_TRUE(json) << name;
    EXPECT_EQ(apply(*json), "") << name;
  }
}

TEST_F(RealOurKinds, ESI_002_ESI_012_WhatASchemaCanForbidIsForbidden) {
  const auto of = [](std::string_view kind, std::string_view group, std::string_view spec) {
    return fmt::format(
        R"({{"apiVersion":"{}/v1alpha1","kind":"{}","metadata":{{"name":"x","namespace":"default"}},"spec":{{{}}}}})",
        group, kind, spec);
  };
  EXPECT_NE(apply(of("BatchJob", kube::kThesisGroup, R"("sparkSpec":{},"flinkSpec":{})")), "");
  EXPECT_NE(apply(of("BatchJob", kube::kAliasGroup, R"("externalScheduler":{})")), "");
  EXPECT_NE(apply(of("Scheduling", kube::kThesisGroup, R"("queueBased":[{"name":"a"}])")), "");
  EXPECT_NE(apply(of("Scheduling", kube::kThesisGroup, R"("testbed":{"name":"tb"})")), "");
  EXPECT_NE(apply(of("Testbed", kube::kThesisGroup, R"("nodeLabel":"l","slotsPerNode":2)")), "");
  EXPECT_NE(
      apply(of(
          "SlotLedger", "berth.dev",
          R"("grants":[{"id":"a-1","job":"d/a"}],"slots":[{"slot":0,"grant":"a-1"},{"slot":0,"grant":"a-1"}])")),
      "");
}

TEST_F(RealOurKinds, R10_R16_R17_R46_ScavengerJobsAreHeldToTheSame) {
  auto job = [&, made = 0](std::string_view spec) mutable {
    return apply(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"sj{}","namespace":"default"}},"spec":{{{}}}}})",
        ++made, spec));
  };
  EXPECT_EQ(job(R"("image":"i","resources":{"requests":{"cpu":"2"}},"duration":"30m")"), "");
  EXPECT_EQ(
      job(R"("job":{"template":{"metadata":{"creationTimestamp":null,"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":1}},"livenessProbe":{"httpGet":{"port":"web"}}}]}}})"),
      "");
  EXPECT_EQ(
      job(R"("image":"i","resources":{"requests":{"cpu":1,"memory":"1Gi"},"limits":{"cpu":"1500m","memory":"1Gi"}})"),
      "");
  const auto refused = [&](std::string_view spec, const char* why) {
    EXPECT_THAT(job(spec), testing::HasSubstr(why)) << spec;
  };
  refused(R"("duration":"30m")",
          R"(spec: Invalid value: exactly one of image, job and mpi must be given)");
  refused(R"("image":"i","duration":"0s")",
          R"(spec.duration: Invalid value: "0s": must be more than 0s)");
  refused(R"("image":"i","duration":"30m","checkpoint":{"interval":"30m"})",
          R"(spec.checkpoint.interval: Invalid value: must be less than duration)");
  refused(R"("image":"i","resources":{"requests":{"cpu":2},"limits":{"cpu":"1500m"}})",
          R"(spec.resources.requests: Invalid value: must not be more than limits)");
  refused(
      R"("job":{"template":{"spec":{"containers":[{"name":"c","image":"i"}],"priorityClassName":"x"}}})",
      "spec.job.template.spec: Forbidden: priorityClassName, priority");
  refused(
      R"("job":{"template":{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"b","hostPath":{"path":"/"}}]}}})",
      "spec.job.template.spec.volumes[0].hostPath: Forbidden: a scavenger may not use paths");
  EXPECT_NE(job(R"("image":"i","mpi":{"image":"i","launcher":{}})"), "");
  EXPECT_NE(job(R"("image":"i","duration":"soon")"), "");
  EXPECT_NE(job(R"("image":"i","nonsense":1)"), "");
  EXPECT_NE(job(R"("job":{"template":{"spec":{"containers":[{"name":"c","nonsense":1}]}}})"), "");
}

}  // namespace
}  // namespace berth::e2e
