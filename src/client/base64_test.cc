// SPDX-License-Identifier: Apache-2.0
#include "client/base64.h"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

TEST(Base64, EncodesAndDecodesEveryLength) {
  const std::string bytes("\x00\xff\x10 berth", 9);
  const char* expected[] = {"",         "AA==",     "AP8=",         "AP8Q",         "AP8QIA==",
                            "AP8QIGI=", "AP8QIGJl", "AP8QIGJlcg==", "AP8QIGJlcnQ=", "AP8QIGJlcnRo"};
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    EXPECT_EQ(base64_encode(bytes.substr(0, n)), expected[n]);
    EXPECT_EQ(base64_decode(expected[n]), bytes.substr(0, n));
  }
}

TEST(Base64, SkipsLineBreaks) { EXPECT_EQ(base64_decode("QUJD\r\nREVG\n"), "ABCDEF"); }

TEST(Base64, RefusesWhatGoRefuses) {
  for (const char* text :
       {"QUJ", "QUJD=", "Q===", "QQ=A", "QU=D", "QU JD", "QUJ-", "====", "QQ==QQ=="})
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace berth::client
