// SPDX-License-Identifier: Apache-2.0
#include "shared_plane.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace berth::e2e {

void SharedPlane::SetUpTestSuite() {
  auto plane = ControlPlane::start();
  if (plane) {
    plane_ = std::move(*plane);
  } else {
    why_not_ = plane.error().message;
    broken_ = plane.error().reason != Reason::kNotFound;
  }
}

void SharedPlane::TearDownTestSuite() { plane_.reset(); }

void SharedPlane::SetUp() {
  if (!plane_ && !broken_) GTEST_SKIP() << why_not_;
  ASSERT_TRUE(plane_) << why_not_;
  auto session = Session::open(plane_->kubeconfig());
  ASSERT_TRUE(session) << session.error().message;
  admin_ = std::move(*session);
  ns_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::transform(ns_.begin(), ns_.end(), ns_.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  ns_.resize(std::min<std::size_t>(ns_.size(), 60));
  while (ns_.ends_with('-')) ns_.pop_back();
  const auto made = admin_->create(
      kube::kNamespace, "",
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns_));
  ASSERT_TRUE(made) << made.error().message;
}

void SharedPlane::TearDown() {
  if (HasFailure() && plane_) fmt::print("{}\n", plane_->log_tails(10));
}

std::string SharedPlane::kubectl(std::vector<std::string> args) {
  const std::string command = fmt::format("kubectl {}", fmt::join(args, " "));
  const auto ran = run_kubectl(std::move(args), plane_->folder());
  EXPECT_TRUE(ran) << ran.error().message;
  if (!ran) return "";
  EXPECT_EQ(ran->code, 0) << command << "\n" << ran->output;
  return ran->output;
}

}  // namespace berth::e2e
