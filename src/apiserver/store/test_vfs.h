// SPDX-License-Identifier: Apache-2.0
// A file system for SQLite with as much room as a test gives it.
#pragma once

#include <cstdint>

namespace berth::apiserver {

// Registered as "room". What is there may be overwritten; growing takes from the room. One at a
// time.
class TestVfs {
 public:
  TestVfs();
  ~TestVfs();
  TestVfs(const TestVfs&) = delete;
  TestVfs& operator=(const TestVfs&) = delete;
  static constexpr const char* kName = "room";
  static constexpr std::int64_t kEndless = INT64_MAX / 2;
  void set_room(std::int64_t bytes);
};

}  // namespace berth::apiserver
