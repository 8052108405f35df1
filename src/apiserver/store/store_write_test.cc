// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const kube::Key kWeb{"a", "web"};

const kube::Object* web(Lab& lab, View view = View::kPublished) {
  return lab.store().get(kube::kPod, kWeb, view);
}
std::vector<std::int64_t> ids_of(const JournalBatch& batch) {
  std::vector<std::int64_t> ids;
  for (const JournalRow& row : batch.rows) ids.push_back(row.id);
  return ids;
}
void answer(Lab& lab, HeldJournal& journal, Result<Ok> how = Ok{}) {
  journal.held.back()(std::move(how));
  lab.settle();
}

TEST(Write, RevisionsComeFromOneCounterOverAllKinds) {
  Lab lab;
  EXPECT_EQ(lab.store().published(), 1u);
  EXPECT_EQ(lab.put(pod(kWeb)), 2u);
  EXPECT_EQ(lab.put(*kube::Object::parse(kube::kNode, R"({"metadata":{"name":"n"}})")), 3u);
  EXPECT_EQ(lab.erase(kWeb), 4u);
  EXPECT_EQ(lab.store().published(), 4u);
  EXPECT_EQ(lab.store().tip(), 4u);
}

TEST(Write, TheRevisionIsInTheObject) {
  Lab lab;
  const Result<Committed> made = lab.write(put(pod(kWeb)));
  EXPECT_EQ(made->object.revision(), made->revision);
  EXPECT_EQ(web(lab)->revision(), made->revision);
  EXPECT_EQ(web(lab)->metadata()["resourceVersion"].text(), "2");
}

TEST(Write, AnsweredDeletionsTellTheLastStateAtTheirOwnRevision) {
  Lab lab;
  lab.put(pod(kWeb, {.node = "n1"}));
  const Result<Committed> gone = lab.write(erase(kube::kPod, kWeb));
  EXPECT_EQ(gone->object.revision(), gone->revision);
  EXPECT_EQ(read_pod_field(gone->object, "spec.nodeName"), "n1");
  EXPECT_EQ(web(lab), nullptr);
}

TEST(Write, PreconditionsAreRefusedInTheRealServersWords) {
  Lab lab;
  const kube::Revision revision = lab.put(pod(kWeb));
  const auto make = [] { return stamped(pod(kWeb)); };
  const kube::Key other{"a", "other"};
  struct Row {
    Write write;
    Reason reason;
    const char* says;
  };
  Row rows[] = {
      {{.kind = kube::kPod, .key = kWeb, .expect = Write::Expect::kAbsent, .next = make()},
       Reason::kAlreadyExists,
       "pods \"web\" already exists"},
      {{.kind = kube::kPod,
        .key = other,
        .expect = Write::Expect::kPresent,
        .next = stamped(pod(other))},
       Reason::kNotFound,
       "pods \"other\" not found"},
      {{.kind = kube::kPod, .key = other}, Reason::kNotFound, "pods \"other\" not found"},
      {{.kind = kube::kPod, .key = kWeb, .revision = revision + 1, .next = make()},
       Reason::kConflict,
       "Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply "
       "your changes to the latest version and try again"},
      {{.kind = kube::kPod, .key = kWeb, .uid = "uid-2", .next = make()},
       Reason::kConflict,
       "Operation cannot be fulfilled on pods \"web\": Precondition failed: UID in precondition: "
       "uid-2, UID in object meta: uid-web"},
      {{.kind = kube::kJob, .key = kWeb}, Reason::kNotFound, "jobs.batch \"web\" not found"},
  };
  for (Row& row : rows) {
    const Result<Committed> refused = lab.write(std::move(row.write));
    ASSERT_FALSE(refused.has_value()) << row.says;
    EXPECT_EQ(refused.error().reason, row.reason);
    EXPECT_EQ(refused.error().message, row.says);
  }
  EXPECT_EQ(lab.store().tip(), revision);  // none of them cost a revision
  EXPECT_TRUE(lab.write({.kind = kube::kPod, .key = kWeb, .uid = "uid-web", .revision = revision})
                  .has_value());
}

