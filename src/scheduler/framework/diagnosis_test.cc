// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/diagnosis.h"

#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

class FitError : public ::testing::Test {
 protected:
  // `count` more rows with this verdict.
  void rows(std::uint32_t count, Code code, std::vector<std::string> reasons) {
    const ReasonId id = table_.id(static_cast<PluginId>(0), code, std::move(reasons));
    diagnosis_.by_row.insert(diagnosis_.by_row.end(), count, id);
    diagnosis_.nodes += count;
    diagnosis_.table = &table_;
  }
  ReasonTable table_;
  Diagnosis diagnosis_;
};

TEST_F(FitError, SortsCountsAsText) {
  rows(10, Code::kUnschedulable, {"Too many pods"});
  rows(2, Code::kUnresolvable, {"node(s) had untolerated taint(s)"});
  EXPECT_EQ(fit_error_text(diagnosis_, ""),
            "0/12 nodes are available: 10 Too many pods, 2 node(s) had untolerated taint(s).");
}

TEST_F(FitError, CountsEveryReasonOfANode) {
  rows(1, Code::kUnschedulable, {"Insufficient cpu", "Insufficient memory"});
  rows(1, Code::kUnschedulable, {"Insufficient cpu"});
  EXPECT_EQ(fit_error_text(diagnosis_, ""),
            "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.");
}

TEST_F(FitError, NodesWithoutAVerdictCountForTheAbsent) {
  rows(1, Code::kUnschedulable, {"Insufficient cpu"});
  diagnosis_.nodes = 4;
  diagnosis_.by_row.resize(4);
  diagnosis_.absent = Status::unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]");
  EXPECT_EQ(fit_error_text(diagnosis_, ""),
            "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) "
            "[NodeAffinity].");
  EXPECT_FALSE(diagnosis_.explicit_verdict(3));
  EXPECT_EQ(diagnosis_.status(3).code, Code::kUnresolvable);
  EXPECT_EQ(diagnosis_.status(0).code, Code::kUnschedulable);
}

TEST_F(FitError, ExtendersSpeakForTheirNodes) {
  rows(2, Code::kUnschedulable, {"Insufficient cpu"});
  diagnosis_.other.resize(2);
  diagnosis_.other[1] = Status::unschedulable("too far away");
  EXPECT_EQ(fit_error_text(diagnosis_, ""),
            "0/2 nodes are available: 1 Insufficient cpu, 1 too far away.");
}

TEST_F(FitError, APodRefusedAsAWholeSaysSoOnce) {
  diagnosis_.nodes = 3;
  diagnosis_.prefilter = Status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
  diagnosis_.absent = *diagnosis_.prefilter;
  EXPECT_EQ(fit_error_text(diagnosis_, "not found"),
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found");
}

TEST_F(FitError, WithoutReasonsOnlyTheNumberAndWhatPostFilterSays) {
  diagnosis_.nodes = 1;
  EXPECT_EQ(fit_error_text(diagnosis_, ""), "0/1 nodes are available:");
  EXPECT_EQ(fit_error_text(diagnosis_, "preemption: none"),
            "0/1 nodes are available: preemption: none");
}

}  // namespace
}  // namespace berth::scheduler
