// SPDX-License-Identifier: Apache-2.0
#include "sweep.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "end_state.h"

namespace berth::controllers::stories {
namespace {

constexpr std::string_view kMoments[] = {"before", "committed, its answer lost", "answered"};

std::string played(const Scenario& scenario, KillAt kill, std::uint64_t* writes) {
  Lab lab({.controllers = scenario.controllers, .kill = kill, .kinds = scenario.kinds});
  scenario.play(lab);
  if (writes != nullptr) *writes = lab.writes();
  EXPECT_EQ(lab.starts(), kill.write == 0 ? 1 : 2) << "it is played the same way every time";
  return lab.end_state();
}

}  // namespace

void crash_sweep(const Scenario& scenario) {
  std::uint64_t writes = 0;
  const std::string expected = played(scenario, {}, &writes);
  ASSERT_GT(writes, 0u) << "a sweep over nothing proves nothing";
  const char* mode = std::getenv("BERTH_SWEEP");
  const bool all = mode != nullptr && std::string_view(mode) == "all";
  const char* seed = std::getenv("BERTH_SEED");
  Random draw(seed != nullptr ? std::stoull(seed) : 1);
  std::uint64_t left = 3 * writes;
  std::uint64_t wanted = all ? left : std::min(left, std::max<std::uint64_t>(3, left / 10));
  for (std::uint64_t write = 1; write <= writes; ++write)
    for (const Moment moment : {Moment::kBefore, Moment::kCommitted, Moment::kAnswered}) {
      const bool chosen = draw.below(left--) < wanted;
      if (!chosen) continue;
      --wanted;
      SCOPED_TRACE(fmt::format("killed at write {} of {}: {}", write, writes,
                               kMoments[static_cast<int>(moment)]));
      EXPECT_EQ(
          difference("expected", expected, "found", played(scenario, {write, moment}, nullptr)),
          "");
    }
}

void fault_sweep(const Scenario& scenario) {
  const std::string expected = played(scenario, {}, nullptr);
  const char* asked = std::getenv("BERTH_SEEDS");
  const char* one = std::getenv("BERTH_SEED");
  const Seed first = one != nullptr ? std::stoull(one) : 1;
  const Seed last = one != nullptr ? first : asked != nullptr ? std::stoull(asked) : 6;
  for (Seed seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Lab lab({.controllers = scenario.controllers,
             .seed = seed,
             .order = Order::kShuffled,
             .faults = {.delay = 0.2,
                        .lose_request = 0.1,
                        .lose_reply = 0.1,
                        .refuse = 0.1,
                        .slow_reply = 0.2,
                        .watch_cut = 0.05,
                        .watch_silence = 0.01,
                        .watch_duplicate = 0.1,
                        .watch_lag = 0.3,
                        .watch_gone = 0.02},
             .kinds = scenario.kinds});
    scenario.play(lab);
    lab.wire().set({});
    lab.run(20min);  // longer than the longest delay, twice
    EXPECT_EQ(difference("expected", expected, "found", lab.end_state()), "");
  }
}

}  // namespace berth::controllers::stories
