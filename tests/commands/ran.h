// SPDX-License-Identifier: Apache-2.0
// The berth binary in a folder of its own, run to its end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace berth {

struct Ran {
  int code;  // 128 + the signal where one ended it: SIGALRM after 30 seconds
  std::string out, err;
};

// Thread-compatible.
class Binary : public ::testing::Test {
 protected:
  Binary();
  ~Binary() override;
  void write(const std::string& name, std::string_view text) const;
  // With the folder as working directory and home, nothing on standard input, and no cluster in the
  // environment.
  Ran berth(std::vector<std::string> arguments) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace berth
