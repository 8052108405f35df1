// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/diagnosis.h"
#include "scheduler/plugins/plugin_bench.h"

namespace berth::scheduler {
namespace {

using namespace test;

PodBuilder claiming() {
  return pod("p").spec("resourceClaims: [{name: gpu, resourceClaimName: my-gpu}]");
}

TEST(DynamicResources, LeavesOrdinaryPodsAlone) {
  PluginBench bench("DynamicResources");
  bench.with(node("n"));
  EXPECT_TRUE(bench.as<PreEnqueue>().pre_enqueue(*pod("p").compile()).ok());
  EXPECT_TRUE(bench.skips(pod("p")));
  EXPECT_EQ(bench.raw(pod("p")), (Points{{"n", 0}}));
  const auto attempt = bench.attempt(pod("p"));
  bench.profile().prepare(attempt->cycle);
  EXPECT_TRUE(bench.as<PreBind>().pre_bind_pre_flight(attempt->cycle, "n").skipped());
}

TEST(DynamicResources, RefusesAPodWithClaimsAndSaysWhy) {
  PluginBench bench("DynamicResources");
  bench.with(node("n"));
  EXPECT_TRUE(bench.as<PreEnqueue>().pre_enqueue(*claiming().compile()).ok());
  const Status status = bench.prepare(claiming());
  EXPECT_EQ(status.code, Code::kUnresolvable);
  EXPECT_EQ(status.message(), "pod has resource claims, which Berth does not allocate yet");
}

TEST(DynamicResources, HasItsShareInTheTextOfAFailure) {
  struct Row {
    const char* name;
    PodPtr pod;
    bool prepared;
    Code code;
    const char* text;
  };
  const Row rows[] = {
      {"no claims", pod("p"), true, Code::kUnschedulable, "no new claims to deallocate"},
      {"claims", claiming(), true, Code::kUnschedulable, "still not schedulable"},
      {"its PreFilter never ran", pod("p"), false, Code::kError, "not found"},
  };
  for (const Row& row : rows) {
    PluginBench bench("DynamicResources");
    bench.with(node("n"));
    const auto attempt = bench.attempt(row.pod);
    if (row.prepared) bench.profile().prepare(attempt->cycle);
    const PostFilterResult result = bench.as<PostFilter>().post_filter(attempt->cycle, {});
    EXPECT_EQ(result.status.code, row.code) << row.name;
    EXPECT_EQ(result.status.message(), row.text) << row.name;
    EXPECT_FALSE(result.nominate.has_value());
  }
}

}  // namespace
}  // namespace berth::scheduler
