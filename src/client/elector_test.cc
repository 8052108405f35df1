// SPDX-License-Identifier: Apache-2.0
#include "client/elector.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::client {
namespace {

using Kind = Elector::Call::Kind;

LeaseRecord held_by(std::string holder, kube::Revision revision, std::int64_t renewed = 1) {
  return {.holder = std::move(holder),
          .lease_seconds = 15,
          .acquired = {},
          .renewed = WallTime{renewed},
          .transitions = 3,
          .revision = revision};
}

class Candidate {
 public:
  Candidate() : elector_({.identity = "me"}, Random(3)) {}
  Elector::Effects tell(Elector::What what) {
    return elector_.on({.now = now_, .wall = WallTime{now_.since_start.count()}, .what = what});
  }
  Candidate& pass(Duration by) {
    now_ = now_ + by;
    return *this;
  }
  // The server takes the write as it came and gives it a revision.
  Elector::Effects accept(const Elector::Effects& effects) {
    LeaseRecord record = effects.call->record;
    record.revision += 1000;
    return tell(Elector::Written{record});
  }
  bool leads() const { return elector_.leads(now_); }
  Instant now() const { return now_; }
  Elector& elector() { return elector_; }

  static Candidate leading() {
    Candidate c;
    c.tell(Elector::Start{});
    c.accept(c.tell(Elector::Read{}));
    return c;
  }

