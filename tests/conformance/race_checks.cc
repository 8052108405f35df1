// SPDX-License-Identifier: Apache-2.0
// Many at once: what exactly one may win, and what nobody may lose.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "conversation.h"

namespace berth::conformance {
namespace {

class Race : public Conformance {
 protected:
  // Runs `work(i, conversation)` in `count` threads at once.
  template <class Work>
  void at_once(int count, Work work) {
    std::vector<std::unique_ptr<Conversation>> talks;
    for (int i = 0; i < count; ++i) talks.push_back(talk().another());
    std::vector<std::thread> threads;
    threads.reserve(talks.size());
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] { work(i, *talks[static_cast<std::size_t>(i)]); });
    for (std::thread& thread : threads) thread.join();
  }
};

class M09_binding_race : public Race {};
class M05_update_race : public Race {};
class M07_pages_race : public Race {};
class M13_eviction_race : public Race {};
class M15_names_race : public Race {};
class M16_lease_race : public Race {};
class M06_watch_race : public Race {};

TEST_F(M09_binding_race, OfEightBindersOneWins) {
  for (int round = 0; round < 5; ++round) {
    const std::string pod = fmt::format("p{}", round);
    post("pods", "@pod " + pod).expect(201);
    std::atomic<int> won = 0, refused = 0;
    std::string winner;
    at_once(8, [&](int i, Conversation& talk) {
      const Reply reply =
          talk.post("pods/" + pod + "/binding",
                    fmt::format("@binding {}\ntarget: {{kind: Node, name: n{}}}", pod, i));
      if (reply.code() == 201) {
        ++won;
        winner = fmt::format("n{}", i);
      } else {
        reply.expect(409).has("{kind: Status, reason: Conflict}");
        ++refused;
      }
    });
    EXPECT_EQ(won, 1);
    EXPECT_EQ(refused, 7);
    get("pods/" + pod).has("{spec: {nodeName: " + winner + "}}");
  }
}

TEST_F(M05_update_race, NoIncrementIsLost) {
  post("configmaps", "@configmap m\ndata: {count: \"0\"}").expect(201);
  at_once(6, [&](int, Conversation& talk) {
    for (int done = 0; done < 5;) {
      const Reply read = talk.get("configmaps/m");
      const int n = std::stoi(read["data"]["count"].text());
      const Reply wrote = talk.put(
          "configmaps/m", fmt::format("@configmap m\nmetadata: {{resourceVersion: \"{}\"}}\n"
                                      "data: {{count: \"{}\"}}",
                                      read["metadata"]["resourceVersion"].text(), n + 1));
      if (wrote.code() == 200)
        ++done;
      else
        wrote.expect(409);
    }
  });
  get("configmaps/m").has("{data: {count: \"30\"}}");
}

TEST_F(M05_update_race, OneOfManyCreatesAName) {
  std::atomic<int> won = 0;
  at_once(8, [&](int, Conversation& talk) {
    const Reply reply = talk.post("configmaps", "@configmap m");
    if (reply.code() == 201)
      ++won;
    else
      reply.expect(409).has("{reason: AlreadyExists}");
  });
  EXPECT_EQ(won, 1);
}

TEST_F(M05_update_race, PatchesWithoutARevisionNeverConflict) {
  post("configmaps", "@configmap m").expect(201);
  at_once(8, [&](int i, Conversation& talk) {
    for (int k = 0; k < 5; ++k)
      talk.patch("merge", "configmaps/m", fmt::format("{{data: {{k{}-{}: x}}}}", i, k)).expect(200);
  });
  EXPECT_EQ(get("configmaps/m")["data"].size(), 41U);
}

TEST_F(M07_pages_race, PagesMissNothingWhileOthersWrite) {
  constexpr int kStaying = 120;
  for (int i = 0; i < kStaying; ++i)
    post("secrets",
         fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: stay-{:03}}}}}", i))
        .expect(201);
  std::atomic<bool> stop = false;
  const auto writer = talk().another();
  std::thread noise([&] {
    for (int i = 0; !stop; ++i) {
      const std::string name = fmt::format("come-{}", i);
      writer->post("secrets", "{apiVersion: v1, kind: Secret, metadata: {name: " + name + "}}")
          .expect(201);
      writer->erase("secrets/" + name).expect(200);
    }
  });
  for (int round = 0; round < 3; ++round) {
    std::multiset<std::string> seen;
    std::set<std::string> revisions;
    std::string token;
    do {
      const Reply page =
          get("secrets?limit=10" + (token.empty() ? "" : "&continue=" + token)).expect(200);
      for (const json::Slice item : page["items"].elements())
        seen.insert(item["metadata"]["name"].text());
      revisions.insert(page["metadata"]["resourceVersion"].text());
      token = page["metadata"]["continue"].text();
      if (page.code() != 200) break;
    } while (!token.empty());
    EXPECT_EQ(revisions.size(), 1U);
    for (int i = 0; i < kStaying; ++i) EXPECT_EQ(seen.count(fmt::format("stay-{:03}", i)), 1U);
  }
  stop = true;
  noise.join();
}

