// SPDX-License-Identifier: Apache-2.0
// Electors in processes of their own, killed with -9, judged by the Lease's own record.
#include <algorithm>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "client/informer.h"
#include "client/leader_election.h"
#include "control_plane.h"
#include "scale.h"
#include "session.h"

namespace berth::e2e {
namespace {
using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct Times {
  milliseconds lease, renew, retry;
};

// Follows every version of the Lease. All times in it are of one machine, so they compare.
class Observer {
 public:
  explicit Observer(Session& session)
      : session_(session), scope_(session.loop().child("observer")) {
    session_.loop().run([&] {
      informer_ = std::make_unique<client::Informer<>>(
          scope_, session_.transport(), Random::from_entropy(),
          client::InformerOptions{.feed = {.kind = kube::kLease,
                                           .ns = "default",
                                           .field_selector = "metadata.name=election"}});
      informer_->add_handler(
          {.added = [this](const kube::Object& o) { history_.push_back(client::lease_record(o)); },
           .updated = [this](
                          const kube::Object&,
                          const kube::Object& o) { history_.push_back(client::lease_record(o)); }});
      informer_->start();
    });
  }

  ~Observer() {
    session_.loop().close(scope_);
    session_.loop().run([&] { informer_.reset(); });
  }

  std::vector<client::LeaseRecord> history() {
    std::vector<client::LeaseRecord> out;
    session_.loop().run([&] { out = history_; });
    return out;
  }
  std::string holder() {
    const auto all = history();
    return all.empty() ? "" : all.back().holder;
  }
  std::uint64_t restarts() {
    std::uint64_t out = 0;
    session_.loop().run(
        [&] { out = informer_->stats().watch_restarts + informer_->stats().relists; });
    return out;
  }

 private:
  Session& session_;
  Scope& scope_;
  std::unique_ptr<client::Informer<>> informer_;
  std::vector<client::LeaseRecord> history_;
};

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// Never two at once: a holder follows another only when that one's lease had run out, or was given
// up; a claim keeps its acquireTime and its number while it lasts.
void check_history(const std::vector<client::LeaseRecord>& history) {
  for (std::size_t i = 1; i < history.size(); ++i) {
    const client::LeaseRecord& before = history[i - 1];
    const client::LeaseRecord& now = history[i];
    SCOPED_TRACE(fmt::format("record {}: \"{}\" after \"{}\"", i, now.holder, before.holder));
    EXPECT_GE(now.renewed, before.renewed);
    if (now.holder == before.holder) {
      EXPECT_EQ(now.acquired, before.acquired);
      EXPECT_EQ(now.transitions, before.transitions);
    } else if (now.holder.empty()) {
      EXPECT_EQ(now.transitions, before.transitions);
    } else {
      EXPECT_EQ(now.transitions, before.transitions + 1);
      if (!before.holder.empty()) {
        EXPECT_GE(now.acquired, before.renewed + std::chrono::seconds(before.lease_seconds))
            << "the lease had not run out";
      }
    }
  }
}

class Electorate {
 public:
  Electorate(ControlPlane& plane, Times times) : plane_(plane), times_(times) {}

  // A new process with a name never used before.
  void enter() {
    const std::string name = fmt::format("elector-{}", ++entered_);
    auto child = Child::start(
        {.program = BERTH_ELECTOR,
         .args = {plane_.kubeconfig().string(), name, std::to_string(times_.lease.count()),
                  std::to_string(times_.renew.count()), std::to_string(times_.retry.count())},
         .env = {},
         .log = plane_.folder().path() / (name + ".log")});
    ASSERT_TRUE(child) << child.error().message;
    running_[name] = std::move(*child);
  }
  void end(const std::string& name, int signal) {
    ASSERT_EQ(running_.count(name), 1u) << name;
    running_[name]->signal(signal);
    ASSERT_TRUE(running_[name]->wait(30s));
    running_.erase(name);
  }
  bool has(const std::string& name) const { return running_.count(name) > 0; }
  std::string log(const std::string& name) const { return running_.at(name)->log(); }

