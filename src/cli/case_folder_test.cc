// SPDX-License-Identifier: Apache-2.0
#include "cli/case_folder.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

class CaseFolderTest : public testing::Test {
 protected:
  CaseFolderTest() {
    path_ = testing::TempDir() + "cases-" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~CaseFolderTest() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(CaseFolderTest, WritesEachCaseIntoAFileOfItsOwn) {
  CaseFolder folder(path_);
  ASSERT_TRUE(folder.usable());
  const Result<std::string> first = folder.write("default/web", "one\n");
  const Result<std::string> second = folder.write("default/web", "two\n");
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  std::ifstream in(*first);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), "one\n");
}

TEST_F(CaseFolderTest, StopsWhenThereAreEnough) {
  CaseFolder folder(path_);
  for (int i = 0; i < CaseFolder::kMost; ++i) ASSERT_TRUE(folder.write("default/web", "x"));
  EXPECT_FALSE(folder.write("default/web", "x"));
  const std::filesystem::directory_iterator files(path_);
  EXPECT_EQ(std::distance(begin(files), end(files)), CaseFolder::kMost);
}

TEST_F(CaseFolderTest, AFolderThatIsNotThereIsToldBeforeAnythingStarts) {
  EXPECT_FALSE(CaseFolder(path_ + "/nowhere").usable());
  EXPECT_FALSE(CaseFolder(path_ + "/nowhere").write("default/web", "x"));
}

}  // namespace
}  // namespace berth::cli
