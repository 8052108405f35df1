// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "apiserver/store/continue_token.h"
#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> numbered(int from, int to) {
  std::vector<std::string> keys;
  for (int i = from; i < to; ++i) keys.push_back(fmt::format("a/p{:03}", i));
  return keys;
}

void fill(Lab& lab, int count) {
  for (const std::string& key : numbered(0, count)) lab.put(pod({"a", key.substr(2)}));
}

TEST(List, GoesInTheOrderOfKeysAsEtcdHasIt) {
  Lab lab;
  for (const kube::Key& key : {kube::Key{"b", "x"}, {"a", "y"}, {"a-b", "x"}, {"a", "x"}})
    lab.put(pod(key));
  // '-' stands before '/'
  EXPECT_THAT(lab.list(), ElementsAre("a-b/x", "a/x", "a/y", "b/x"));
  EXPECT_THAT(lab.list({.range = {.ns = "a"}}), ElementsAre("a/x", "a/y"));
  EXPECT_THAT(lab.list({.range = {.ns = "a", .name = "y"}}), ElementsAre("a/y"));
  EXPECT_THAT(lab.list({.range = {.ns = "c"}}), IsEmpty());
  EXPECT_EQ(lab.store().list({.kind = kube::kNode})->items.size(), 0u);
}

TEST(List, IsAsItWasAtEveryRevisionStillKnown) {
  Lab lab;
  const kube::Revision none = lab.store().published();
  const kube::Revision first = lab.put(pod({"a", "x"}, {.node = "n1"}));
  const kube::Revision second = lab.put(pod({"a", "x"}, {.node = "n2"}));
  const kube::Revision gone = lab.erase({"a", "x"});
  const kube::Revision again = lab.put(pod({"a", "x"}, {.node = "n3"}));
  const auto node_at = [&](kube::Revision revision) {
    const auto page = lab.store().list({.kind = kube::kPod, .plan = {.exactly = revision}});
    EXPECT_EQ(page->revision, revision);
    return page->items.empty() ? "none" : read_pod_field(page->items[0], "spec.nodeName");
  };
  EXPECT_EQ(node_at(none), "none");
  EXPECT_EQ(node_at(first), "n1");
  EXPECT_EQ(node_at(second), "n2");
  EXPECT_EQ(node_at(gone), "none");
  EXPECT_EQ(node_at(again), "n3");
  EXPECT_THAT(lab.list({.selector = select("", "spec.nodeName=n2"), .plan = {.exactly = second}}),
              ElementsAre("a/x"));
  EXPECT_THAT(lab.list({.selector = select("", "spec.nodeName=n2")}), IsEmpty());
}

TEST(List, ItsRevisionIsTheStoresNotTheNewestItems) {
  Lab lab;
  lab.put(pod({"a", "x"}));
  const kube::Revision other =
      lab.put(*kube::Object::parse(kube::kNode, R"({"metadata":{"name":"n"}})"));
  EXPECT_EQ(lab.store().list({.kind = kube::kPod})->revision, other);
}

