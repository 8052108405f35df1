// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Base64, EncodesAndDecodesEveryLength) {
  const std::string bytes("\x00\xff\x10 berth", 9);
  const char* expected[] = {"",         "AA==",     "AP8=",         "AP8Q",         "AP8QIA==",
                            "AP8QIGI=", "AP8QIGJl", "AP8QIGJlcg==", "AP8QIGJlcnQ=", "AP8QIGJlcnRo"};
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    EXPECT_EQ(base64(bytes.substr(0, n)), expected[n]);
    EXPECT_EQ(from_base64(expected[n]), bytes.substr(0, n));
  }
}

TEST(Base64, IsWithoutPaddingInUrls) {
  EXPECT_EQ(base64url("\xff\xfe"), "__4");
  for (std::string bytes; bytes.size() < 8; bytes += static_cast<char>(200 + bytes.size()))
    EXPECT_EQ(from_base64url(base64url(bytes)), bytes);
  EXPECT_EQ(from_base64url("_"), std::nullopt);
  EXPECT_EQ(from_base64url("__4="), std::nullopt);
  EXPECT_EQ(from_base64url("+/"), std::nullopt);
}

TEST(Base64, SkipsLineBreaks) { EXPECT_EQ(from_base64("QUJD\r\nREVG\n"), "ABCDEF"); }

TEST(Base64, RefusesWhatGoRefuses) {
  for (const char* text :
       {"QUJ", "QUJD=", "Q===", "QQ=A", "QU=D", "QU JD", "QUJ-", "====", "QQ==QQ=="})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace berth
