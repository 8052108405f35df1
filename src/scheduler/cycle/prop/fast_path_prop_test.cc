// SPDX-License-Identifier: Apache-2.0
// Whatever happens to the cluster, a cached decision is the plain one, and what is counted is what
// is there. BERTH_SEED=N repeats one history, BERTH_SEEDS=N runs so many.
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include "scheduler/cache/planted_fault.h"
#include "scheduler/cycle/prop/history.h"

namespace berth::scheduler {

CacheFault planted_cache_fault = CacheFault::kNone;

namespace test {
namespace {

constexpr int kSteps = 120;
constexpr std::uint64_t kHistories = 60;

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(FastPathProperty, DecidesAsThePlainPath) {
  planted_cache_fault = CacheFault::kNone;
  const std::uint64_t only = number("BERTH_SEED", 0);
  const std::uint64_t first = only == 0 ? 1 : only;
  const std::uint64_t last = only == 0 ? number("BERTH_SEEDS", kHistories) : only;
  FastPathStats all;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    History history(seed);
    ASSERT_EQ(history.run(kSteps), "") << "BERTH_SEED=" << seed << " repeats it";
    all.hits += history.stats().hits;
    all.builds += history.stats().builds;
    all.diagnoses += history.stats().diagnoses;
    for (const auto& [why, count] : history.stats().fallbacks) all.fallbacks[why] += count;
  }
  std::string text = fmt::format("{} from caches, {} built, {} refusals kept", all.hits, all.builds,
                                 all.diagnoses);
  for (const auto& [why, count] : all.fallbacks) text += fmt::format(", {} {}", count, why);
  RecordProperty("decisions", text);
  if (only != 0) return;
  EXPECT_GT(all.hits, all.fallbacks["filter_of_cluster"]) << text;
  EXPECT_GT(all.diagnoses, 0u) << text;
}

class PlantedFault : public testing::TestWithParam<std::pair<const char*, CacheFault>> {};

TEST_P(PlantedFault, IsFound) {
  planted_cache_fault = GetParam().second;
  std::uint64_t seed = 1;
  while (seed <= kHistories && History(seed).run(kSteps).empty()) ++seed;
  planted_cache_fault = CacheFault::kNone;
  EXPECT_LE(seed, kHistories) << "nobody noticed";
}

INSTANTIATE_TEST_SUITE_P(FastPath, PlantedFault,
                         testing::Values(std::pair{"SkipJournal", CacheFault::kSkipJournal},
                                         std::pair{"ForgetOnDelete", CacheFault::kForgetOnDelete},
                                         std::pair{"ForgetOnRelabel", CacheFault::kForgetOnRelabel},
                                         std::pair{"StrictBound", CacheFault::kStrictBound},
                                         std::pair{"RankWithoutStart",
                                                   CacheFault::kRankWithoutStart},
                                         std::pair{"KeepFeasible", CacheFault::kKeepFeasible},
                                         std::pair{"KeepOnRemoval", CacheFault::kKeepOnRemoval},
                                         std::pair{"KeepOwnPart", CacheFault::kKeepOwnPart}),
                         [](const auto& fault) { return fault.param.first; });

}  // namespace
}  // namespace test
}  // namespace berth::scheduler