 private:
  Instant now_{};
  Elector elector_;
};

TEST(Elector, ReadsFirstAndCreatesALeaseThatIsNotThere) {
  Candidate c;
  EXPECT_EQ(c.tell(Elector::Start{}).call->kind, Kind::kGet);
  const auto create = c.tell(Elector::Read{});
  ASSERT_EQ(create.call->kind, Kind::kCreate);
  EXPECT_EQ(create.call->record.holder, "me");
  EXPECT_EQ(create.call->record.lease_seconds, 15);
  EXPECT_EQ(create.call->record.transitions, 0);
  EXPECT_TRUE(c.accept(create).begin_term);
  EXPECT_TRUE(c.leads());
}

TEST(Elector, RenewsEveryRetryPeriodWithoutReading) {
  Candidate c = Candidate::leading();
  EXPECT_FALSE(c.pass(1999ms).tell(Elector::Tick{}).call.has_value());
  const auto renew = c.pass(1ms).tell(Elector::Tick{});
  ASSERT_EQ(renew.call->kind, Kind::kUpdate);
  EXPECT_EQ(renew.call->record.revision, 1000u);
  EXPECT_EQ(renew.call->record.renewed.unix_nanos, Duration(2s).count());
  EXPECT_EQ(renew.call->record.acquired.unix_nanos, 0);
  EXPECT_EQ(renew.call->record.transitions, 0);
  EXPECT_FALSE(c.accept(renew).begin_term);
}

TEST(Elector, CountsItsTermFromTheMomentTheRenewalWasSent) {
  Candidate c = Candidate::leading();
  const auto renew = c.pass(2s).tell(Elector::Tick{});
  c.pass(3s).accept(renew);
  EXPECT_EQ(c.elector().term_end(), Instant{} + 12s);
  EXPECT_TRUE(c.pass(6999ms).leads());
  EXPECT_FALSE(c.pass(1ms).leads());
}

TEST(Elector, EndsTheTermAtTheDeadlineEvenWithACallUnderWay) {
  Candidate c = Candidate::leading();
  const auto renew = c.pass(9s).tell(Elector::Tick{});
  EXPECT_EQ(renew.wake, Instant{} + 10s);
  EXPECT_EQ(renew.call->deadline, Instant{} + 10s) << "no call outlasts its term";
  EXPECT_TRUE(c.pass(1s).tell(Elector::Tick{}).end_term);
  EXPECT_FALSE(c.leads());
}

TEST(Elector, AReplyThatComesAfterTheTermBeginsANewOne) {
  Candidate c = Candidate::leading();
  const auto renew = c.pass(8s).tell(Elector::Tick{});
  const auto late = c.pass(3s).accept(renew);
  EXPECT_TRUE(late.end_term);
  EXPECT_TRUE(late.begin_term);
  EXPECT_EQ(c.elector().term_end(), Instant{} + 18s);
}

TEST(Elector, AReplyOlderThanItsOwnTermIsNotBelieved) {
  Candidate c = Candidate::leading();
  const auto renew = c.pass(2s).tell(Elector::Tick{});
  const auto late = c.pass(10s).accept(renew);
  EXPECT_TRUE(late.end_term);
  EXPECT_FALSE(late.begin_term);
  EXPECT_EQ(c.tell(Elector::Tick{}).call->kind, Kind::kUpdate) << "it holds the lease and renews";
}

TEST(Elector, WaitsAFullLeaseFromItsOwnFirstSightOfTheRecord) {
  Candidate c;
  c.pass(100s).tell(Elector::Start{});
  c.tell(Elector::Read{held_by("other", 7)});
  const Instant seen = c.now();
  while (true) {
    const auto next = c.tell(Elector::Tick{});
    if (next.call && next.call->kind == Kind::kGet) {
      c.tell(Elector::Read{held_by("other", 7)});
      continue;
    }
    if (next.call) {
      EXPECT_EQ(c.now(), seen + 15s) << "neither sooner nor later";
      EXPECT_EQ(next.call->record.revision, 7u);
      EXPECT_EQ(next.call->record.transitions, 4);
      break;
    }
    ASSERT_GT(*next.wake, c.now());
    c.pass(*next.wake - c.now());
  }
}

TEST(Elector, AChangedRecordStartsTheWaitAnewAndAnUntouchedOneDoesNot) {
  Candidate c;
  c.tell(Elector::Start{});
  c.tell(Elector::Read{held_by("other", 7)});
  c.pass(10s).tell(Elector::Tick{});
  c.tell(Elector::Read{held_by("other", 8)});  // somebody labelled the Lease
  EXPECT_EQ(c.pass(5s).tell(Elector::Tick{}).call->kind, Kind::kUpdate);

  Candidate d;
  d.tell(Elector::Start{});
  d.tell(Elector::Read{held_by("other", 7)});
  d.pass(10s).tell(Elector::Tick{});
  d.tell(Elector::Read{held_by("other", 8, 2)});
  EXPECT_EQ(d.pass(5s).tell(Elector::Tick{}).call->kind, Kind::kGet);
}

TEST(Elector, LooksAgainWithinARetryPeriod) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Elector e({.identity = "me"}, Random(seed));
    e.on({{}, {}, Elector::Start{}});
    const auto held = e.on({{}, {}, Elector::Read{held_by("other", 7)}});
    EXPECT_LT(*held.wake, Instant{} + 2s);
    EXPECT_GT(*held.wake, Instant{} + 800ms);
  }
}

TEST(Elector, TakesAReleasedLeaseAtOnce) {
  Candidate c;
  c.tell(Elector::Start{});
  EXPECT_EQ(c.tell(Elector::Read{held_by("", 9)}).call->kind, Kind::kUpdate);
}

TEST(Elector, LosesTheRaceOnConflictAndReadsAgainLater) {
  Candidate c;
  c.tell(Elector::Start{});
  c.tell(Elector::Read{held_by("", 9)});
  const auto lost = c.tell(Elector::Failed{Reason::kConflict});
  EXPECT_FALSE(lost.call.has_value());
  EXPECT_FALSE(c.leads());
  EXPECT_EQ(c.pass(2s).tell(Elector::Tick{}).call->kind, Kind::kGet);
}

TEST(Elector, AConflictWithItsOwnLostWriteDoesNotEndTheTerm) {
  Candidate c = Candidate::leading();
  c.pass(2s).tell(Elector::Tick{});
  c.tell(Elector::Failed{Reason::kUnreachable});
  EXPECT_EQ(c.pass(2s).tell(Elector::Tick{}).call->kind, Kind::kGet);
  const auto again = c.tell(Elector::Read{held_by("me", 1001)});
  EXPECT_EQ(again.call->kind, Kind::kUpdate);
  EXPECT_EQ(again.call->record.revision, 1001u);
  EXPECT_TRUE(c.leads());
}