TEST(List, SelectsByLabelsAndFields) {
  Lab lab;
  lab.put(pod({"a", "x"}, {.node = "n1", .phase = "Running", .app = "web"}));
  lab.put(pod({"a", "y"}, {.node = "n1", .phase = "Failed", .app = "web"}));
  lab.put(pod({"b", "z"}, {.phase = "Pending"}));
  struct Row {
    const char* labels;
    const char* fields;
    std::vector<std::string> found;
  };
  const Row rows[] = {
      {"app=web", "", {"a/x", "a/y"}},
      {"app=web", "status.phase!=Failed", {"a/x"}},
      {"!app", "", {"b/z"}},
      {"", "spec.nodeName=n1", {"a/x", "a/y"}},
      {"", "spec.nodeName=n1,status.phase=Failed", {"a/y"}},
      {"", "spec.nodeName=", {"b/z"}},  // no index has those without a value
      {"", "spec.nodeName!=n1", {"b/z"}},
      {"", "metadata.name=z", {"b/z"}},
      {"", "metadata.namespace=a", {"a/x", "a/y"}},
      {"", "metadata.namespace=a,metadata.name=y", {"a/y"}},
      {"", "metadata.namespace=b,metadata.name=y", {}},
      {"", "spec.nodeName=n1,metadata.namespace=b", {}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(lab.list({.selector = select(row.labels, row.fields)}), row.found)
        << row.labels << " " << row.fields;
  EXPECT_THAT(lab.list({.range = {.ns = "b"}, .selector = select("", "metadata.namespace=a")}),
              IsEmpty());
}

TEST(List, FindsByOwner) {
  Lab lab;
  lab.put(pod({"a", "x"}, {.owner = "u1"}));
  lab.put(pod({"b", "y"}, {.owner = "u1"}));
  lab.put(pod({"b", "z"}, {.owner = "u2"}));
  const Range by_owner{.index = "metadata.ownerReferences.uid", .value = "u1"};
  EXPECT_THAT(lab.list({.range = by_owner}), ElementsAre("a/x", "b/y"));
  lab.put(pod({"a", "x"}, {.owner = "u2"}));
  lab.erase({"b", "z"});
  EXPECT_THAT(lab.list({.range = by_owner}), ElementsAre("b/y"));
}

TEST(List, PagesAreOfOneRevisionWhateverHappensMeanwhile) {
  Lab lab;
  fill(lab, 10);
  const kube::Revision then = lab.store().published();
  std::vector<std::string> seen;
  kube::Options options{.limit = 4};
  for (int page_number = 0;; ++page_number) {
    ListSpec spec{.kind = kube::kPod, .plan = *plan_list(options)};
    const auto page = lab.store().list(std::move(spec));
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->revision, then);
    for (const std::string& key : keys_of(page->items)) seen.push_back(key);
    if (page->continue_token.empty()) {
      EXPECT_FALSE(page->remaining.has_value());
      break;
    }
    EXPECT_EQ(page->remaining, 10 - 4 * (page_number + 1));
    options.continue_token = page->continue_token;
    lab.put(pod({"a", fmt::format("p00{}x", page_number * 4)}));
    lab.erase({"a", fmt::format("p00{}", 9 - page_number)});
  }
  EXPECT_EQ(seen, numbered(0, 10));
}

TEST(List, APageInANamespaceContinuesBelowIt) {
  Lab lab;
  for (const char* ns : {"a", "b"})
    for (const char* name : {"x", "y", "z"}) lab.put(pod({ns, name}));
  const auto page =
      lab.store().list({.kind = kube::kPod, .range = {.ns = "a"}, .plan = {.limit = 2}});
  EXPECT_EQ(page->remaining, 1);
  const Result<ContinueToken> token = ContinueToken::parse(page->continue_token);
  EXPECT_EQ(token->start, std::string("y\0", 2));
  EXPECT_EQ(token->revision, static_cast<std::int64_t>(page->revision));
  EXPECT_THAT(lab.list({.range = {.ns = "a"},
                        .plan = *plan_list({.limit = 2, .continue_token = page->continue_token})}),
              ElementsAre("a/z"));
}

TEST(List, WithASelectorDoesNotTellHowManyRemain) {
  Lab lab;
  fill(lab, 3);
  const auto page =
      lab.store().list({.kind = kube::kPod, .selector = select("!app"), .plan = {.limit = 1}});
  EXPECT_FALSE(page->continue_token.empty());
  EXPECT_FALSE(page->remaining.has_value());
}

TEST(List, HowManyRemainIsCountedWhereItIsNotKnown) {
  Lab lab;
  fill(lab, 5);
  const kube::Revision then = lab.store().published();
  lab.put(pod({"a", "z"}));
  const auto old = lab.store().list({.kind = kube::kPod, .plan = {.exactly = then, .limit = 2}});
  EXPECT_EQ(old->remaining, 3);
  const auto from_elsewhere = lab.store().list(
      {.kind = kube::kPod,
       .plan = {.exactly = then, .limit = 1, .start = "a/p001", .continued = true}});
  EXPECT_THAT(keys_of(from_elsewhere->items), ElementsAre("a/p001"));
  EXPECT_EQ(from_elsewhere->remaining, 3);
}

TEST(List, APageThatExpiredComesWithATokenForWhatThereIsNow) {
  Lab lab;
  fill(lab, 4);
  const auto first = lab.store().list({.kind = kube::kPod, .plan = {.limit = 2}});
  lab.erase({"a", "p002"});
  lab.store().compact(lab.store().published());
  const auto next =
      lab.store().list({.kind = kube::kPod,
                        .plan = *plan_list({.limit = 2, .continue_token = first->continue_token})});
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().error.reason, Reason::kExpired);
  EXPECT_NE(next.error().error.message.find("use the continue token in this response"),
            std::string::npos);
  EXPECT_THAT(lab.list({.plan = *plan_list({.continue_token = next.error().fresh_token})}),
              ElementsAre("a/p003"));
}

