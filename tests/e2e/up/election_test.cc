// SPDX-License-Identifier: Apache-2.0
// Schedulers in processes of their own on `berth up`, killed with -9: the next one follows once the
// lease of the last has run out, and not before, and places what was left waiting.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "berth_up.h"
#include "client/leader_election.h"
#include "kube/pod_view.h"
#include "session.h"

namespace berth::e2e {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr int kKills = 2;

class UpElection : public testing::Test {
 protected:
  void SetUp() override {
    auto up = BerthUp::start({.flags = {"--nodes", "1", "--without", "scheduler"}});
    ASSERT_TRUE(up) << up.error().message;
    up_ = *std::move(up);
    auto session = Session::open(up_->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    admin_ = *std::move(session);
  }
  std::unique_ptr<Child> scheduler(int number) {
    auto child = Child::start(
        {.program = BERTH_BERTH,
         .args = {"scheduler", "--kubeconfig", up_->kubeconfig().string(), "--secure-port", "0",
                  "--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s",
                  "--leader-elect-retry-period", "500ms"},
         .env = {},
         .log = up_->folder().path() / fmt::format("scheduler-{}.log", number)});
    EXPECT_TRUE(child) << child.error().message;
    return child ? *std::move(child) : nullptr;
  }
  client::LeaseRecord lease() {
    const auto object = admin_->get(kube::kLease, {"kube-system", "kube-scheduler"});
    return object ? client::lease_record(*object) : client::LeaseRecord();
  }
  void pod_is_placed(const std::string& name) {
    const auto made = admin_->create(
        kube::kPod, "default",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
            name));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(eventually(kPatience,
                           [&] {
                             const auto pod = admin_->get(kube::kPod, {"default", name});
                             return pod && kube::PodView(*pod).assigned();
                           }))
        << "nobody places " << name;
  }

  std::unique_ptr<BerthUp> up_;
  std::unique_ptr<Session> admin_;
};

TEST_F(UpElection, TheNextFollowsAKilledLeaderOnceItsLeaseHasRunOut) {
  std::unique_ptr<Child> leader = scheduler(0);
  ASSERT_NE(leader, nullptr);
  ASSERT_NO_FATAL_FAILURE(pod_is_placed("first"));
  for (int kill = 1; kill <= kKills; ++kill) {
    SCOPED_TRACE(fmt::format("kill {}", kill));
    std::unique_ptr<Child> next = scheduler(kill);
    ASSERT_NE(next, nullptr);
    // It looks at the lease, and lets it be.
    const client::LeaseRecord held = lease();
    ASSERT_FALSE(held.holder.empty());
    ASSERT_TRUE(eventually(kPatience, [&] { return lease().renewed > held.renewed + 2s; }));
    EXPECT_EQ(lease().holder, held.holder);

    leader->signal(SIGKILL);
    ASSERT_TRUE(leader->wait(kPatience));
    const client::LeaseRecord last = lease();
    ASSERT_NO_FATAL_FAILURE(pod_is_placed(fmt::format("after-{}", kill)));
    const client::LeaseRecord now = lease();
    EXPECT_NE(now.holder, last.holder);
    EXPECT_EQ(now.transitions, last.transitions + 1);
    EXPECT_GE(now.acquired, last.renewed + std::chrono::seconds(last.lease_seconds));
    leader = std::move(next);
  }
}

}  // namespace
}  // namespace berth::e2e
