// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/lines.h"

#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/gzip.h"

namespace berth::scheduler {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& bytes) {
  std::istringstream in(bytes);
  LineReader reader(in);
  std::vector<std::string> all;
  while (true) {
    const auto line = reader.next();
    if (!line) {
      all.push_back("error");
      return all;
    }
    if (!*line) return all;
    all.push_back(std::to_string(reader.number()) + ":" + std::string(**line));
  }
}

TEST(LineReader, GivesLinesWithTheirNumbers) {
  EXPECT_THAT(lines_of("a\n\n  \nb\r\nc"), ElementsAre("1:a", "4:b\r", "5:c"));
  EXPECT_THAT(lines_of(""), ElementsAre());
  EXPECT_THAT(lines_of("\n"), ElementsAre());
}

TEST(LineReader, ReadsGzipOfSeveralMembers) {
  EXPECT_THAT(lines_of(net::gzip("a\nb") + net::gzip("c\nd\n")), ElementsAre("1:a", "2:bc", "3:d"));
}

TEST(LineReader, LinesMayBeLongerThanABlock) {
  const std::string longer(300'000, 'x');
  EXPECT_THAT(lines_of(longer + "\nb\n"), ElementsAre("1:" + longer, "2:b"));
  EXPECT_THAT(lines_of(net::gzip(longer + "\n" + longer)),
              ElementsAre("1:" + longer, "2:" + longer));
}

TEST(LineReader, GzipThatIsCutShortIsAnError) {
  const std::string whole = net::gzip("a\nb\n");
  const std::vector<std::string> got = lines_of(whole.substr(0, whole.size() - 4));
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got.back(), "error");
}

}  // namespace
}  // namespace berth::scheduler
