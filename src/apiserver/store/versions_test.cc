// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/versions.h"

#include <gtest/gtest.h>

#include "apiserver/store/crc32c.h"

namespace berth::apiserver {
namespace {

std::vector<kube::Revision> answers(const VersionChain& chain, kube::Revision up_to) {
  std::vector<kube::Revision> out;
  for (kube::Revision r = 1; r <= up_to; ++r) {
    const Version* version = chain.at(r);
    out.push_back(version == nullptr ? 0 : version->revision);
  }
  return out;
}

TEST(VersionChain, AnswersEveryRevisionWithTheNewestNotAbove) {
  VersionChain chain;
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(chain.at(9), nullptr);
  for (const kube::Revision r : {2, 3, 6}) chain.push({r});
  EXPECT_EQ(answers(chain, 7), (std::vector<kube::Revision>{0, 2, 3, 3, 3, 6, 6}));
  EXPECT_EQ(chain.pop().revision, 6u);
  EXPECT_EQ(answers(chain, 7), (std::vector<kube::Revision>{0, 2, 3, 3, 3, 3, 3}));
}

TEST(VersionChain, KeepsWhatTheFloorStillNeeds) {
  VersionChain chain;
  for (kube::Revision r = 1; r <= 1000; ++r) chain.push({2 * r});
  std::vector<kube::Revision> dropped;
  for (kube::Revision floor = 1; floor <= 1999; ++floor) {
    chain.drop_below(floor, [&](const Version& v) { dropped.push_back(v.revision); });
    const Version* at = chain.at(floor);
    ASSERT_EQ(at == nullptr ? 0 : at->revision, floor / 2 * 2) << floor;
  }
  ASSERT_EQ(dropped.size(), 998u);  // 1998 and 2000 are left
  EXPECT_EQ(dropped.front(), 2u);
  EXPECT_EQ(dropped.back(), 1996u);
  EXPECT_EQ(chain.size(), 2u);
  chain.drop_below(5000, [](const Version&) {});
  EXPECT_EQ(chain.size(), 1u);
  EXPECT_EQ(chain.newest().revision, 2000u);
}

TEST(Crc32c, GivesTheKnownSumsWithAndWithoutTheProcessorsHelp) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  std::string text;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(text), crc32c_by_table(text)) << i;
    EXPECT_EQ(crc32c(text.substr(text.size() / 3), crc32c(text.substr(0, text.size() / 3))),
              crc32c(text));
    text += static_cast<char>(i * 7);
  }
}

}  // namespace
}  // namespace berth::apiserver
