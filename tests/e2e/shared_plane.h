// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "control_plane.h"
#include "session.h"

namespace berth::e2e {

// A suite whose tests share one control plane, each in a namespace of its own.
class SharedPlane : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;  // skips where the programs are not built
  void TearDown() override;

  ControlPlane& plane() { return *plane_; }
  Session& admin() { return *admin_; }
  const std::string& ns() const { return ns_; }
  kube::Key key(std::string name) const { return {ns_, std::move(name)}; }
  // Runs kubectl and expects it to succeed; the answer is its output.
  std::string kubectl(std::vector<std::string> args);

 private:
  static inline std::unique_ptr<ControlPlane> plane_;
  static inline std::string why_not_;
  static inline bool broken_ = false;
  std::unique_ptr<Session> admin_;
  std::string ns_;
};

}  // namespace berth::e2e