TEST(Elector, EndsTheTermWhenTheRecordNamesSomebodyElse) {
  Candidate c = Candidate::leading();
  c.pass(2s).tell(Elector::Tick{});
  EXPECT_EQ(c.tell(Elector::Failed{Reason::kConflict}).call->kind, Kind::kGet);
  EXPECT_TRUE(c.tell(Elector::Read{held_by("other", 1200)}).end_term);
  EXPECT_FALSE(c.leads());
}

TEST(Elector, EndsTheTermWhenTheLeaseIsGone) {
  Candidate c = Candidate::leading();
  c.pass(2s).tell(Elector::Tick{});
  EXPECT_TRUE(c.tell(Elector::Failed{Reason::kNotFound}).end_term);
}

TEST(Elector, AClockThatJumpsChangesNothing) {
  Elector e({.identity = "me"}, Random(1));
  const WallTime future{Duration(24h).count()};
  e.on({{}, future, Elector::Start{}});
  LeaseRecord other = held_by("other", 5, Duration(-24h).count());
  EXPECT_FALSE(e.on({Instant{}, future, Elector::Read{other}}).call.has_value());
  EXPECT_EQ(e.on({Instant{} + 14s, WallTime{}, Elector::Tick{}}).call->kind, Kind::kGet);
}

TEST(Elector, ReleasesByAnEmptyHolderAndAShortLease) {
  Candidate c = Candidate::leading();
  const auto release = c.tell(Elector::Release{});
  EXPECT_TRUE(release.end_term);
  ASSERT_EQ(release.call->kind, Kind::kUpdate);
  EXPECT_EQ(release.call->record.holder, "");
  EXPECT_EQ(release.call->record.lease_seconds, 1);
  EXPECT_TRUE(c.accept(release).released);
}

TEST(Elector, AReleaseWaitsForTheRenewalUnderWay) {
  Candidate c = Candidate::leading();
  const auto renew = c.pass(2s).tell(Elector::Tick{});
  EXPECT_FALSE(c.tell(Elector::Release{}).call.has_value());
  const auto release = c.accept(renew);
  EXPECT_EQ(release.call->record.holder, "");
  EXPECT_EQ(release.call->record.revision, 2000u);
}

TEST(Elector, AFollowerHasNothingToRelease) {
  Candidate c;
  c.tell(Elector::Start{});
  c.tell(Elector::Read{held_by("other", 7)});
  const auto release = c.tell(Elector::Release{});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(release.call.has_value());
}

TEST(ElectorSettings, AreRefusedWhereTwoCouldLead) {
  const struct {
    std::string_view name;
    ElectorSettings settings;
    std::string_view message;
  } rows[] = {
      {"no identity", {.identity = ""}, "identity"},
      {"deadline not before the lease's end",
       {.identity = "a", .lease = 10s, .renew_deadline = 10s},
       "greater than the renew deadline"},
      {"no room for a second try",
       {.identity = "a", .lease = 15s, .renew_deadline = 2s, .retry = 2s},
       "1.2 retry periods"},
      {"no period", {.identity = "a", .retry = 0s}, "positive"},
      {"lease below a second",
       {.identity = "a", .lease = 500ms, .renew_deadline = 400ms, .retry = 100ms},
       "1s or more"},
  };
  for (const auto& row : rows) {
    const Result<Ok> checked = check(row.settings);
    ASSERT_FALSE(checked.has_value()) << row.name;
    EXPECT_NE(checked.error().message.find(row.message), std::string::npos)
        << row.name << ": " << checked.error().message;
  }
  EXPECT_TRUE(check(ElectorSettings{.identity = "a"}).has_value());
}

TEST(ElectorIdentity, IsNeverTheSameTwice) {
  Random random(5);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(unique_identity("host", random));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(seen.begin()->substr(0, 5), "host_");
  EXPECT_EQ(seen.begin()->size(), 5u + 36u);
}

}  // namespace
}  // namespace berth::client