TEST(Write, AMakerThatFailsChangesNothing) {
  Lab lab;
  const Result<Committed> refused = lab.write(
      {.kind = kube::kPod, .key = kWeb, .next = [](kube::Revision) -> Result<kube::Object> {
         return fail(Reason::kInvalid, "no");
       }});
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(lab.store().tip(), 1u);
  EXPECT_THAT(lab.list(), IsEmpty());
}

TEST(Write, WithoutAJournalIsPublishedInTheSameTurn) {
  Lab lab;
  lab.start(put(pod(kWeb)));
  EXPECT_NE(web(lab), nullptr);
  EXPECT_EQ(lab.store().published(), 2u);
}

TEST(Write, IsSeenByNobodyBeforeTheJournalHasIt) {
  HeldJournal journal;
  Lab lab({}, &journal);
  Watching watching(lab.store(), {.after = 1});
  watching.read();
  const auto made = lab.start(put(pod(kWeb)));
  lab.settle();
  EXPECT_FALSE(made->has_value());
  EXPECT_EQ(web(lab), nullptr);
  EXPECT_NE(web(lab, View::kTip), nullptr);
  EXPECT_EQ(lab.store().published(), 1u);
  EXPECT_THAT(lab.list(), IsEmpty());
  EXPECT_EQ(watching.readies, 0);
  EXPECT_EQ(lab.store().count(kube::kPod), 0u);

  answer(lab, journal);
  EXPECT_EQ((**made)->revision, 2u);
  EXPECT_NE(web(lab), nullptr);
  EXPECT_EQ(lab.store().published(), 2u);
  EXPECT_THAT(watching.read(), ElementsAre("ADDED a/web@2"));
}

TEST(Write, PreconditionsHoldAgainstWhatIsStillOnItsWay) {
  HeldJournal journal;
  Lab lab({}, &journal);
  const auto first = lab.start(put(pod(kWeb)));
  const auto second = lab.start({.kind = kube::kPod,
                                 .key = kWeb,
                                 .expect = Write::Expect::kAbsent,
                                 .next = stamped(pod(kWeb))});
  lab.settle();
  EXPECT_EQ((*second)->error().reason, Reason::kAlreadyExists);
}

TEST(Write, WhatComesDuringACommitFormsTheNextBatch) {
  HeldJournal journal;
  Lab lab({}, &journal);
  lab.start(put(pod(kWeb)));
  for (const char* name : {"b", "c", "b"}) lab.start(put(pod({"a", name})));
  lab.start(put(pod({"a", "d"})));
  lab.start(erase(kube::kPod, {"a", "d"}));
  lab.start(erase(kube::kPod, kWeb));
  lab.start(put(pod(kWeb)));
  ASSERT_EQ(journal.batches.size(), 1u);
  EXPECT_THAT(ids_of(journal.batches[0]), ElementsAre(1));
  answer(lab, journal);
  ASSERT_EQ(journal.batches.size(), 2u);
  // The last version of each row; a row that came and went; the old row of web and its new one.
  EXPECT_THAT(ids_of(journal.batches[1]), ElementsAre(2, 3, 4, 1, 5));
  EXPECT_EQ(journal.batches[1].rows[0].object.revision(), 5u);
  EXPECT_FALSE(journal.batches[1].rows[2].object.valid());
  EXPECT_FALSE(journal.batches[1].rows[3].object.valid());
  EXPECT_EQ(journal.batches[1].revision, 9u);
  answer(lab, journal);
  EXPECT_EQ(lab.store().published(), 9u);
  EXPECT_EQ(journal.batches.size(), 2u);
  EXPECT_THAT(lab.list(), ElementsAre("a/b", "a/c", "a/web"));
}