TEST(List, OfARevisionThatIsTooOldOrNotYetThereFails) {
  Lab lab;
  const kube::Revision old = lab.put(pod({"a", "x"}));
  const kube::Revision now = lab.put(pod({"a", "y"}));
  lab.store().compact(now);
  const auto too_old = lab.store().list({.kind = kube::kPod, .plan = {.exactly = old}});
  ASSERT_FALSE(too_old.has_value());
  EXPECT_EQ(too_old.error().error.reason, Reason::kExpired);
  EXPECT_EQ(too_old.error().fresh_token, "");
  // A kind that never had any objects has the same past.
  EXPECT_FALSE(lab.store().list({.kind = kube::kNode, .plan = {.exactly = old}}).has_value());
  EXPECT_TRUE(lab.store().list({.kind = kube::kPod, .plan = {.exactly = now}}).has_value());
  for (const ListPlan& plan : {ListPlan{.exactly = now + 1}, ListPlan{.at_least = now + 1}}) {
    const auto early = lab.store().list({.kind = kube::kPod, .plan = plan});
    ASSERT_FALSE(early.has_value());
    EXPECT_EQ(early.error().error.reason, Reason::kTimeout);
  }
}

TEST(List, InStepsIsOfOneRevisionToo) {
  Lab lab;
  fill(lab, 9);
  auto run = lab.store().begin_list({.kind = kube::kPod});
  ASSERT_TRUE(run.has_value());
  int steps = 1;
  for (; !*run->step(4); ++steps) {
    lab.erase({"a", fmt::format("p00{}", steps)});
    lab.put(pod({"a", fmt::format("p00{}x", steps + 4)}));
  }
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(keys_of(run->take().items), numbered(0, 9));
}

TEST(List, OfTheNewestStateBeginsAnewWhenHistoryOvertakesIt) {
  Lab lab;
  fill(lab, 6);
  auto newest = lab.store().begin_list({.kind = kube::kPod});
  auto exact =
      lab.store().begin_list({.kind = kube::kPod, .plan = {.exactly = lab.store().published()}});
  EXPECT_FALSE(*newest->step(3));
  EXPECT_FALSE(*exact->step(3));
  lab.erase({"a", "p000"});
  lab.store().compact(lab.store().published());
  EXPECT_EQ(exact->step(100).error().error.reason, Reason::kExpired);
  EXPECT_TRUE(*newest->step(100));
  const Page page = newest->take();
  EXPECT_EQ(keys_of(page.items), numbered(1, 6));
  EXPECT_EQ(page.revision, lab.store().published());
}

}  // namespace
}  // namespace berth::apiserver
