// SPDX-License-Identifier: Apache-2.0
#include "client/list_watch.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::client {
namespace {

using LW = ListWatch;
using State = LW::State;
using Type = kube::WatchEvent::Type;

// One sentence for what a machine was told to do, for tables.
std::string text(const LW::Effects& e) {
  std::string out;
  const auto add = [&](bool on, std::string_view word) {
    if (on) out.append(out.empty() ? "" : " ").append(word);
  };
  add(e.ignored, "ignored");
  add(e.rewound, "rewound");
  add(e.apply, "apply");
  add(e.commit, "commit");
  add(e.no_streaming, "no-streaming");
  add(e.next_page, "next-page");
  if (e.list) {
    add(true, e.list->not_older_than ? "list>=" + std::to_string(*e.list->not_older_than)
                                     : std::string("list"));
    add(!e.list->paged, "unpaged");
  }
  if (e.watch)
    add(true,
        e.watch->initial_events ? std::string("stream") : "watch@" + std::to_string(e.watch->from));
  add(e.wait.has_value(), "wait");
  return out;
}

std::string_view text(State s) {
  switch (s) {
    case State::kIdle:
      return "idle";
    case State::kStreaming:
      return "streaming";
    case State::kListing:
      return "listing";
    case State::kWaiting:
      return "waiting";
    case State::kWatching:
      return "watching";
  }
  return "?";
}

class Driver {
 public:
  explicit Driver(ListWatchSettings settings = {}) : machine_(settings, Random(7)) {}
  std::string tell(LW::What what) {
    last_ = machine_.on({.now = now_, .what = std::move(what)});
    return text(last_);
  }
  Driver& pass(Duration by) {
    now_ = now_ + by;
    return *this;
  }
  Duration waited() const { return last_.wait.value_or(Duration{}); }
  const LW::Effects& last() const { return last_; }
  std::string state() const { return std::string(text(machine_.state())); }
  LW& machine() { return machine_; }
  Instant now() const { return now_; }