TEST(Write, AFailedBatchTakesAllThatWasBuiltOnItAlong) {
  HeldJournal journal;
  Lab lab({}, &journal);
  const auto kept = lab.start(put(pod(kWeb, {.node = "n1"})));
  answer(lab, journal);
  Watching watching(lab.store(), {.after = lab.store().published()});
  watching.read();

  const auto first = lab.start(put(pod(kWeb, {.node = "n2"})));
  const auto second = lab.start(put(pod(kWeb, {.node = "n3"})));
  const auto third = lab.start(put(pod({"a", "new"})));
  const auto fourth = lab.start(erase(kube::kPod, kWeb));
  journal.works = false;
  answer(lab, journal, fail(Reason::kInternalError, "disk full"));
  for (const auto& lost : {first, second, third, fourth}) {
    ASSERT_TRUE(lost->has_value() && !(*lost)->has_value());
    EXPECT_EQ((*lost)->error().reason, Reason::kInternalError);
    EXPECT_THAT((*lost)->error().message, AllOf(HasSubstr("disk full"), HasSubstr("make room")));
  }
  // Reads and watches go on, as if none of them had been.
  EXPECT_EQ(lab.store().published(), 2u);
  EXPECT_EQ(read_pod_field(*web(lab, View::kTip), "spec.nodeName"), "n1");
  EXPECT_THAT(lab.list(), ElementsAre("a/web"));
  EXPECT_THAT(lab.list({.selector = select("", "spec.nodeName=n3")}), IsEmpty());
  EXPECT_EQ(watching.readies, 0);

  // Writes are refused until a probe succeeds.
  EXPECT_TRUE(lab.store().refusing_writes());
  EXPECT_THAT(lab.write(put(pod(kWeb))).error().message, HasSubstr("disk full"));
  lab.world.run_for(10s);
  EXPECT_EQ(journal.probes, 10);
  EXPECT_TRUE(lab.store().refusing_writes());
  journal.works = true;
  lab.world.run_for(2s);
  EXPECT_FALSE(lab.store().refusing_writes());
  EXPECT_EQ(journal.probes, 11);

  // The revisions that failed are not given out again; the row is still the same.
  const auto again = lab.start(erase(kube::kPod, kWeb));
  ASSERT_EQ(journal.batches.size(), 3u);
  EXPECT_THAT(ids_of(journal.batches.back()), ElementsAre(1));
  answer(lab, journal);
  EXPECT_EQ((**again)->revision, 7u);
  EXPECT_THAT(watching.read(), ElementsAre("DELETED a/web@7"));
}

TEST(Write, VolatileOnesAreNeverInTheJournalAndKeepTheOrder) {
  HeldJournal journal;
  journal.recovered = {.revision = 5, .reserved = 100};
  Lab lab({}, &journal);
  lab.start(put(pod(kWeb)));
  answer(lab, journal);
  EXPECT_EQ(lab.store().published(), 101u);

  // Alone it is published at once.
  lab.start(put(pod(kWeb, {.node = "n1"}), Durability::kVolatile));
  EXPECT_EQ(lab.store().published(), 102u);
  EXPECT_EQ(journal.batches.size(), 1u);

  // Behind a durable write it waits for it.
  lab.start(put(pod({"a", "b"})));
  lab.start(put(pod(kWeb, {.node = "n2"}), Durability::kVolatile));
  lab.settle();
  EXPECT_EQ(lab.store().published(), 102u);
  answer(lab, journal);
  EXPECT_EQ(lab.store().published(), 104u);
  EXPECT_EQ(journal.batches.size(), 2u);
  EXPECT_EQ(read_pod_field(*web(lab), "spec.nodeName"), "n2");

  // What never was durable needs no journal to go.
  lab.start(put(pod({"a", "lease"}), Durability::kVolatile));
  lab.start(erase(kube::kPod, {"a", "lease"}));
  EXPECT_EQ(lab.store().published(), 106u);
  EXPECT_EQ(journal.batches.size(), 2u);
}

TEST(Write, NoRevisionIsPublishedThatTheJournalHasNotReserved) {
  HeldJournal journal;
  Lab lab({.reserve = 10}, &journal);
  lab.start(put(pod(kWeb)));
  EXPECT_EQ(journal.batches[0].reserved, 12u);
  answer(lab, journal);
  for (kube::Revision next = 3; next <= 12; ++next) {
    lab.start(put(pod(kWeb), Durability::kVolatile));
    EXPECT_EQ(lab.store().published(), next);
  }
  EXPECT_EQ(journal.batches.size(), 1u);
  lab.start(put(pod(kWeb), Durability::kVolatile));
  EXPECT_EQ(lab.store().published(), 12u);
  ASSERT_EQ(journal.batches.size(), 2u);
  EXPECT_THAT(journal.batches[1].rows, IsEmpty());
  EXPECT_EQ(journal.batches[1].reserved, 23u);
  answer(lab, journal);
  EXPECT_EQ(lab.store().published(), 13u);
}

