// SPDX-License-Identifier: Apache-2.0
// Whatever the wire does and whoever interferes: in the end every pod is placed, nothing is left
// under way, and the scheduler knows what the server knows.
#include <gmock/gmock.h>

#include "lab.h"
#include "seeds.h"

namespace berth::scheduler::stories {
namespace {

using testing::IsEmpty;

constexpr int kNodes = 5, kPods = 60, kPerNode = 14;

void tamper(Lab& lab, Random& random) {
  lab.replica.wire.delay = [&](const kube::ApiRequest&) {
    return random.below(3) == 0 ? Duration(random.below(2'000'000'000)) : Duration{};
  };
  lab.replica.wire.fate = [&](const kube::ApiRequest& request) {
    if (request.kind == kube::kLease) return Wire::Fate::kDeliver;
    switch (random.below(8)) {
      case 0:
        return Wire::Fate::kLoseReply;
      case 1:
        return Wire::Fate::kLoseRequest;
      default:
        return Wire::Fate::kDeliver;
    }
  };
  lab.replica.wire.refuse = [&](const kube::ApiRequest& request) -> std::optional<Error> {
    if (!is_bind(request) || random.below(8) != 0) return std::nullopt;
    return Error{.reason = Reason::kInternalError, .message = "etcd is away", .code = 500};
  };
}

void interfere(Lab& lab, Random& random) {
  const std::string name = fmt::format("p{}", random.below(kPods));
  if (!lab.server.pod(name).valid()) return;
  switch (random.below(6)) {
    case 0:
      return lab.remove_pod(name);
    case 1:
      if (lab.node_of(name).empty()) lab.mark_deleting(name);
      return;
    case 2:
      if (lab.node_of(name).empty() && !lab.server.pod(name).deleting())
        lab.pod(name, "1", fmt::format(R"(,"nodeName":"n{}")", random.below(kNodes)));
      return;
    case 3:
      return lab.server.objects.cut_watches();
    default:
      return;
  }
}

TEST(SchedulerUnderFaultsProperty, PlacesEveryPodOnceAndKnowsTheTruth) {
  double failed = 0, races = 0;
  for (const Seed seed : faults::seeds_to_try()) {
    SCOPED_TRACE(seed);
    Lab lab(nullptr, nullptr, seed, Order::kShuffled);
    Random random(seed * 77);
    tester.permit = [&](const Pod&) {
      return random.below(6) == 0 ? PermitResult{Status{Code::kWait}, 2s} : PermitResult{};
    };
    tester.pre_flight = [&](const Pod&) {
      return random.below(3) == 0 ? Status{} : Status::skip();
    };
    tester.pre_bind = [&](const Pod&, Done<Status> done) {
      done(random.below(3) == 0 ? Status::error("not now") : Status{});
    };
    for (int i = 0; i < kNodes; ++i) lab.node(fmt::format("n{}", i), fmt::format("{}", kPerNode));
    tamper(lab, random);
    for (int i = 0; i < kPods; ++i) {
      lab.pod(fmt::format("p{}", i), "1", fmt::format(R"(,"priority":{})", random.below(3)));
      interfere(lab, random);
      lab.run(Duration(random.below(300'000'000)));
    }
    for (int i = 0; i < 40; ++i) {
      interfere(lab, random);
      lab.run(Duration(random.below(1'000'000'000)));
    }
    lab.replica.wire.delay = nullptr;
    lab.replica.wire.fate = nullptr;
    lab.replica.wire.refuse = nullptr;
    tester.permit = nullptr;
    tester.pre_flight = [](const Pod&) { return Status::skip(); };
    lab.run(10min);

    for (const auto& [key, pod] : lab.server.objects.all(kube::kPod))
      EXPECT_TRUE(pod.deleting() || lab.node_of(key.name) != "") << key.name;
    EXPECT_EQ(lab.scheduler().binding(), 0u);
    EXPECT_EQ(lab.scheduler().cluster().assumed_count(), 0u);
    EXPECT_THAT(lab.scheduler().queue().in_flight_pods(), IsEmpty());
    EXPECT_EQ(lab.scheduler().cluster().recount(), "");
    std::optional<std::vector<std::string>> found;
    lab.replica.app->compare([&](const std::vector<std::string>& lines) { found = lines; });
    lab.run(20s);
    ASSERT_TRUE(found.has_value());
    EXPECT_THAT(*found, IsEmpty());
    failed += lab.metric(
        R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="error"})");
    races += lab.metric("berth_bind_lost_race_total");
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(failed, 0) << "the faults reach what is tested";
  EXPECT_GT(races, 0);
}

}  // namespace
}  // namespace berth::scheduler::stories
