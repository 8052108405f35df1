// SPDX-License-Identifier: Apache-2.0
// How much a test does: the counts that acceptance names under the label `nightly`, a tenth of them
// on every change.
#pragma once

#include <cstdlib>

namespace berth::e2e {

inline bool nightly() { return std::getenv("BERTH_NIGHTLY") != nullptr; }
template <class T>
T scaled(T every_change, T at_night) {
  return nightly() ? at_night : every_change;
}

}  // namespace berth::e2e

// Starts a ControlPlane into `name`, or skips the test where the programs are not built.
#define BERTH_CONTROL_PLANE(name)                                           \
  auto name##_or = ::berth::e2e::ControlPlane::start();                     \
  if (!name##_or && name##_or.error().reason == ::berth::Reason::kNotFound) \
    GTEST_SKIP() << name##_or.error().message;                              \
  ASSERT_TRUE(name##_or) << name##_or.error().message;                      \
  ::berth::e2e::ControlPlane& name = **name##_or
