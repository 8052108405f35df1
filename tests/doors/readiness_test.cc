// SPDX-License-Identifier: Apache-2.0
// An extender is ready once all that the cluster has of slots and scavengers is known to it, and
// not when only a part of it is: the answers in between would name no node.
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab.h"

namespace berth::doors {
namespace {

// A server that is slow to tell of some kinds, or does not have them.
class Uneven final : public client::Transport {
 public:
  explicit Uneven(client::Transport& real) : real_(real) {}

  void call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) override {
    if (slow_.contains(request.kind))
      held_.push_back({std::move(request), deadline, std::move(done)});
    else if (auto refused = refused_.find(request.kind); refused != refused_.end())
      done(fail(refused->second, "not here"));
    else
      real_.call(std::move(request), deadline, std::move(done));
  }
  void slow(kube::KindId kind) { slow_.insert(kind); }
  void refuse(kube::KindId kind, Reason reason) { refused_[kind] = reason; }
  void serve(kube::KindId kind) { refused_.erase(kind); }
  void hurry() {
    slow_.clear();
    for (Call& call : std::exchange(held_, {}))
      real_.call(std::move(call.request), call.deadline, std::move(call.done));
  }

 private:
  struct Call {
    kube::ApiRequest request;
    Instant deadline;
    Done<kube::ApiReply> done;
  };
  client::Transport& real_;
  std::set<kube::KindId> slow_;
  std::map<kube::KindId, Reason> refused_;
  std::vector<Call> held_;
};

class Readiness : public testing::Test {
 protected:
  ~Readiness() override {
    lab.kill_extender();
    lab.run(1s);
    lab.transport = std::move(real_);
  }
  int readyz() {
    int status = 0;
    lab.extender->answer({.target = "/readyz"},
                         [&](const net::HttpResponse& response) { status = response.status; });
    return status;
  }

  Lab lab{{.way = Way::kNone}};

 private:
  std::unique_ptr<client::Transport> real_ = std::move(lab.transport);

 protected:
  Uneven& server = [this]() -> Uneven& {
    auto uneven = std::make_unique<Uneven>(*real_);
    Uneven& there = *uneven;
    lab.transport = std::move(uneven);
    return there;
  }();
};

TEST_F(Readiness, WaitsForTheSlotsOfEitherGroup) {
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()}) {
    server.slow(kinds->ledger);
    lab.start_extender();
    lab.run(5s);
    EXPECT_EQ(readyz(), 503) << kube::kind_of(kinds->ledger).group;
    server.hurry();
    lab.run(5s);
    EXPECT_EQ(readyz(), 200) << kube::kind_of(kinds->ledger).group;
    lab.kill_extender();
  }
}

TEST_F(Readiness, WaitsForScavengersBesideSlots) {
  server.slow(kube::scavenger_kinds().policy);
  lab.start_extender();
  lab.run(5s);
  EXPECT_EQ(readyz(), 503);
  server.hurry();
  lab.run(5s);
  EXPECT_EQ(readyz(), 200);
}

TEST_F(Readiness, DoesNotWaitForKindsThatTheClusterDoesNotHaveOrShow) {
  const kube::SlotKinds& alias = kube::alias_kinds();
  for (const kube::KindId kind : {alias.testbed, alias.ledger, alias.batch_job})
    server.refuse(kind, Reason::kNotFound);
  server.refuse(kube::cerit_kinds().job, Reason::kForbidden);
  lab.start_extender();
  lab.run(5s);
  EXPECT_EQ(readyz(), 200);
  EXPECT_TRUE(lab.extender->feeds().synced());
}

TEST_F(Readiness, TakesScavengersAloneAndLearnsOfSlotsLater) {
  std::vector<kube::KindId> slots;
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()})
    for (const kube::KindId kind : {kinds->testbed, kinds->ledger, kinds->batch_job})
      slots.push_back(kind);
  for (const kube::KindId kind : slots) server.refuse(kind, Reason::kNotFound);
  lab.start_extender();
  lab.run(5s);
  EXPECT_EQ(readyz(), 200);
  EXPECT_FALSE(lab.extender->feeds().synced()) << "there are no slots";
  for (const kube::KindId kind : slots) server.serve(kind);
  lab.run(2min);
  EXPECT_TRUE(lab.extender->feeds().synced());
}

TEST_F(Readiness, IsNeverWithNeitherOfItsTasks) {
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()})
    server.refuse(kinds->testbed, Reason::kNotFound);
  for (const kube::KindId kind : {kube::scavenger_kinds().job, kube::cerit_kinds().job})
    server.refuse(kind, Reason::kNotFound);
  lab.start_extender();
  lab.run(1min);
  EXPECT_EQ(readyz(), 503);
}

}  // namespace
}  // namespace berth::doors
