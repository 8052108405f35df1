// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/rotation.h"

#include <deque>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/time.h"

namespace berth::admission {
namespace {

const WallTime kNow = *kube::parse_time("2026-01-01T00:00:00Z");
constexpr const char* kNames = "hooks.example";

FreshCertificate fresh(int n) {
  return {fmt::format("CA{}\n", n), fmt::format("CERT{}", n), fmt::format("KEY{}", n)};
}
kube::Object parsed(const std::string& json) {
  auto object = kube::Object::parse(json);
  EXPECT_TRUE(object) << json;
  return *object;
}

TEST(CertificateSecret, IsReadAsItWasWritten) {
  Certificates all{.served = fresh(1), .renew_at = kNow, .names = "a,b"};
  for (int i = 0; i < 3; ++i) {
    if (i == 1) all.next = fresh(2), all.next_renew_at = kNow + 1h, all.next_names = "c";
    if (i == 2) all.old_authority = "CA0\n", all.retire_at = kNow + 1min;
    const kube::Object secret = parsed(secret_json({"ns", "tls"}, all, kube::Object()));
    EXPECT_EQ(secret.key().text(), "ns/tls");
    EXPECT_EQ(read_certificates(secret), all) << i;
  }
  EXPECT_EQ(all.bundle(), "CA1\nCA2\nCA0\n");
}

TEST(CertificateSecret, ThatIsNotCompleteIsNone) {
  EXPECT_FALSE(read_certificates(kube::Object()));
  for (
      const char* json :
      {R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}})",
       R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"x","annotations":{"berth.dev/renew-at":"2026-01-01T00:00:00Z"}},"data":{"ca.crt":"QQ==","tls.crt":"QQ=="}})",
       R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"x","annotations":{"berth.dev/renew-at":"soon"}},"data":{"ca.crt":"QQ==","tls.crt":"QQ==","tls.key":"QQ=="}})"})
    EXPECT_FALSE(read_certificates(parsed(json))) << json;
}

TEST(CertificateSecret, NamesTheVersionItReplaces) {
  const kube::Object before = parsed(
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"x","uid":"u","resourceVersion":"7"},"type":"Opaque"})");
  const std::string next = secret_json({"ns", "x"}, {.served = fresh(1)}, before);
  EXPECT_EQ(json::Slice(next)["metadata"]["resourceVersion"].text(), "7");
  EXPECT_EQ(json::Slice(next)["type"].text(), "Opaque") << "it cannot change";
}

struct Row {
  const char* name;
  RotationSight sight;
  RotationStep step;
};

TEST(Rotation, GoesOneStepAtATime) {
  const Instant now{1h};
  const Certificates young{.served = fresh(1), .renew_at = kNow + 24h, .names = kNames};
  Certificates due = young, announced = young, switched = young, over = young;
  due.renew_at = kNow;
  announced.next = fresh(2);
  switched.old_authority = "CA0\n", switched.retire_at = kNow + 5min;
  over.old_authority = "CA0\n", over.retire_at = kNow;
  const Row rows[] = {
      {"nothing there", {.names = kNames}, RotationStep::kMake},
      {"not served yet", {.secret = young, .names = kNames}, RotationStep::kNone},
      {"served", {.secret = young, .names = kNames, .serving = true}, RotationStep::kPublish},
      {"all is well",
       {.secret = young, .names = kNames, .serving = true, .published = true},
       RotationStep::kNone},
      {"two thirds of its life are over",
       {.secret = due, .names = kNames, .serving = true, .published = true},
       RotationStep::kAnnounce},
      {"it is made out to another name",
       {.secret = young, .names = "other", .serving = true, .published = true},
       RotationStep::kAnnounce},
      {"announced, and nobody knows",
       {.secret = announced, .names = kNames, .serving = true},
       RotationStep::kPublish},
      {"announced, and just seen",
       {.secret = announced,
        .names = kNames,
        .serving = true,
        .published = true,
        .published_since = now},
       RotationStep::kNone},
      {"announced, and known to all",
       {.secret = announced,
        .names = kNames,
        .serving = true,
        .published = true,
        .published_since = Instant{30min}},
       RotationStep::kSwitch},
      {"switched",
       {.secret = switched, .names = kNames, .serving = true, .published = true},
       RotationStep::kNone},
      {"switched long ago",
       {.secret = over, .names = kNames, .serving = true, .published = true},
       RotationStep::kRetire},
  };
  for (const Row& row : rows) {
    const RotationDecision decision = decide(row.sight, {}, kNow, now);
    EXPECT_EQ(name_of(decision.step), name_of(row.step)) << row.name;
    EXPECT_EQ(decision.step == RotationStep::kNone, decision.again > Duration{}) << row.name;
  }
}

