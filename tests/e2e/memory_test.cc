// SPDX-License-Identifier: Apache-2.0
// What an informer over many pods costs: its process's resident memory, at its peak.
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control_plane.h"
#include "scale.h"
#include "session.h"

namespace berth::e2e {
namespace {
using namespace std::chrono_literals;

struct Footprint {
  std::size_t pods = 0;
  double started_mb = 0, resident_mb = 0, peak_mb = 0;
};

Footprint footprint(const ControlPlane& plane, const std::string& mode) {
  auto informer = Child::start({.program = BERTH_INFORMER,
                                .args = {plane.kubeconfig().string(), mode},
                                .env = {},
                                .log = plane.folder().path() / ("informer-" + mode + ".log")});
  EXPECT_TRUE(informer) << informer.error().message;
  EXPECT_TRUE(eventually(300s, [&] {
    const std::string log = (*informer)->log();
    return log.find("synced") != std::string::npos && log.ends_with('\n');
  })) << (*informer)->log_tail();
  Footprint out;
  std::istringstream log((*informer)->log());
  std::string word;
  log >> word >> out.started_mb >> word >> out.pods >> out.resident_mb >> out.peak_mb;
  for (double* kb : {&out.started_mb, &out.resident_mb, &out.peak_mb}) *kb /= 1024;
  return out;
}

TEST(RealMemory, FiftyThousandPodsStayUnderFourHundredMegabytes) {
  BERTH_CONTROL_PLANE(plane);
  auto session = Session::open(plane.kubeconfig());
  ASSERT_TRUE(session) << session.error().message;
  const std::size_t count = scaled<std::size_t>(5000, 50000);
  const auto created = create_pods(**session, "default", count);
  ASSERT_TRUE(created) << created.error().message << plane.log_tails();

  kube::Options one_page;
  one_page.limit = 500;
  const auto page =
      (*session)->ask<kube::ObjectList>([&](client::Api& api, Done<kube::ObjectList> done) {
        api.list(kube::kPod, "default", one_page, std::move(done));
      });
  ASSERT_TRUE(page) << page.error().message;
  std::size_t bytes = 0;
  for (const kube::Object& pod : page->items) bytes += pod.without_managed_fields().json().size();
  const double pod_bytes = static_cast<double>(bytes) / static_cast<double>(page->items.size());
  EXPECT_GE(pod_bytes, 3000) << "the pods are too small to prove anything";

  const double share = static_cast<double>(count) / 50000;
  for (const char* mode : {"stream", "list"}) {
    SCOPED_TRACE(mode);
    const Footprint cost = footprint(plane, mode);
    EXPECT_EQ(cost.pods, count);
    // A tenth of the pods may cost a tenth of the memory, on top of what the process has anyway.
    EXPECT_LT(cost.peak_mb, nightly() ? 400 : cost.started_mb + 400 * share);
    fmt::print(
        "{}: {} pods of {:.0f} bytes: {:.1f} MB resident, {:.1f} MB at the peak, {:.1f} MB "
        "before\n",
        mode, cost.pods, pod_bytes, cost.resident_mb, cost.peak_mb, cost.started_mb);
  }
}

}  // namespace
}  // namespace berth::e2e
