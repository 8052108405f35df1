// SPDX-License-Identifier: Apache-2.0
// Many submit through the gateway at once, each deleting its former one, and others read. The
// ledger's revisions are the order of all that happened: every one must be a legal step, every
// grant must come after it was asked for, and every reader must have seen a moment that was. The
// large counts run nightly (BERTH_SLOTS=all).
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "apiserver/store/table.h"
#include "base/random.h"
#include "gateway/ring.h"
#include "kube/ours/ours.h"
#include "policy/slots/ledger.h"
#include "story.h"

namespace berth::gateway {
namespace {

using kube::Object;
using testing::IsEmpty;

const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }

// Everything that was ever stored of what the gateway shows, by revision.
class Recorder {
 public:
  void record(const apiserver::HistoryEvent& event) {
    last_ = event.revision;
    for (const Topic topic : kTopics)
      if (event.after.kind() == kind_of(topic) && event.after.ns() == "default")
        states_[topic][std::string(event.after.name())][event.revision] = !event.deleted;
    if (event.after.kind() != kinds().ledger || event.deleted) return;
    const auto now = slots::Ledger::parse(event.after);
    if (!now) return wrongs.push_back(now.error().message);
    if (std::string what = slots::illegal_step(ledger_, *now); !what.empty())
      wrongs.push_back(std::move(what));
    for (const auto& [id, grant] : now->grants()) {
      if (ledger_.find(id) != nullptr) continue;
      if (!granted.emplace(id, std::pair(grant.scheduling.name, event.revision)).second)
        wrongs.push_back(fmt::format("{} was granted again", id));
    }
    ledger_ = *now;
  }
  kube::Revision last() const { return last_; }

  // What a snapshot shows that was not so at its cursor.
  std::vector<std::string> untrue(json::Slice snapshot) const {
    std::vector<std::string> wrong;
    const auto cursor = Cursor::parse(snapshot["cursor"].text());
    if (!cursor) return {"no cursor"};
    for (const Topic topic : kTopics) {
      std::map<std::string, kube::Revision> shown;
      const json::Slice all = snapshot[name_of(topic)];
      for (const json::Slice one : all.elements())
        shown[one["name"].text()] = std::stoull("0" + one["resourceVersion"].text());
      for (const auto [name, one] : all.members())
        shown[std::string(name)] = std::stoull("0" + one["resourceVersion"].text());
      const auto known = states_.find(topic);
      if (known == states_.end()) continue;
      for (const auto& [name, states] : known->second) {
        auto at = states.upper_bound(cursor->of(topic));
        if (at == states.begin()) continue;
        --at;
        const auto seen = shown.find(name);
        const kube::Revision there = at->second ? at->first : 0;
        const kube::Revision told = seen == shown.end() ? 0 : seen->second;
        if (there != told)
          wrong.push_back(fmt::format("{} {}: told {}, was {} at {}", name_of(topic), name, told,
                                      there, cursor->of(topic)));
      }
    }
    return wrong;
  }

  std::vector<std::string> wrongs;
  std::map<slots::GrantId, std::pair<std::string, kube::Revision>> granted;

 private:
  kube::Revision last_ = 0;
  slots::Ledger ledger_;
  std::map<Topic, std::map<std::string, std::map<kube::Revision, bool>>> states_;
};

TEST(Grants, P_01_SubmissionsThroughTheGatewayAreLinearisable) {
  const bool large = std::getenv("BERTH_SLOTS") != nullptr;
  const std::size_t writers = large ? 64 : 6, submissions = large ? 1000 : 6;
  constexpr int kJobs = 8;
  Recorder recorder;
  Story story({}, {.nodes = 3, .observe = [&](const apiserver::HistoryEvent& event) {
                     recorder.record(event);
                   }});
  for (int i = 0; i < 3; ++i)
    story.api->patch(kube::kNode, {"", fmt::format("node-{}", i)},
                     fmt::format(R"({{"metadata":{{"labels":{{"tb":"{}"}}}}}})", i),
                     kube::PatchType::kMerge,
                     story.scope.done<Object>(60s, [](const auto& done) { EXPECT_TRUE(done); }));
  story.create(
      R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{"name":"tb","namespace":"default"},"spec":{"slotsPerNode":2,"nodeLabel":"tb","sharing":"Shared","resourcesPerSlot":{"cpu":"1","memory":"1Gi"}}})");
  for (int i = 0; i < kJobs; ++i)
    story.create(fmt::format(
        R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"j{}","namespace":"default"}},"spec":{{"jobSpec":{{"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"3s"}}}},"spec":{{"terminationGracePeriodSeconds":0,"containers":[{{"name":"c","image":"i"}}]}}}}}}}}}})",
        i));
  story.pass(10s);

  Random random(3);
  std::map<std::string, kube::Revision> asked;  // by name, with the revision before the call
  std::set<std::string> accepted;
  std::vector<std::string> former(writers);
  std::vector<Story::Client> open;
  std::vector<std::pair<std::string, Story::Client>> submitted;
  std::size_t snapshots = 0;
  for (std::size_t round = 0; round < submissions; ++round) {
    for (std::size_t writer = 0; writer < writers; ++writer) {
      if (!former[writer].empty())
        open.push_back(story.begin("DELETE", "/external/v1/schedulings/" + former[writer]));
      const std::string name = fmt::format("w{}-{}", writer, round);
      std::string queue;
      for (std::uint64_t i = 0; i <= random.below(3); ++i)
        queue += fmt::format(R"({}"j{}")", queue.empty() ? "" : ",", random.below(kJobs));
      asked[name] = recorder.last();
      submitted.emplace_back(
          name,
          story.begin("POST", "/external/v1/schedulings",
                      fmt::format(R"({{"name":"{}","testBed":"tb","queue":[{}]}})", name, queue)));
      former[writer] = name;
      if (random.below(large ? 300 : 3) != 0) continue;  // what all readers see takes long to check
      const auto read = story.get("/external/v1/snapshot");
      ASSERT_EQ(read->status(), 200);
      EXPECT_THAT(recorder.untrue(json::Slice(read->body())), IsEmpty());
      ++snapshots;
    }
    story.pass(std::chrono::milliseconds(random.below(4'000)));
  }
  story.pass(1min);
  for (const auto& [name, client] : submitted)
    if (client->status() / 100 == 2) accepted.insert(name);
  EXPECT_EQ(accepted.size(), writers * submissions);
  EXPECT_THAT(recorder.wrongs, IsEmpty());
  for (const auto& [id, grant] : recorder.granted) {
    ASSERT_EQ(accepted.count(grant.first), 1u) << id << " for " << grant.first;
    EXPECT_GT(grant.second, asked[grant.first]) << id << " came before it was asked for";
  }
  EXPECT_GT(recorder.granted.size(), 8u) << "who gets nothing proves nothing";
  EXPECT_GT(snapshots, 4u);
}

}  // namespace
}  // namespace berth::gateway
