// SPDX-License-Identifier: Apache-2.0
// `berth up` with everything on, a client that does its work all the time, and slow ones that do
// not let go. Each test attacks; after each the neighbour has not noticed, and what the attack took
// has been given back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth_up.h"
#include "neighbour.h"
#include "tls_socket.h"

namespace berth::e2e {

// A request that keeps the rules of HTTP, and what it is answered.
struct Attack {
  std::string name;
  std::string method, target, body = {}, type = "application/json";
  int code = 400;
  std::string says = {};  // in the answer, which is a Status unless the code is below 300
};

class Hostile : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;
  void TearDown() override;

  static BerthUp& up() { return *up_; }
  static TlsCaller& admin() { return *admin_; }  // raw bytes with the administrator's certificate
  static void perform(const std::vector<Attack>&);

  std::size_t most_kib = 200'000;  // that the process may grow meanwhile

 private:
  static TempFolder* folder_;
  static BerthUp* up_;
  static Neighbour* neighbour_;
  static TlsCaller* admin_;
  static std::size_t files_at_start_;
  // Who never finishes a request, never finishes a body, never reads.
  static std::vector<std::unique_ptr<TlsSocket>>* slow_;

  std::size_t rounds_ = 0, kib_ = 0, files_ = 0;
};

}  // namespace berth::e2e
