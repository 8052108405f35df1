// SPDX-License-Identifier: Apache-2.0
// `berth up` is killed during writes, again and again on the same data directory. What it had
// answered is there afterwards, what it had not answered is there wholly or not at all.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/slice.h"
#include "scribes.h"

namespace berth::e2e {
namespace {

using conformance::Wire;

constexpr int kWriters = 6;
constexpr std::uint64_t kSeed = 11;

int kills() {
  const char* const asked = std::getenv("BERTH_KILLS");
  return asked == nullptr ? 30 : std::atoi(asked);
}

// A watch from before the restart goes on or is told to start anew; it never leaves anything out
// silently.
void check_old_watch(Wire& wire, kube::Revision from, int life) {
  const auto stream =
      wire.open({.method = "GET",
                 .target = fmt::format(
                     "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion={}", from),
                 .headers = {},
                 .body = {}});
  ASSERT_TRUE(stream) << stream.error().message;
  const std::string probe = fmt::format("probe-{}", life);
  const auto made = ask(wire, "POST", "/api/v1/namespaces/default/configmaps",
                        fmt::format(R"({{"metadata":{{"name":"{}"}}}})", probe));
  ASSERT_TRUE(made && made->status == 201);
  for (;;) {
    const auto line = (*stream)->line(60s);
    ASSERT_TRUE(line) << line.error().message;
    const json::Slice event(*line);
    if (event["type"].text() == "ERROR") {
      EXPECT_EQ(event["object"]["code"].integer(), 410) << *line;
      EXPECT_EQ(event["object"]["reason"].text(), "Expired") << *line;
      return;
    }
    if (event["object"]["metadata"]["name"].text() == probe) return;
  }
}

// One life of the server under all writers, up to its end.
void live_and_die(BerthUp& up, std::vector<Scribe>& writers, Witness& witness, Promises& promises,
                  kube::Revision now, std::size_t writes) {
  std::atomic<bool> stop = false, watching = false;
  std::vector<std::thread> threads;
  threads.emplace_back([&] { witness.run(up.access(), now, watching); });
  for (Scribe& writer : writers) threads.emplace_back([&] { writer.run(up.access(), stop); });
  const std::size_t enough = promises.writes() + writes;
  while (promises.writes() < enough && up.child().running()) std::this_thread::yield();
  EXPECT_TRUE(up.child().running()) << "it ended by itself:\n" << up.said();
  up.kill();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const Scribe& writer : writers) EXPECT_THAT(writer.complaints, testing::IsEmpty());
  EXPECT_THAT(witness.complaints, testing::IsEmpty());
}

TEST(Kills, NothingAnsweredIsLostAndNothingIsHalfDone) {
  std::cout << "seed " << kSeed << ", " << kills() << " kills during writes\n";
  const TempFolder folder;
  Random random(kSeed);
  Promises promises;
  std::vector<Scribe> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back(i, promises, random.fork(fmt::format("writer {}", i)));
  Witness witness;
  std::size_t witnessed = 0;
  std::vector<double> starts;  // ms
  int during_writes = 0, elsewhere = 0;
  for (int life = 0; !testing::Test::HasFailure(); ++life) {
    SCOPED_TRACE(fmt::format("life {} of seed {}", life, kSeed));
    BerthUp::Options options{
        .folder = folder.path(), .data_dir = folder.path() / "data", .flags = bare()};
    if (random.chance(0.2)) options.flags.emplace_back("--fsync");
    const auto begin = std::chrono::steady_clock::now();
    auto up = BerthUp::launch(options);
    ASSERT_TRUE(up) << up.error().message;
    if (random.chance(0.15) && during_writes < kills()) {  // before it is ready
      for (std::uint64_t looks = random.below(3'000); looks > 0; --looks) (*up)->resident_kib();
      (*up)->kill();
      ++elsewhere;
      continue;
    }
    const auto ready = (*up)->wait_ready();
    ASSERT_TRUE(ready) << ready.error().message;
    starts.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    Wire wire((*up)->access());
    const auto now = everything(wire);
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_GE(now->revision, promises.newest()) << "revisions went back";
    for (Scribe& writer : writers) writer.check(*now);
    witness.check(*now, writers);
    witnessed += witness.seen();
    witness = {};
    if (promises.newest() > 0) check_old_watch(wire, promises.newest(), life);
    if (const auto shared = now->objects.find(kShared); shared != now->objects.end()) {
      promises.check_shared(shared->second);
    } else {
      EXPECT_EQ(promises.writes(), 0u) << "the shared object is gone";
      const auto made = ask(
          wire, "POST", "/api/v1/namespaces/default/configmaps",
          fmt::format(
              R"({{"metadata":{{"name":"{}"}},"data":{{"value":"-","again":"-","length":"0","filler":""}}}})",
              kShared));
      ASSERT_TRUE(made && made->status == 201);
      promises.shared_asked("-");
    }
    const auto then = everything(wire);
    ASSERT_TRUE(then);
    if (during_writes == kills()) {
      EXPECT_TRUE((*up)->end()) << (*up)->said();
      break;
    }
    live_and_die(**up, writers, witness, promises, then->revision, random.below(300));
    ++(std::ranges::any_of(writers, &Scribe::waits) ? during_writes : elsewhere);
  }
  std::size_t kept = 0, gone = 0;
  for (const Scribe& writer : writers) {
    kept += writer.unanswered_kept;
    gone += writer.unanswered_gone;
  }
  std::sort(starts.begin(), starts.end());
  std::cout << fmt::format(
      "{} kills during writes, {} besides; {} writes answered, {} unanswered of which {} were "
      "kept; "
      "{} objects seen by watches; start until ready {:.0f} ms (median), {:.0f} ms (longest)\n",
      during_writes, elsewhere, promises.writes(), kept + gone, kept, witnessed,
      starts[starts.size() / 2], starts.back());
  EXPECT_GT(promises.writes(), static_cast<std::size_t>(kills()) * 50);
  EXPECT_GT(witnessed, static_cast<std::size_t>(kills()));
}

}  // namespace
}  // namespace berth::e2e
