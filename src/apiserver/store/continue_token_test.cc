// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/continue_token.h"

#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

TEST(ContinueToken, IsWrittenAsTheRealServerWritesIt) {
  // base64url of {"v":"meta.k8s.io/v1","rv":42,"start":"default/web\u0000"}, as Go's encoder has it
  EXPECT_EQ((ContinueToken{42, std::string("default/web\0", 12)}.text()),
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDIsInN0YXJ0IjoiZGVmYXVsdC93ZWJcdTAwMDAifQ");
}

TEST(ContinueToken, ReadsWhatItWrote) {
  for (const std::string& start :
       {std::string("a"), std::string("default/web\0", 12), std::string("x-y.z/ü")}) {
    const Result<ContinueToken> read = ContinueToken::parse(ContinueToken{-1, start}.text());
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->revision, -1);
    EXPECT_EQ(read->start, start);
  }
}

TEST(ContinueToken, OthersAreRefusedInTheRealServersWords) {
  struct Row {
    const char* token;
    const char* says;
  };
  const Row rows[] = {
      {"!", "invalid continue token: continue key is not valid: illegal base64 data"},
      {"e", "invalid continue token: continue key is not valid: illegal base64 data"},
      {"e30", "server does not recognize this encoded version"},                      // {}
      {"eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "incorrect encoded start resourceVersion"},  // no rv
      {"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0", "encoded start key empty"},         // no start
      // {"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/x"}
      {"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9zZWNyZXRzL3gifQ", "../secrets/x"},
      {"W10", "not an object"},  // []
  };
  for (const Row& row : rows) {
    const Result<ContinueToken> read = ContinueToken::parse(row.token);
    ASSERT_FALSE(read.has_value()) << row.token;
    EXPECT_EQ(read.error().reason, Reason::kBadRequest);
    EXPECT_NE(read.error().message.find(row.says), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace berth::apiserver
