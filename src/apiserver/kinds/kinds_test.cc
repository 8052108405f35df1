// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/kinds.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_fill.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {
namespace {

TEST(Kinds, EachHasANameOfItsOwnAndWhatAServerNeeds) {
  std::set<std::string> names;
  for (const KindRow& row : built_in_kinds()) {
    const std::string name = row.kind.api_version() + "/" + row.kind.plural;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_NE(row.name_rule, nullptr) << name;
    EXPECT_FALSE(row.verbs.empty()) << name;
    EXPECT_NE(row.schema, nullptr) << name;
    EXPECT_EQ(row.stored, !row.columns.empty()) << name;
    EXPECT_EQ(find_built_in(row.id), &row) << name;
    EXPECT_EQ(row.has_status, row.subresource("status") != nullptr) << name;
  }
  EXPECT_GE(names.size(), 60U);
}

TEST(Kinds, SelectorsReadWhatStandsInTheObject) {
  const KindRow& pods = *find_built_in(kube::kPod);
  const kube::Object pod =
      kube::Object::parse(kube::kPod,
                          R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1"},)"
                          R"("status":{"phase":"Running","podIPs":[{"ip":"1.2.3.4"}]}})")
          .value();
  const std::map<std::string, std::string> wanted = {{"spec.nodeName", "n1"},
                                                     {"status.phase", "Running"},
                                                     {"status.podIP", "1.2.3.4"},
                                                     {"spec.hostNetwork", "false"},
                                                     {"spec.schedulerName", ""}};
  std::size_t found = 0;
  for (const FieldLabel& field : pods.field_labels)
    if (const auto at = wanted.find(field.label); at != wanted.end()) {
      EXPECT_EQ(field.value(pod), at->second) << field.label;
      ++found;
    }
  EXPECT_EQ(found, wanted.size());
}

TEST(Findings, OneIsToldPlainlyAndManyInBrackets) {
  const kube::Kind& pod = kube::kind_of(kube::kPod);
  Findings findings;
  findings.required((Path("spec") / "containers")[0] / "image");
  EXPECT_EQ(findings.error(pod, "x").message,
            "Pod \"x\" is invalid: spec.containers[0].image: Required value");
  findings.invalid((Path("spec") / "limits").key("cpu"), 7, "too many");
  findings.invalid((Path("spec") / "limits").key("cpu"), 7, "too many");
  const Error error = findings.error(pod, "x");
  EXPECT_EQ(error.message,
            "Pod \"x\" is invalid: [spec.containers[0].image: Required value, "
            "spec.limits[cpu]: Invalid value: 7: too many]");
  EXPECT_EQ(error.causes.size(), 3U);
  EXPECT_EQ(findings.error(kube::kind_of(kube::kDeployment), "d").message.substr(0, 20),
            "Deployment.apps \"d\" ");
}

TEST(Cells, DurationsAreShortForPeople) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  const std::pair<Duration, std::string_view> rows[] = {
      {seconds(-5), "<invalid>"}, {seconds(-1), "0s"},        {seconds(119), "119s"},
      {seconds(120), "2m"},       {seconds(185), "3m5s"},     {minutes(10), "10m"},
      {minutes(179), "179m"},     {minutes(180), "3h"},       {minutes(200), "3h20m"},
      {hours(8), "8h"},           {hours(47), "47h"},         {hours(48), "2d"},
      {hours(50), "2d2h"},        {hours(24 * 8), "8d"},      {hours(24 * 729), "729d"},
      {hours(24 * 730), "2y"},    {hours(24 * 800), "2y70d"}, {hours(24 * 365 * 9), "9y"},
  };
  for (const auto& [duration, text] : rows) EXPECT_EQ(human_duration(duration), text);
}

TEST(PullPolicy, IsAlwaysForWhatMayMove) {
  EXPECT_EQ(pull_policy_of("nginx"), "Always");
  EXPECT_EQ(pull_policy_of("nginx:latest"), "Always");
  EXPECT_EQ(pull_policy_of("a.b:5000/x"), "Always");
  EXPECT_EQ(pull_policy_of("nginx:1"), "IfNotPresent");
  EXPECT_EQ(pull_policy_of("nginx@sha256:00"), "IfNotPresent");
  EXPECT_EQ(pull_policy_of(""), "IfNotPresent");
}

TEST(Strategy, AnUpdateKeepsWhatItMayNotTouch) {
  const KindRow& row = *find_built_in(kube::kDeployment);
  const kube::Object old =
      kube::Object::parse(kube::kDeployment,
                          R"({"metadata":{"name":"d","namespace":"n","uid":"u","generation":4,)"
                          R"("creationTimestamp":"2026-01-01T00:00:00Z","resourceVersion":"3"},)"
                          R"("spec":{"replicas":1},"status":{"replicas":1}})")
          .value();
  json::Arena arena;
  Edit edit(old, arena);
  edit.replace(json::parse(R"({"metadata":{"name":"d","generation":9},"spec":{"replicas":2},)"
                           R"("status":{"replicas":7}})",
                           arena)
                   .value());
  begin_update(row, edit);
  const kube::Object next = std::move(edit).commit(5).value();
  EXPECT_EQ(next.uid(), "u");
  EXPECT_EQ(next.generation(), 5);
  EXPECT_EQ(next.ns(), "n");
  EXPECT_EQ(next.status()["replicas"].integer(), 1);
  EXPECT_TRUE(next.created().has_value());
}

}  // namespace
}  // namespace berth::apiserver
