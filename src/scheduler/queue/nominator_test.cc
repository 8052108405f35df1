// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/nominator.h"

#include "scheduler/queue/queue_test_lab_for_test.h"

namespace berth::scheduler::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NominatorTest : public QueueTest {
 protected:
  std::vector<std::string> on(std::string_view node) {
    std::vector<std::string> names;
    for (const PodPtr& pod : queue->nominator().on(node)) names.push_back(pod->name);
    return names;
  }
};

TEST_F(NominatorTest, TakesUpWhatAPodsStatusSaysWhenItIsAdded) {
  add(pod("a").nominated("n1"));
  add(pod("b").nominated("n1"));
  add(pod("c"));
  EXPECT_THAT(on("n1"), ElementsAre("a", "b"));
  EXPECT_THAT(queue->nominator().nodes(), ElementsAre("n1"));
}

TEST_F(NominatorTest, AnExplicitNodePrevailsOverTheStatus) {
  const PodPtr a = pod("a").nominated("n1");
  add(a);
  queue->nominator().add(*a, "n2");
  EXPECT_THAT(on("n1"), IsEmpty());
  EXPECT_THAT(on("n2"), ElementsAre("a"));
}

TEST_F(NominatorTest, ClearingRecordsThatThePodHasNoNode) {
  const PodPtr a = pod("a").nominated("n1");
  add(a);
  queue->nominator().add(*a, "");
  EXPECT_THAT(on("n1"), IsEmpty());
  ASSERT_NE(queue->nominator().node_of(a->uid), nullptr);
  EXPECT_EQ(*queue->nominator().node_of(a->uid), "");
  EXPECT_TRUE(queue->nominator().empty());
  EXPECT_THAT(queue->nominator().nodes(), IsEmpty());
}

TEST_F(NominatorTest, WithoutANodeAndAStatusTheNominationIsDropped) {
  const PodPtr a = pod("a");
  add(a);
  queue->nominator().add(*a, "n1");
  queue->nominator().add(*a, std::nullopt);
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, APodThatTheInformerDoesNotHaveIsNotNominated) {
  queue->nominator().add(*PodPtr(pod("gone")), "n1");
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, APodThatHasItsNodeIsNotNominated) {
  informer["a"] = pod("a").on("n9");
  queue->nominator().add(*PodPtr(pod("a")), "n1");
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, AnUpdateThatKnowsNothingOfItKeepsTheNomination) {
  const PodPtr before = pod("a");
  add(before);
  queue->nominator().add(*before, "n1");
  update(before, pod("a").app("new"));
  EXPECT_THAT(on("n1"), ElementsAre("a"));
}

TEST_F(NominatorTest, AnUpdateThatSetsChangesOrClearsItIsFollowed) {
  const PodPtr none = pod("a");
  const PodPtr first = pod("a").nominated("n1");
  const PodPtr second = pod("a").nominated("n2");
  add(none);
  update(none, first);
  EXPECT_THAT(on("n1"), ElementsAre("a"));
  update(first, second);
  EXPECT_THAT(on("n1"), IsEmpty());
  EXPECT_THAT(on("n2"), ElementsAre("a"));
  update(second, none);
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, UpdatesAreFollowedInEveryQueue) {
  struct Row {
    const char* name;
    PluginSet rejectors;
    bool attempt;
  };
  for (const Row& row :
       {Row{"active", {}, false}, Row{"backoff", {}, true}, Row{"waiting", {kFit}, true}}) {
    const PodPtr before = pod(row.name);
    if (row.attempt)
      refused(before, row.rejectors);
    else
      add(before);
    update(before, pod(row.name).nominated(row.name));
    EXPECT_THAT(on(row.name), ElementsAre(row.name));
  }
}

TEST_F(NominatorTest, RemovingThePodRemovesTheNomination) {
  const PodPtr a = pod("a").nominated("n1");
  add(a);
  queue->remove(*a);
  EXPECT_TRUE(queue->nominator().empty());
  EXPECT_THAT(queue->nominator().nodes(), IsEmpty());
}

TEST_F(NominatorTest, AQueuedPodIsShownAsItIsNow) {
  const PodPtr before = pod("a").nominated("n1").priority(1);
  add(before);
  const PodPtr after = pod("a").nominated("n1").priority(7);
  update(before, after);
  EXPECT_EQ(queue->nominator().on("n1").front(), after);
}

TEST_F(NominatorTest, OfAPodInFlightOnlyTheNameIsKnown) {
  add(pod("a").nominated("n1").priority(7));
  const QueuedPodPtr popped = queue->pop();
  const PodPtr bare = queue->nominator().on("n1").front();
  EXPECT_EQ(bare->uid, "a-uid");
  EXPECT_EQ(bare->priority(), 0);
  EXPECT_EQ(bare->used().millicores, 0);
}

TEST_F(NominatorTest, AGatedPodIsNotNominatedByItsStatus) {
  closed = {"a"};
  add(pod("a").nominated("n1"));
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, APodThatMovesOnAnEventKeepsItsNomination) {
  const PodPtr a = pod("a");
  refused(a, {kFit});
  queue->nominator().add(*a, "n1");
  clock.advance(20s);
  queue->move_all(node_added());
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_THAT(on("n1"), ElementsAre("a"));
}

TEST_F(NominatorTest, AGenericUpdateThatMovesAWaitingPodGoesByItsStatusAlone) {
  // k8s 1.36: moving to activeQ because of "UnschedulablePodUpdate" takes the status up afresh.
  const PodPtr before = pod("a").scheduler("nobody");
  refused(before, {kFit});
  queue->nominator().add(*before, "n1");
  clock.advance(20s);
  update(before, pod("a").scheduler("nobody").revision(2));
  EXPECT_EQ(where("a"), Place::kActive);
  EXPECT_TRUE(queue->nominator().empty());
}

TEST_F(NominatorTest, TheVersionTellsOfEveryChange) {
  const PodPtr a = pod("a");
  add(a);
  const std::uint64_t before = queue->nominator().version();
  queue->nominator().add(*a, "n1");
  const std::uint64_t with = queue->nominator().version();
  EXPECT_NE(with, before);
  queue->nominator().remove(*a);
  EXPECT_NE(queue->nominator().version(), with);
  EXPECT_EQ(queue->nominator().node_of("a-uid"), nullptr);
}

}  // namespace
}  // namespace berth::scheduler::test
