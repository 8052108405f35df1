// SPDX-License-Identifier: Apache-2.0
// Informers against the real kube-apiserver and etcd.
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "control_plane.h"
#include "scale.h"
#include "session.h"
#include "watched.h"
#include "writer.h"

namespace berth::e2e {
namespace {

using ::testing::IsEmpty;
using namespace std::chrono_literals;

client::FeedOptions pods(bool stream) {
  client::FeedOptions feed{.kind = kube::kPod, .ns = "default"};
  feed.settings.stream = stream;
  return feed;
}

std::unique_ptr<Session> open(const std::filesystem::path& kubeconfig) {
  auto session = Session::open(kubeconfig);
  EXPECT_TRUE(session) << session.error().message;
  return session ? std::move(*session) : nullptr;
}

// Waits until the store shows what a fresh list shows; the difference when it never does.
std::string converge(Watched& watched, Session& session) {
  std::string left;
  eventually(60s, [&] {
    const auto list = session.list_all(kube::kPod, "default");
    left = list ? difference(watched.contents(), contents_of(*list)) : list.error().message;
    return left.empty();
  });
  return left;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(RealInformer, HoldsWhatAFreshListHolds) {
  BERTH_CONTROL_PLANE(plane);
  auto session = open(plane.kubeconfig());
  const std::size_t count = scaled<std::size_t>(2000, 20000);
  const auto created = create_pods(*session, "default", count);
  ASSERT_TRUE(created) << created.error().message << plane.log_tails();
  for (bool stream : {true, false}) {
    SCOPED_TRACE(stream ? "WatchList" : "list in pages, then watch");
    auto watcher = open(plane.kubeconfig());
    Watched watched(*watcher, pods(stream));
    ASSERT_TRUE(eventually(120s, [&] { return watched.synced(); }));
    const Contents store = watched.contents();
    EXPECT_EQ(store.size(), count);
    const auto list = session->list_all(kube::kPod, "default");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(difference(store, contents_of(*list)), "");
    EXPECT_EQ(watched.delivered(), count);
    EXPECT_THAT(watched.violations(), IsEmpty());
    EXPECT_EQ(watched.stats().relists, 0u);
  }
}

TEST(RealInformer, LosesNothingWhenTheServerIsKilledAgainAndAgain) {
  BERTH_CONTROL_PLANE(plane);
  const std::uint64_t seed = 36;
  const int kills = scaled(3, 10);
  auto session = open(plane.kubeconfig());
  Watched watched(*session, pods(true));
  ASSERT_TRUE(eventually(60s, [&] { return watched.synced(); }));
  Writer writer(*session, "default", scaled<std::size_t>(500, 5000), seed);
  writer.start();

  double away_cpu = 0, away_time = 0;
  for (int kill = 1; kill <= kills; ++kill) {
    ASSERT_TRUE(eventually(300s, [&] { return writer.progress() >= kill / (kills + 1.0); }))
        << writer.progress() << plane.log_tails();
    plane.kill_api_server();
    const std::uint64_t requests = watched.stats().requests;
    const double cpu = cpu_seconds();
    const auto from = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(3s);  // the writer, too, finds nobody
    away_cpu += cpu_seconds() - cpu;
    away_time += std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    EXPECT_LE(watched.stats().requests - requests, 8u) << "reconnects without patience";
    const auto up = plane.start_api_server();
    ASSERT_TRUE(up) << up.error().message;
  }
  ASSERT_TRUE(eventually(600s, [&] { return writer.finished(); }))
      << writer.progress() << plane.log_tails();

  EXPECT_EQ(converge(watched, *session), "");
  EXPECT_THAT(watched.violations(), IsEmpty());
  EXPECT_LT(away_cpu / away_time, 0.05) << "the client keeps the CPU busy while nobody is there";
  const client::FeedStats stats = watched.stats();
  fmt::print(
      "seed {}: {} kills, {} writes ({} repeated), {} deliveries, {} relists, {} watch restarts, "
      "{} "
      "stale events dropped, {:.2f} % CPU while away\n",
      seed, kills, writer.steps(), writer.repeated(), watched.delivered(), stats.relists,
      stats.watch_restarts, stats.stale, 100 * away_cpu / away_time);
}

TEST(RealInformer, RelistsWhenItsRevisionWasCompacted) {
  BERTH_CONTROL_PLANE(plane);
  auto session = open(plane.kubeconfig());
  ASSERT_TRUE(create_pods(*session, "default", 50));
  auto watcher = open(plane.kubeconfig());
  Watched streaming(*watcher, pods(true)), listing(*watcher, pods(false));
  ASSERT_TRUE(eventually(60s, [&] { return streaming.synced() && listing.synced(); }));
  const auto list = session->list_all(kube::kPod, "default");
  ASSERT_TRUE(list) << list.error().message;
  const std::string before = std::to_string(list->revision);

  // Behind their backs: change, create and delete; then forget all of it.
  plane.kill_api_server();
  ASSERT_TRUE(plane.start_api_server_elsewhere());
  {
    auto other = open(plane.elsewhere_kubeconfig());
    for (int i = 0; i < 10; ++i) {
      const kube::Key key = list->items[static_cast<std::size_t>(i)].key();
      if (i < 5)
        ASSERT_TRUE(other->erase(kube::kPod, key, {.grace_period_seconds = 0}));
      else
        ASSERT_TRUE(other->patch(kube::kPod, key, R"({"metadata":{"labels":{"step":"1"}}})"));
    }
    ASSERT_TRUE(create_pods(*other, "default", 60));  // the five again, with new uids, and ten more
  }
  const auto compacted = plane.compact();
  ASSERT_TRUE(compacted) << compacted.error().message;
  plane.kill_api_server();
  ASSERT_TRUE(plane.start_api_server());

  // The revision they stopped at is really gone.
  const auto gone = session->ask<kube::ApiReply>([&](client::Api& api, Done<kube::ApiReply> done) {
    kube::ApiRequest request{.verb = kube::Verb::kList, .kind = kube::kPod, .ns = "default"};
    request.options.resource_version = before;
    request.options.version_match = kube::VersionMatch::kExact;
    api.call(std::move(request), client::Urgency::kStatus, std::move(done));
  });
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, 410) << gone.error().message;

  for (Watched* watched : {&streaming, &listing}) {
    SCOPED_TRACE(watched == &streaming ? "WatchList" : "list in pages, then watch");
    EXPECT_EQ(converge(*watched, *session), "");
    EXPECT_THAT(watched->violations(), IsEmpty());
    EXPECT_GE(watched->stats().relists, 1u);
    // 50 at first; 5 deleted, 5 patched, 5 created again, 10 created.
    EXPECT_EQ(watched->delivered(), 50u + 5u + 5u + 5u + 10u);
  }
}

}  // namespace
}  // namespace berth::e2e