// One leader, one replica that is late, and API servers that learn of bundles late. Whoever of the
// two answers must be trusted at every moment after the first publication.
class Play {
 public:
  explicit Play(RotationTimes times) : times_(times) {}

  // Kills the leader at its `kill`th write: before it, or with its answer lost.
  void run(Duration how_long, int kill, bool committed) {
    for (Duration at{}; at < how_long; at += 1s) {
      now_ = at;
      if (!published_.empty() && at - published_.back().first >= 20s && published_.size() > 1)
        published_.pop_front();
      step(kill, committed);
      serve();
      check();
    }
  }
  int writes() const { return writes_; }
  int served() const { return served_certificates_; }
  const std::vector<std::string>& wrongs() const { return wrongs_; }

 private:
  WallTime wall() const { return kNow + now_; }
  // API servers have a bundle for up to 20 s after it was replaced.
  std::string trusted() const { return published_.empty() ? "" : published_.front().second; }

  void step(int kill, bool committed) {
    RotationSight sight{.secret = secret_, .names = kNames, .serving = leader_serves_ == secret_};
    sight.published =
        sight.secret && !published_.empty() && published_.back().second == sight.secret->bundle();
    if (!sight.published)
      since_.reset();
    else if (!since_)
      since_ = Instant{now_ + 1h};
    sight.published_since = since_;
    const RotationDecision decision = decide(sight, times_, wall(), Instant{now_ + 1h});
    if (decision.step == RotationStep::kNone) return;
    const bool dies = ++writes_ == kill;
    if (!dies || committed) {
      if (decision.step == RotationStep::kPublish)
        published_.emplace_back(now_, secret_->bundle());
      else
        secret_ = after(decision.step, sight, fresh(++made_), times_, wall());
    }
    if (dies) since_.reset(), leader_serves_.reset();
  }
  void serve() {
    if (secret_ && leader_serves_ != secret_) leader_serves_ = secret_;
    // The other one looks every 30 s.
    if (secret_ && now_.count() % Duration(30s).count() == 0 && replica_serves_ != secret_) {
      if (!replica_serves_ || replica_serves_->served != secret_->served) ++served_certificates_;
      replica_serves_ = secret_;
    }
  }
  void check() {
    if (published_.empty()) return;
    for (const auto* who : {&leader_serves_, &replica_serves_})
      if (*who && trusted().find((*who)->served.authority) == std::string::npos)
        wrongs_.push_back(fmt::format("after {} s {} is served, and trusted are {}", now_ / 1s,
                                      (*who)->served.authority, trusted()));
  }

  RotationTimes times_;
  std::optional<Certificates> secret_, leader_serves_, replica_serves_;
  std::deque<std::pair<Duration, std::string>> published_;  // old ones first
  std::optional<Instant> since_;
  Duration now_{};
  int writes_ = 0, made_ = 0, served_certificates_ = 0;
  std::vector<std::string> wrongs_;
};

TEST(RotationCrashSweep, EveryAnswerIsTrustedWhereverTheLeaderDies) {
  constexpr RotationTimes kTimes{.life = 12min, .settle = 30s, .overlap = 2min};
  Play undisturbed(kTimes);
  undisturbed.run(45min, 0, false);
  const int writes = undisturbed.writes();
  ASSERT_GE(writes, 20) << "five rotations of five writes or so";
  ASSERT_GE(undisturbed.served(), 5);
  for (int kill = 1; kill <= writes; ++kill)
    for (const bool committed : {false, true}) {
      SCOPED_TRACE(
          fmt::format("write {} of {}, {}", kill, writes, committed ? "committed" : "lost"));
      Play play(kTimes);
      play.run(45min, kill, committed);
      ASSERT_THAT(play.wrongs(), testing::IsEmpty());
      EXPECT_GE(play.served(), 4);
    }
}

TEST(Rotation, ThatDoesNotWaitIsFoundOut) {
  Play hasty({.life = 30min, .settle = 0s, .overlap = 5min});
  hasty.run(45min, 0, false);
  EXPECT_THAT(hasty.wrongs(), testing::Not(testing::IsEmpty()));
  Play forgetful({.life = 30min, .settle = 30s, .overlap = 0s});
  forgetful.run(45min, 0, false);
  EXPECT_THAT(forgetful.wrongs(), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace berth::admission