TEST_F(M13_eviction_race, ABudgetOfOneLetsOneOfTenGo) {
  for (int i = 0; i < 10; ++i) {
    post("pods",
         fmt::format("@pod p{}\nmetadata: {{labels: {{app: x}}}}\nspec: {{nodeName: nowhere}}", i))
        .expect(201);
    patch("strategic", fmt::format("pods/p{}/status", i),
          "{status: {phase: Running, conditions: [{type: Ready, status: \"True\"}]}}")
        .expect(200);
  }
  post("policy/v1:poddisruptionbudgets",
       "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: "
       "{minAvailable: 9, selector: {matchLabels: {app: x}}}}")
      .expect(201);
  talk().until("policy/v1:poddisruptionbudgets/b",
               "{status: {disruptionsAllowed: 1, currentHealthy: 10}}");
  std::atomic<int> gone = 0, refused = 0;
  at_once(10, [&](int i, Conversation& talk) {
    const Reply reply = talk.post(
        fmt::format("pods/p{}/eviction", i),
        fmt::format("{{apiVersion: policy/v1, kind: Eviction, metadata: {{name: p{}}}}}", i));
    if (reply.code() == 201)
      ++gone;
    else if (reply.expect(429).code() == 429)
      ++refused;
  });
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(refused, 9);
}

TEST_F(M15_names_race, AHundredGeneratedNamesDiffer) {
  at_once(4, [&](int, Conversation& talk) {
    for (int i = 0; i < 25; ++i)
      talk.post("secrets", "{apiVersion: v1, kind: Secret, metadata: {generateName: g-}}")
          .expect(201);
  });
  EXPECT_EQ(get("secrets")["items"].size(), 100U);
}

TEST_F(M16_lease_race, ATermHasOneHolder) {
  post("coordination.k8s.io/v1:leases",
       "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: "
       "{leaseTransitions: 0}}")
      .expect(201);
  for (int term = 1; term <= 5; ++term) {
    const std::string revision =
        get("coordination.k8s.io/v1:leases/l")["metadata"]["resourceVersion"].text();
    std::atomic<int> won = 0;
    at_once(6, [&](int i, Conversation& talk) {
      const Reply reply = talk.put(
          "coordination.k8s.io/v1:leases/l",
          fmt::format(
              "{{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {{name: l, "
              "resourceVersion: \"{}\"}}, spec: {{holderIdentity: c{}, leaseTransitions: {}}}}}",
              revision, i, term));
      if (reply.code() == 200)
        ++won;
      else
        reply.expect(409).has("{reason: Conflict}");
    });
    EXPECT_EQ(won, 1);
  }
}

TEST_F(M06_watch_race, AllWatchersSeeTheSameInTheSameOrder) {
  const std::string from = get("configmaps")["metadata"]["resourceVersion"].text();
  constexpr int kEvents = 60;
  std::vector<std::vector<std::string>> seen(4);
  const auto writer = talk().another();
  std::thread writes([&] {
    for (int i = 0; i < kEvents / 3; ++i) {
      const std::string name = fmt::format("m{}", i);
      writer->post("configmaps", "@configmap " + name).expect(201);
      writer->patch("merge", "configmaps/" + name, "{data: {a: b}}").expect(200);
      writer->erase("configmaps/" + name).expect(200);
    }
  });
  at_once(4, [&](int i, Conversation& talk) {
    auto stream = talk.watch("configmaps?watch=1&resourceVersion=" + from);
    ASSERT_TRUE(stream) << stream.error().message;
    std::uint64_t last = 0;
    while (seen[static_cast<std::size_t>(i)].size() < kEvents) {
      const auto line = (*stream)->line(30s);
      ASSERT_TRUE(line) << line.error().message;
      const json::Slice event(*line);
      const json::Slice meta = event["object"]["metadata"];
      if (!meta["name"].text().starts_with("m")) continue;
      const std::uint64_t revision = std::stoull(meta["resourceVersion"].text());
      EXPECT_GT(revision, last);
      last = revision;
      seen[static_cast<std::size_t>(i)].push_back(
          fmt::format("{} {} {}", event["type"].text(), meta["name"].text(), revision));
    }
  });
  writes.join();
  for (const auto& one : seen) EXPECT_EQ(one, seen.front());
}

}  // namespace
}  // namespace berth::conformance