 private:
  Instant now_{};
  LW machine_;
  LW::Effects last_;
};

LW::Event added(kube::Revision r) { return {.type = Type::kAdded, .revision = r}; }
LW::Event bookmark(kube::Revision r, bool end = false) {
  return {.type = Type::kBookmark, .revision = r, .initial_events_end = end};
}
LW::Event error(Failure f) { return {.type = Type::kError, .failure = f}; }
LW::Failed failed(Failure f) { return {.failure = f}; }

// Every state with something known behind it, reached the ordinary way.
Driver idle() { return Driver(); }
Driver streaming() {
  Driver d;
  d.tell(LW::Start{});
  d.tell(LW::Opened{});
  return d;
}
Driver watching() {  // since two seconds, at revision 100
  Driver d = streaming();
  d.tell(bookmark(100, true));
  d.pass(2s);
  return d;
}
Driver listing() {  // for the first time
  Driver d;
  d.tell(LW::Start{});
  d.tell(failed(Failure::kRefused));
  return d;
}
Driver relisting() {
  Driver d = watching();
  d.tell(error(Failure::kGone));
  return d;
}
Driver listing_unpaged() {
  Driver d = relisting();
  d.tell(failed(Failure::kGone));
  d.tell(failed(Failure::kGone));
  return d;
}
Driver waiting_to_watch() {
  Driver d = watching();
  d.tell(failed(Failure::kUnreachable));
  return d;
}
Driver waiting_to_stream() {
  Driver d;
  d.tell(LW::Start{});
  d.tell(failed(Failure::kUnreachable));
  return d;
}
Driver waiting_to_list() {
  Driver d = relisting();
  d.tell(failed(Failure::kUnreachable));
  return d;
}

TEST(ListWatch, AnswersEveryInputInEveryState) {
  const std::map<std::string, std::function<Driver()>> states{
      {"idle", idle},
      {"streaming", streaming},
      {"listing", listing},
      {"relisting", relisting},
      {"listing unpaged", listing_unpaged},
      {"waiting to watch", waiting_to_watch},
      {"waiting to stream", waiting_to_stream},
      {"waiting to list", waiting_to_list},
      {"watching", watching}};
  const std::vector<std::pair<std::string, LW::What>> inputs{
      {"start", LW::Start{}},
      {"opened", LW::Opened{}},
      {"page", LW::Page{.revision = 120, .last = false}},
      {"last page", LW::Page{.revision = 120}},
      {"older page", LW::Page{.revision = 50}},
      {"added", added(101)},
      {"bookmark", bookmark(110)},
      {"annotated bookmark", bookmark(110, true)},
      {"ERROR 410", error(Failure::kGone)},
      {"ERROR 500", error(Failure::kServer)},
      {"ended", LW::Ended{}},
      {"gone", failed(Failure::kGone)},
      {"too large", failed(Failure::kTooLarge)},
      {"throttled", failed(Failure::kThrottled)},
      {"denied", failed(Failure::kDenied)},
      {"refused", failed(Failure::kRefused)},
      {"server error", failed(Failure::kServer)},
      {"unreachable", failed(Failure::kUnreachable)},
      {"wake", LW::Wake{}},
      {"quiet", LW::Quiet{}}};
  // What is not named here is ignored and changes nothing.
  const std::map<std::string, std::map<std::string, std::string>> table{
      {"idle", {{"start", "streaming: stream"}}},
      {"streaming",
       {{"opened", "streaming: "},
        {"added", "streaming: apply"},
        {"bookmark", "listing: no-streaming list"},
        {"annotated bookmark", "watching: commit"},
        {"ERROR 410", "listing: list"},
        {"ERROR 500", "waiting: wait"},
        {"ended", "listing: no-streaming list"},
        {"gone", "listing: list"},
        {"too large", "listing: list"},
        {"throttled", "waiting: wait"},
        {"denied", "listing: list"},
        {"refused", "listing: no-streaming list"},
        {"server error", "waiting: wait"},
        {"unreachable", "waiting: wait"}}},
      {"listing",
       {{"page", "listing: apply next-page"},
        {"last page", "watching: apply commit watch@120"},
        {"older page", "watching: apply commit watch@50"},
        {"gone", "listing: list unpaged"},
        {"too large", "waiting: wait"},
        {"throttled", "waiting: wait"},
        {"denied", "waiting: wait"},
        {"refused", "waiting: wait"},
        {"server error", "waiting: wait"},
        {"unreachable", "waiting: wait"}}},
      {"relisting",
       {{"page", "listing: apply next-page"},
        {"last page", "watching: apply commit watch@120"},
        {"older page", "watching: rewound apply commit watch@50"},
        {"gone", "listing: list"},
        {"too large", "listing: list"},
        {"throttled", "waiting: wait"},
        {"denied", "waiting: wait"},
        {"refused", "waiting: wait"},
        {"server error", "waiting: wait"},
        {"unreachable", "waiting: wait"}}},
      {"listing unpaged",
       {{"page", "listing: apply next-page"},
        {"last page", "watching: apply commit watch@120"},
        {"older page", "watching: rewound apply commit watch@50"},
        {"gone", "waiting: wait"},
        {"too large", "waiting: wait"},
        {"throttled", "waiting: wait"},
        {"denied", "waiting: wait"},
        {"refused", "waiting: wait"},
        {"server error", "waiting: wait"},
        {"unreachable", "waiting: wait"}}},
      {"waiting to watch", {{"wake", "watching: watch@100"}}},
      {"waiting to stream", {{"wake", "streaming: stream"}}},
      {"waiting to list", {{"wake", "listing: list>=100"}}},
      {"watching",
       {{"opened", "watching: "},
        {"added", "watching: apply"},
        {"bookmark", "watching: "},
        {"annotated bookmark", "watching: "},
        {"ERROR 410", "listing: list>=100"},
        {"ERROR 500", "waiting: wait"},
        {"ended", "watching: watch@100"},
        {"gone", "listing: list>=100"},
        {"too large", "listing: list"},
        {"throttled", "waiting: wait"},
        {"denied", "waiting: wait"},
        {"refused", "waiting: wait"},
        {"server error", "waiting: wait"},
        {"unreachable", "waiting: wait"}}}};

  for (const auto& [state, make] : states)
    for (const auto& [name, input] : inputs) {
      Driver d = make();
      const std::string before = d.state();
      std::string effects = d.tell(input);
      const auto& row = table.at(state);
      const auto found = row.find(name);
      const std::string want = found == row.end() ? before + ": ignored" : found->second;
      EXPECT_EQ(d.state() + ": " + effects, want) << state << " / " << name;
    }
}

TEST(ListWatch, ListsAtOnceWhereTheServerIsKnownNotToStream) {
  Driver d({.stream = false});
  EXPECT_EQ(d.tell(LW::Start{}), "list");
}

TEST(ListWatch, NeverStreamsAgainOnceItWasRefused) {
  Driver d = listing();
  d.tell(failed(Failure::kUnreachable));
  EXPECT_EQ(d.tell(LW::Wake{}), "list");
}

TEST(ListWatch, ListsInTheEndWhenStreamingKeepsFailing) {
  Driver d;
  d.tell(LW::Start{});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(d.tell(failed(Failure::kServer)), "wait");
    EXPECT_EQ(d.tell(LW::Wake{}), "stream");
  }
  EXPECT_EQ(d.tell(failed(Failure::kServer)), "wait");
  EXPECT_EQ(d.tell(LW::Wake{}), "list");
  EXPECT_FALSE(d.last().no_streaming);
}

