// SPDX-License-Identifier: Apache-2.0
#include "controllers/scheduling/claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/ours/reasons.h"

namespace berth::controllers {
namespace {

using Kind = ClaimStep::Kind;

bool wants(const Claimant& one, const Key& job) {
  return one.live && std::any_of(one.jobs.begin(), one.jobs.end(), [&](const auto& each) {
           return each.job == job && !each.finished;
         });
}

class Rule {
 public:
  Rule(const ClaimFacts& facts, const Claimant& self) : facts_(facts), self_(self) {}

  ClaimStep step() {
    std::size_t index = 0, blocked_at = self_.jobs.size();
    for (const Claimant::Wanted& each : self_.jobs) {
      const std::size_t at = index++;
      const auto found = facts_.jobs.find(each.job);
      if (found == facts_.jobs.end() || each.finished) continue;
      if (blocks(each, found->second)) blocked_at = std::min(blocked_at, at);
    }
    const bool testbed_blocks = !self_.acquired && blocks_testbed();
    if (const std::vector<Key> back = given_back(testbed_blocks ? 0 : blocked_at); !back.empty())
      return {Kind::kRelease, back, reason_, message_};
    const bool blocked = testbed_blocks || blocked_at < self_.jobs.size();
    if (blocked && !self_.acquired) return {Kind::kWait, {}, reason_, message_};
    // What stands before a blocked entry can still run.
    std::set<Key> next;
    for (std::size_t i = 0; i < blocked_at; ++i) {
      const auto found = facts_.jobs.find(self_.jobs[i].job);
      if (found != facts_.jobs.end() && !self_.jobs[i].finished && found->second.empty())
        next.insert(self_.jobs[i].job);
    }
    if (!next.empty()) return {Kind::kClaim, {*next.begin()}, {}, {}};
    if (blocks_testbed()) return {Kind::kWait, {}, reason_, message_};
    if (!self_.testbed.name.empty() && facts_.testbeds.at(self_.testbed) != self_.uid) {
      return {Kind::kTestbed, {}, kube::reason::kTestbedHeld, "the Testbed is being acquired"};
    }
    if (blocked) return {Kind::kWait, {}, reason_, message_};
    return {.kind = Kind::kOwns};
  }

 private:
  void because(std::string_view reason, std::string message) {
    if (!reason_.empty()) return;  // the first counts
    reason_ = reason;
    message_ = std::move(message);
  }
  const Claimant* named(const std::string& uid) const {
    for (const Claimant& one : facts_.by_ticket)
      if (one.uid == uid) return &one;
    return nullptr;
  }
  std::string name_of(const std::string& uid) const {
    const Claimant* one = named(uid);
    return one == nullptr ? "another Scheduling" : one->key.text();
  }
  // Those with a smaller ticket.
  template <class Wants>
  const Claimant* earlier(const Wants& wants_it) const {
    for (const Claimant& one : facts_.by_ticket) {
      if (one.uid == self_.uid) return nullptr;
      if (wants_it(one)) return &one;
    }
    return nullptr;
  }

  bool blocks(const Claimant::Wanted& each, const std::string& holder) {
    if (holder == self_.uid && each.started) return false;
    if (!holder.empty() && holder != self_.uid) {
      because(kube::reason::kJobHeld,
              fmt::format("BatchJob {} is held by {}", each.job.text(), name_of(holder)));
      return true;
    }
    const Claimant* first = earlier([&](const Claimant& one) { return wants(one, each.job); });
    if (first == nullptr) return false;
    because(kube::reason::kNotFirst,
            fmt::format("{} is older and wants BatchJob {}", first->key.text(), each.job.text()));
    return true;
  }
  bool blocks_testbed() {
    if (self_.testbed.name.empty()) return false;
    const auto found = facts_.testbeds.find(self_.testbed);
    if (found == facts_.testbeds.end()) {
      because(kube::reason::kTestbedNotFound,
              fmt::format("Testbed {} does not exist", self_.testbed.text()));
      return true;
    }
    if (found->second == self_.uid) return false;
    if (!found->second.empty()) {
      because(
          kube::reason::kTestbedHeld,
          fmt::format("Testbed {} is held by {}", self_.testbed.text(), name_of(found->second)));
      return true;
    }
    const Claimant* first =
        earlier([&](const Claimant& one) { return one.live && one.testbed == self_.testbed; });
    if (first == nullptr) return false;
    because(kube::reason::kNotFirst, fmt::format("{} is older and wants Testbed {}",
                                                 first->key.text(), self_.testbed.text()));
    return true;
  }

  // What it holds and must not: all that is not started, behind what blocks it; and what it has
  // finished with, where another wants it; and what it never wanted.
  std::vector<Key> given_back(std::size_t blocked_at) const {
    std::vector<Key> back;
    const bool blocked = blocked_at < self_.jobs.size() || (blocked_at == 0 && !self_.acquired);
    for (const auto& [job, holder] : facts_.jobs) {
      if (holder != self_.uid) continue;
      std::size_t at = 0;
      while (at < self_.jobs.size() && self_.jobs[at].job != job) ++at;
      if (at == self_.jobs.size()) {
        back.push_back(job);
        continue;
      }
      const Claimant::Wanted& each = self_.jobs[at];
      if (each.finished) {
        const bool wanted = std::any_of(facts_.by_ticket.begin(), facts_.by_ticket.end(),
                                        [&, key = job](const Claimant& one) {
                                          return one.uid != self_.uid && wants(one, key);
                                        });
        if (wanted) back.push_back(job);
      } else if (blocked && !each.started && (!self_.acquired || at >= blocked_at)) {
        back.push_back(job);
      }
    }
    return back;
  }

  const ClaimFacts& facts_;
  const Claimant& self_;
  std::string_view reason_;
  std::string message_;
};

}  // namespace

ClaimStep next_step(const ClaimFacts& facts, std::string_view uid) {
  for (const Claimant& one : facts.by_ticket)
    if (one.uid == uid) return Rule(facts, one).step();
  return {};
}

}  // namespace berth::controllers