TEST(Write, AfterARestartRevisionsBeginAboveAllThatWereReserved) {
  HeldJournal journal;
  journal.recovered = {.revision = 7, .reserved = 1000, .rows = {{4, *pod(kWeb).next(7)}}};
  Lab lab({}, &journal);
  EXPECT_EQ(lab.store().published(), 1000u);
  EXPECT_EQ(lab.store().floor(kube::kPod), 1000u);
  EXPECT_EQ(lab.store().floor(kube::kNode), 1000u);
  EXPECT_EQ(lab.store().count(kube::kPod), 1u);
  EXPECT_EQ(web(lab)->revision(), 7u);
  EXPECT_FALSE(lab.store().list({.kind = kube::kPod, .plan = {.exactly = 7}}).has_value());
  lab.start(put(pod({"a", "b"})));
  EXPECT_THAT(ids_of(journal.batches[0]), ElementsAre(5));
  EXPECT_EQ(journal.batches[0].revision, 1001u);
  answer(lab, journal);
  EXPECT_THAT(lab.list(), ElementsAre("a/b", "a/web"));
}

TEST(Write, WhoWaitsForARevisionHearsWhenItIsPublished) {
  HeldJournal journal;
  Lab lab({}, &journal);
  int heard = 0;
  for (const kube::Revision revision : {1, 2, 3})
    lab.store().when_published(revision, lab.scope().done<Ok>(3s, [&heard](Result<Ok> r) {
      if (r) ++heard;
    }));
  lab.settle();
  EXPECT_EQ(heard, 1);
  lab.start(put(pod(kWeb)));
  answer(lab, journal);
  EXPECT_EQ(heard, 2);
}

TEST(Write, WhoWaitsForARevisionThatCouldNotBeKeptHearsThat) {
  HeldJournal journal;
  Lab lab({}, &journal);
  std::map<kube::Revision, std::string> heard;
  lab.start(put(pod(kWeb)));
  for (const kube::Revision revision : {2, 3})
    lab.store().when_published(revision,
                               lab.scope().done<Ok>(1h, [&heard, revision](const Result<Ok>& r) {
                                 heard[revision] = r ? "published" : r.error().message;
                               }));
  answer(lab, journal, fail(Reason::kInternalError, "disk full"));
  EXPECT_THAT(heard[2], HasSubstr("disk full"));
  EXPECT_FALSE(heard.contains(3)) << "it was never given out";
  lab.world.run_for(2s);
  lab.start(put(pod(kWeb)));
  answer(lab, journal);
  EXPECT_EQ(heard[3], "published");
}

TEST(Write, TheObserverIsToldEveryPublishedChangeInOrder) {
  std::vector<kube::Revision> told;
  Lab lab({.observe = [&told](const HistoryEvent& event) { told.push_back(event.revision); }});
  lab.put(pod(kWeb));
  lab.put(pod(kWeb));
  lab.erase(kWeb);
  EXPECT_THAT(told, ElementsAre(2, 3, 4));
}

TEST(Write, StatsTellWhatIsHeld) {
  HeldJournal journal;
  Lab lab({}, &journal);
  Watching watching(lab.store(), {.after = 1});
  lab.start(put(pod(kWeb)));
  lab.start(put(pod({"a", "b"})));
  EXPECT_EQ(lab.store().stats().pending_writes, 2u);
  answer(lab, journal);
  const StoreStats stats = lab.store().stats();
  EXPECT_EQ(stats.objects, 1u);
  EXPECT_EQ(stats.events, 1u);
  EXPECT_EQ(stats.watchers, 1u);
  EXPECT_EQ(stats.pending_writes, 1u);
  EXPECT_GT(stats.event_bytes, 0u);
}

}  // namespace
}  // namespace berth::apiserver