TEST(ListWatch, GivesUpAStreamThatStandsStillForThirtySeconds) {
  Driver d = streaming();
  d.pass(29s).tell(added(5));
  EXPECT_EQ(d.pass(29s).tell(LW::Quiet{}), "ignored");
  EXPECT_EQ(d.pass(1s).tell(LW::Quiet{}), "no-streaming list");
}

TEST(ListWatch, DropsAWatchAfterTwoSilentBookmarkIntervals) {
  Driver d = watching();
  EXPECT_EQ(d.pass(117s).tell(LW::Quiet{}), "ignored");
  EXPECT_EQ(d.pass(1s).tell(LW::Quiet{}), "wait");
  EXPECT_EQ(d.tell(LW::Wake{}), "watch@100");
}

TEST(ListWatch, ABookmarkKeepsAWatchAlive) {
  Driver d = watching();
  d.pass(100s).tell(bookmark(130));
  EXPECT_EQ(d.pass(100s).tell(LW::Quiet{}), "ignored");
  EXPECT_EQ(d.machine().seen(), 130u);
}

TEST(ListWatch, AsksByListAfterASecondSilence) {
  Driver d = watching();
  d.pass(118s).tell(LW::Quiet{});
  d.tell(LW::Wake{});
  d.tell(LW::Opened{});
  EXPECT_EQ(d.pass(120s).tell(LW::Quiet{}), "list>=100");
}

TEST(ListWatch, ASilentServerWithoutBookmarksIsNotListedAgain) {
  Driver d = listing();
  d.tell(LW::Page{.revision = 100});
  d.tell(LW::Opened{});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(d.pass(120s).tell(LW::Quiet{}), "wait");
    EXPECT_EQ(d.tell(LW::Wake{}), "watch@100");
    d.tell(LW::Opened{});
  }
}

TEST(ListWatch, ResumesAtTheLastEventOrBookmarkWhicheverIsLater) {
  Driver d = watching();
  d.tell(added(140));
  d.tell(bookmark(130));
  d.tell(failed(Failure::kUnreachable));
  EXPECT_EQ(d.tell(LW::Wake{}), "watch@140");
}

TEST(ListWatch, ListsSinceLastThenWithoutARevisionThenInOnePiece) {
  Driver d = watching();
  EXPECT_EQ(d.tell(failed(Failure::kGone)), "list>=100");
  EXPECT_EQ(d.tell(failed(Failure::kGone)), "list");
  EXPECT_EQ(d.tell(failed(Failure::kGone)), "list unpaged");
  EXPECT_EQ(d.tell(failed(Failure::kGone)), "wait");
  EXPECT_EQ(d.tell(LW::Wake{}), "list");
}

TEST(ListWatch, AcceptsLowerRevisionsOnlyFromARestoredServer) {
  Driver d = watching();
  EXPECT_EQ(d.tell(failed(Failure::kTooLarge)), "list");
  EXPECT_EQ(d.tell(LW::Page{.revision = 40, .last = false}), "rewound apply next-page");
  EXPECT_EQ(d.tell(LW::Page{.revision = 40}), "rewound apply commit watch@40");
  d.tell(LW::Opened{});
  d.tell(error(Failure::kGone));
  EXPECT_EQ(d.tell(LW::Page{.revision = 41}), "apply commit watch@41");
}

TEST(ListWatch, AVeryShortWatchWaitsBeforeTheNext) {
  Driver d = watching();
  EXPECT_EQ(d.tell(LW::Ended{}), "watch@100");
  d.tell(LW::Opened{});
  EXPECT_EQ(d.pass(999ms).tell(LW::Ended{}), "wait");
}

TEST(ListWatch, AWatchThatIsRefusedOverAndOverLeadsToAList) {
  Driver d = watching();
  for (int i = 0; i < 4; ++i) {
    d.tell(failed(Failure::kRefused));
    EXPECT_EQ(d.tell(LW::Wake{}), "watch@100");
  }
  d.tell(failed(Failure::kRefused));
  EXPECT_EQ(d.tell(LW::Wake{}), "list");
}

TEST(ListWatch, WaitsDoubleFromPointEightToThirtySecondsAndStartAnewAfterTwoMinutes) {
  Driver d = watching();
  Duration low = 800ms;
  for (int i = 0; i < 12; ++i) {
    d.tell(failed(Failure::kUnreachable));
    EXPECT_GE(d.waited(), low) << i;
    EXPECT_LE(d.waited(), std::min<Duration>(low * 2, 30s)) << i;
    low = std::min<Duration>(low * 2, 15s);
    d.pass(d.waited()).tell(LW::Wake{});
  }
  d.tell(LW::Opened{});
  d.pass(121s).tell(failed(Failure::kUnreachable));
  EXPECT_LT(d.waited(), 1600ms);
}

