// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "json/patch.h"
#include "kube/ours/ours.h"

namespace berth::slots {
namespace {

kube::Object object_of(const std::string& spec) {
  const auto object = kube::Object::parse(
      kube::thesis_kinds().ledger,
      fmt::format(R"({{"metadata":{{"name":"tb","namespace":"default"}},"spec":{}}})", spec));
  EXPECT_TRUE(object) << object.error().message;
  return object.value_or(kube::Object());
}
Ledger ledger_of_six() {
  Ledger ledger;
  ledger.blocks = {{"default", 0, 2, {"n0", "n1", "n2"}}};
  return ledger;
}

TEST(Ledger, I1_AGrantHasAllOfItsSlotsOrNone) {
  Ledger ledger = ledger_of_six();
  ASSERT_TRUE(ledger.grant({"aa-1", {"default", "a"}, {}, "", {0, 3}}));
  const Ledger before = ledger;
  const auto second = ledger.grant({"bb-1", {"default", "b"}, {}, "", {1, 3}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "slot 3 is held by default/a");
  EXPECT_EQ(ledger, before);
  EXPECT_FALSE(ledger.grant({"bb-1", {"default", "b"}, {}, "", {6}}));
  EXPECT_FALSE(ledger.grant({"bb-1", {"default", "b"}, {}, "", {}}));
  EXPECT_FALSE(ledger.grant({"aa-1", {"default", "a"}, {}, "", {1}}));
  EXPECT_EQ(ledger, before);
  EXPECT_TRUE(ledger.grant({"bb-1", {"default", "b"}, {}, "", {1, 2}}));
  EXPECT_EQ(ledger.holder(2)->id, "bb-1");
}

TEST(Ledger, GivesBackSlotsAndGoesWithTheLast) {
  Ledger ledger = ledger_of_six();
  ASSERT_TRUE(ledger.grant({"aa-1", {"default", "a"}, {}, "", {0, 3}}));
  ledger.give_back("aa-1", {0, 5});
  EXPECT_EQ(ledger.holder(0), nullptr);
  EXPECT_EQ(ledger.holder(3)->id, "aa-1");
  ASSERT_TRUE(ledger.extend("aa-1", {4}));
  EXPECT_FALSE(ledger.extend("aa-1", {4}));
  ledger.give_back("aa-1", {3, 4});
  EXPECT_EQ(ledger.find("aa-1"), nullptr);
  EXPECT_FALSE(ledger.release("aa-1"));
}

TEST(Ledger, RefusesToReadWhatNoAllocatorWrites) {
  EXPECT_FALSE(Ledger::parse(object_of(
      R"({"grants":[{"id":"a-1","job":"d/a"}],"slots":[{"slot":1,"grant":"a-1"},{"slot":1,"grant":"a-1"}]})")));
  EXPECT_FALSE(Ledger::parse(object_of(R"({"slots":[{"slot":1,"grant":"a-1"}]})")));
  EXPECT_FALSE(Ledger::parse(object_of(R"({"grants":[{"id":"a-1","job":"a"}]})")));
}

TEST(Ledger, NamesAGrantByJobAndRun) {
  const GrantId id = grant_id("3f9c12ab-77e0-4c3e-9a2b-1d2e3f405162", 17);
  EXPECT_EQ(id, "3f9c12ab77e0-17");
  EXPECT_EQ(run_of(id), 17);
  EXPECT_EQ(run_of("nothing"), 0);
  EXPECT_EQ(run_of("a-b"), 0);
}

TEST(Ledger, KnowsStepsThatNoWriterMayTake) {
  Ledger before = ledger_of_six(), after = ledger_of_six();
  ASSERT_TRUE(before.grant({"aa-1", {"default", "a"}, {}, "", {0}}));
  ASSERT_TRUE(after.grant({"bb-1", {"default", "b"}, {}, "", {0, 1}}));
  EXPECT_EQ(illegal_step(before, after), "slot 0 went from aa-1 to bb-1 in one step");
  EXPECT_EQ(illegal_step(ledger_of_six(), after), "");
  EXPECT_EQ(illegal_step(before, ledger_of_six()), "");
}

// Patch after patch the object says what the value says, and the codec loses nothing.
TEST(LedgerProperty, APatchMakesTheObjectWhatTheLedgerSays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    kube::Object object = object_of("{}");
    Ledger ledger;
    for (int step = 0; step < 25; ++step) {
      const Ledger before = ledger;
      if (step == 0 || random.chance(0.1))
        ledger.blocks.push_back({"default",
                                 end_of(ledger.blocks),
                                 2,
                                 {"n" + std::to_string(step), "m" + std::to_string(step)}});
      for (int i = 0; i < 4; ++i) {
        const std::string job(1, static_cast<char>('a' + random.below(6)));
        const GrantId id = grant_id(job, 1);
        std::set<SlotNumber> slots;
        for (std::uint64_t n = random.below(4); n > 0; --n)
          slots.insert(
              static_cast<int>(random.below(static_cast<std::uint64_t>(end_of(ledger.blocks)))));
        switch (random.below(4)) {
          case 0:
            ledger.release(id);
            break;
          case 1:
            ledger.give_back(id, slots);
            break;
          case 2:
            if (ledger.find(id) != nullptr) (void)ledger.extend(id, slots);
            break;
          default:
            (void)ledger.grant({id, {"default", job}, {"default", "s"}, "", slots});
        }
      }
      if (random.chance(0.2)) ledger.owner = {{"uid", {"default", "s"}}};
      if (random.chance(0.2)) ledger.owner.reset();
      const std::string patch = patch_between(object, ledger);
      EXPECT_EQ(patch.empty(), before == ledger) << seed;
      if (!patch.empty()) {
        const auto patched = json::json_patch(object.json(), patch);
        ASSERT_TRUE(patched) << seed << " " << patched.error().message << " " << patch;
        const auto parsed = kube::Object::parse(*patched);
        ASSERT_TRUE(parsed);
        object = *parsed;
      }
      const auto read = Ledger::parse(object);
      ASSERT_TRUE(read) << seed << " " << read.error().message;
      ASSERT_EQ(*read, ledger) << seed << "\n" << object.json() << "\n" << ledger.spec();
      const auto whole = Ledger::parse(object_of(ledger.spec()));
      ASSERT_TRUE(whole);
      ASSERT_EQ(*whole, ledger) << seed;
    }
  }
}

}  // namespace
}  // namespace berth::slots
