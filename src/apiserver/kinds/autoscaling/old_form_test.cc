// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/autoscaling/old_form.h"

#include <gtest/gtest.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kinds.h"
#include "kube/kind.h"

namespace berth::apiserver {
namespace {

kube::Object stored(std::string_view json) {
  json::Arena arena;
  built_in_kinds();  // so that the old kind is known
  return Edit(kube::kHorizontalPodAutoscaler, json::parse_good(json, arena), arena)
      .commit(7)
      .value();
}

TEST(OldAutoscaler, HasTheShareOfCpuAsItsOwnField) {
  const kube::Object old =
      autoscaler_in_old_form(
          stored(
              R"({"metadata":{"name":"h","namespace":"n","uid":"u"},"spec":{"scaleTargetRef":)"
              R"({"kind":"Deployment","name":"d"},"maxReplicas":3,"metrics":[{"type":"Resource",)"
              R"("resource":{"name":"cpu","target":{"type":"Utilization",)"
              R"("averageUtilization":50}}}]},"status":{"currentReplicas":1}})"))
          .value();
  EXPECT_EQ(kube::kind_of(old.kind()).version, "v1");
  EXPECT_EQ(old.member("spec")["targetCPUUtilizationPercentage"].integer(), 50);
  EXPECT_FALSE(old.member("spec")["metrics"].present());
  EXPECT_EQ(old.annotations().size(), 0u);
}

TEST(OldAutoscaler, CarriesWhatItHasNoFieldForThereAndBack) {
  for (const std::string_view metric : {
           R"({"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue",)"
           R"("averageValue":"5"}}})",
           R"({"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},)"
           R"("target":{"type":"AverageValue","averageValue":"2"},"metric":{"name":"m"}}})",
           R"({"type":"ContainerResource","containerResource":{"name":"memory","target":)"
           R"({"type":"Utilization","averageUtilization":60},"container":"main"}})",
           R"({"type":"External","external":{"metric":{"name":"q","selector":{"matchLabels":)"
           R"({"a":"b"}}},"target":{"type":"Value","value":"30"}}})",
       }) {
    const kube::Object before =
        stored(std::string(R"({"metadata":{"name":"h","namespace":"n","uid":"u"},"spec":)"
                           R"({"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,)"
                           R"("metrics":[)") +
               std::string(metric) +
               R"(],"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}},"status":{}})");
    const kube::Object old = autoscaler_in_old_form(before).value();
    EXPECT_FALSE(old.member("spec")["behavior"].present()) << metric;
    EXPECT_EQ(old.annotations()["autoscaling.alpha.kubernetes.io/behavior"].text(),
              R"({"ScaleDown":{"StabilizationWindowSeconds":60}})");
    const kube::Object after = autoscaler_as_stored(old).value();
    EXPECT_EQ(after.annotations().size(), 0u) << metric;
    json::Arena arena;
    for (const std::string_view member : {"metrics", "behavior"})
      EXPECT_TRUE(json::equal(json::parse_good(before.member("spec")[member].raw(), arena),
                              json::parse_good(after.member("spec")[member].raw(), arena)))
          << after.json();
  }
}

TEST(OldAutoscaler, WatchesCpuWhenItSaysNothing) {
  json::Arena arena;
  json::Value document =
      json::parse_good(R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3}})", arena);
  autoscaler_from_old_form(document.as_object());
  EXPECT_EQ(
      Peek(document)["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"].integer_or(
          0),
      80);
}

}  // namespace
}  // namespace berth::apiserver