 private:
  ControlPlane& plane_;
  Times times_;
  int entered_ = 0;
  std::map<std::string, std::unique_ptr<Child>> running_;
};

// The time between the last renewal of a holder and the claim of the next is told by the record
// itself. `kNoise` is what two busy cores may add to a process that wants to run; it widens the
// upper bound alone.
constexpr Duration kNoise = 1s;

void kill_leaders(int kills, Times times) {
  BERTH_CONTROL_PLANE(plane);
  auto session = Session::open(plane.kubeconfig());
  ASSERT_TRUE(session) << session.error().message;
  Electorate electorate(plane, times);
  electorate.enter();
  electorate.enter();
  Observer observer(**session);

  const auto patience = std::chrono::seconds(60);
  std::vector<double> took;
  for (int kill = 0; kill < kills; ++kill) {
    std::string leader;
    ASSERT_TRUE(eventually(patience, [&] { return electorate.has(leader = observer.holder()); }))
        << plane.log_tails();
    // By its own account, too; and the follower has had time to look at the record once.
    ASSERT_TRUE(eventually(patience, [&] {
      return electorate.log(leader).find("leading") != std::string::npos &&
             observer.history().back().renewed - observer.history().back().acquired >= times.retry;
    }));
    electorate.end(leader, SIGKILL);
    const auto killed = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually(patience, [&] { return electorate.has(observer.holder()); }))
        << "nobody took over";
    const Duration noticed = std::chrono::steady_clock::now() - killed;
    EXPECT_LE(noticed, times.lease + times.retry + kNoise);
    took.push_back(seconds(noticed));
    electorate.enter();
  }

  const std::vector<client::LeaseRecord> history = observer.history();
  check_history(history);
  EXPECT_EQ(observer.restarts(), 0u) << "the observer may have missed a record";
  double longest = 0;
  int changes = 0;
  for (std::size_t i = 1; i < history.size(); ++i) {
    if (history[i].holder == history[i - 1].holder) continue;
    ++changes;
    const Duration gap = history[i].acquired - history[i - 1].renewed;
    EXPECT_LE(gap, times.lease + times.retry + kNoise);
    longest = std::max(longest, seconds(gap));
  }
  EXPECT_EQ(changes, kills) << "leadership changed without need";
  fmt::print(
      "lease {} s, retry {} s, {} kills: longest vacancy by the record {:.3f} s; from kill to the "
      "next holder {:.3f} to {:.3f} s; {} records\n",
      seconds(times.lease), seconds(times.retry), kills, longest,
      *std::min_element(took.begin(), took.end()), *std::max_element(took.begin(), took.end()),
      history.size());
}

TEST(RealElection, FollowsAKilledLeaderWithinLeaseAndRetry) {
  kill_leaders(scaled(3, 20), {.lease = 3000ms, .renew = 2000ms, .retry = 500ms});
}

TEST(RealElection, FollowsAKilledLeaderWithTheTimesOfEveryday) {
  if (!nightly()) GTEST_SKIP() << "takes half a minute: `make nightly` runs it";
  kill_leaders(1, {.lease = 15s, .renew = 10s, .retry = 2s});
}

TEST(RealElection, AReleasedLeaseIsTakenAtOnce) {
  BERTH_CONTROL_PLANE(plane);
  auto session = Session::open(plane.kubeconfig());
  ASSERT_TRUE(session) << session.error().message;
  const Times times{.lease = 60s, .renew = 40s, .retry = 500ms};
  Electorate electorate(plane, times);
  electorate.enter();
  Observer observer(**session);
  ASSERT_TRUE(eventually(60s, [&] { return observer.holder() == "elector-1"; }));
  electorate.enter();
  electorate.end("elector-1", SIGTERM);
  // Far sooner than the lease, which a follower of a killed leader would have to sit out.
  EXPECT_TRUE(eventually(20s, [&] { return observer.holder() == "elector-2"; }));
  const std::vector<client::LeaseRecord> history = observer.history();
  check_history(history);
  EXPECT_TRUE(std::any_of(history.begin(), history.end(),
                          [](const client::LeaseRecord& claim) { return claim.holder.empty(); }));
}

}  // namespace
}  // namespace berth::e2e