TEST(ListWatch, WaitsAtLeastAsLongAsTheServerAsks) {
  Driver d = watching();
  d.tell(LW::Failed{.failure = Failure::kThrottled, .retry_after = 42s});
  EXPECT_EQ(d.waited(), Duration(42s));
}

TEST(ListWatch, AsksForWatchesOfFiveToTenMinutes) {
  Driver d = watching();
  std::int64_t least = 1'000, most = 0;
  for (int i = 0; i < 200; ++i) {
    d.pass(400s).tell(LW::Ended{});
    ASSERT_TRUE(d.last().watch.has_value());
    least = std::min(least, d.last().watch->timeout_seconds);
    most = std::max(most, d.last().watch->timeout_seconds);
    d.tell(LW::Opened{});
  }
  EXPECT_GE(least, 300);
  EXPECT_LE(most, 600);
  EXPECT_GT(most - least, 200);
}

LW::What any_input(Random& random) {
  const auto failure = static_cast<Failure>(random.below(7));
  const kube::Revision revision = random.below(300);
  switch (random.below(9)) {
    case 0:
      return LW::Opened{};
    case 1:
      return LW::Page{.revision = revision, .last = random.chance(0.5)};
    case 2:
      return added(revision);
    case 3:
      return bookmark(revision, random.chance(0.5));
    case 4:
      return error(failure);
    case 5:
      return LW::Ended{};
    case 6:
      return failed(failure);
    case 7:
      return LW::Wake{};
    default:
      return LW::Quiet{};
  }
}

// A server that is well again answers what is asked for.
LW::What helpful_answer(const Driver& d) {
  if (d.state() == "waiting") return LW::Wake{};
  if (d.state() == "listing") return LW::Page{.revision = 500};
  return bookmark(500, true);
}

TEST(ListWatch, AlwaysHasOneThingToDoAndGetsBackToWatching) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Driver d;
    d.tell(LW::Start{});
    for (int i = 0; i < 300; ++i) {
      const State before = d.machine().state();
      d.pass(std::chrono::milliseconds(random.below(60'000))).tell(any_input(random));
      const LW::Effects& e = d.last();
      const int next = e.list.has_value() + e.watch.has_value() + e.wait.has_value() + e.next_page;
      ASSERT_LE(next, 1);
      ASSERT_TRUE(!e.wait || *e.wait >= 800ms);
      ASSERT_TRUE(before != State::kWaiting || e.ignored || e.list || e.watch);
      ASSERT_TRUE(d.machine().state() == before || e.commit || next == 1) << "nothing would follow";
    }
    for (int i = 0; i < 4 && d.machine().seen() != 500; ++i) d.tell(helpful_answer(d));
    EXPECT_EQ(d.state(), "watching");
    EXPECT_EQ(d.machine().seen(), 500u);
  }
}

TEST(ListWatchFailure, IsReadFromReasonCodeAndCause) {
  const struct {
    std::string_view name;
    Error error;
    Failure want;
  } rows[] = {
      {"HTTP 410", {.reason = Reason::kGone, .message = "", .code = 410}, Failure::kGone},
      {"Status Expired", {.reason = Reason::kExpired, .message = ""}, Failure::kGone},
      {"an unnamed 410", {.reason = Reason::kUnknown, .message = "", .code = 410}, Failure::kGone},
      {"the cause of a 504",
       {.reason = Reason::kTimeout,
        .message = "Timeout",
        .causes = {{"ResourceVersionTooLarge", "", ""}},
        .code = 504},
       Failure::kTooLarge},
      {"only the text",
       {.reason = Reason::kTimeout,
        .message = "Too large resource version: 9, current: 3",
        .code = 504},
       Failure::kTooLarge},
      {"429",
       {.reason = Reason::kTooManyRequests, .message = "", .code = 429},
       Failure::kThrottled},
      {"403", {.reason = Reason::kForbidden, .message = "", .code = 403}, Failure::kDenied},
      {"401", {.reason = Reason::kUnauthorized, .message = "", .code = 401}, Failure::kDenied},
      {"422", {.reason = Reason::kInvalid, .message = "", .code = 422}, Failure::kRefused},
      {"400", {.reason = Reason::kBadRequest, .message = ""}, Failure::kRefused},
      {"500", {.reason = Reason::kInternalError, .message = "", .code = 500}, Failure::kServer},
      {"504", {.reason = Reason::kTimeout, .message = "", .code = 504}, Failure::kServer},
      {"our own limit", {.reason = Reason::kTimeout, .message = ""}, Failure::kUnreachable},
      {"no connection", {.reason = Reason::kUnreachable, .message = ""}, Failure::kUnreachable},
      {"nothing known", {.reason = Reason::kUnknown, .message = ""}, Failure::kServer},
  };
  for (const auto& row : rows) EXPECT_EQ(failure_of(row.error), row.want) << row.name;
}

}  // namespace
}  // namespace berth::client
