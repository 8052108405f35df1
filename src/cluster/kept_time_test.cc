// SPDX-License-Identifier: Apache-2.0
#include "cluster/kept_time.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"

namespace berth::cluster {
namespace {

using ::testing::HasSubstr;

class KeptTime : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "berth-time-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<TimeKeeper> keeper() {
    return std::make_unique<TimeKeeper>(
        real.loop("world"), std::shared_ptr<const Clock>(std::shared_ptr<void>(), &real.clock()),
        file(), Logger(stderr_sink(), real.clock(), LogLevel::kError));
  }
  std::filesystem::path file() const { return folder / "time"; }

  World real{1};
  std::filesystem::path folder;
};

TEST_F(KeptTime, IsLongAgoWhereNothingWasKept) { EXPECT_EQ(kept_time(file()), WallTime{}); }

TEST_F(KeptTime, LosesASecondAtMostToAKillAndNothingToAnEnd) {
  auto keeping = keeper();
  real.run_for(10s + 300ms);
  EXPECT_EQ(kept_time(file()), World::kNewYear2026 + 10s);
  keeping.reset();
  EXPECT_EQ(kept_time(file()), World::kNewYear2026 + 10s + 300ms);
}

TEST_F(KeptTime, SaysWhichFileIsSpoilt) {
  std::ofstream(file()) << "noon";
  const auto kept = kept_time(file());
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr(file().string()));
}

}  // namespace
}  // namespace berth::cluster
