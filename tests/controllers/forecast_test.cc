// SPDX-License-Identifier: Apache-2.0
// P-02: what a forecast says is what happens. The same function plans both; these stories hold the
// rest of the forecast (claims, the Testbed's turn, what becomes free) to the controllers.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/listed.h"
#include "gateway/timeline.h"
#include "json/slice.h"
#include "slots_lab.h"

namespace berth::controllers::stories {
namespace {

struct Submitted {
  const char *name, *queue;
};
struct Story {
  const char* name;
  bool shared;
  std::vector<std::pair<const char*, int>> seconds;  // of jobs
  std::vector<Submitted> schedulings;
};

// "A{0,1} B{2}", of those that are still to come.
std::vector<std::string> foreseen(SlotsLab& lab) {
  Listed listed;
  for (const KindId kind : {kinds().testbed, kinds().batch_job, kinds().scheduling, kinds().ledger,
                            kube::kNode, kube::kPod})
    for (const Object& object : lab.lab.list(kind)) listed.add(object);
  const auto question = gateway::timeline_question(runtime::View(listed), {"default", "tb"}, {},
                                                   lab.lab.world.clock().wall());
  EXPECT_TRUE(question);
  const std::string told = gateway::timeline_json(*question);
  EXPECT_EQ(json::Slice(told)["waiting"].size(), 0U) << told;
  std::vector<std::string> runs;
  for (const json::Slice run : json::Slice(told)["planned"].elements()) {
    std::string slots;
    for (const json::Slice slot : run["slots"].elements())
      slots += (slots.empty() ? "" : ",") + std::string(slot.raw());
    runs.push_back(fmt::format("{}{{{}}}", run["job"]["name"].text(), slots));
  }
  return runs;
}

TEST(Forecast, P_02_TheOrderThatWasForeseenIsTheOrderThatComes) {
  const Story kStories[] = {
      {"a queue longer than the Testbed",
       false,
       {{"A", 60}, {"B", 150}, {"C", 40}, {"D", 90}},
       {{"s", "AAABBCCCCD"}}},
      {"one after another on a Testbed of one's own",
       false,
       {{"A", 60}, {"B", 150}, {"C", 40}, {"D", 90}},
       {{"s", "AABB"}, {"t", "CCCD"}, {"u", "A"}}},
      {"a shared Testbed, and jobs that two want",
       true,
       {{"A", 60}, {"B", 200}, {"C", 400}, {"D", 100}},
       {{"s", "AAB"}, {"t", "ACC"}, {"u", "DD"}, {"v", "BD"}}},
  };
  for (const Story& story : kStories) {
    SlotsLab lab;
    lab.testbed("tb", story.shared ? R"(,"sharing":"Shared")" : "");
    std::map<std::string, Duration, std::less<>> lengths;
    for (const auto& [job, seconds] : story.seconds) {
      lab.job(job, fmt::format(R"(,"estimatedSeconds":{})", seconds));
      lengths[job] = std::chrono::seconds(seconds);
    }
    lab.lab.life = [lengths](const Object& pod) {
      PodLife life;
      if (!pod.label(kube::kGrantLabel).empty())
        life.run = lengths.find(pod.controller()->name)->second;
      return life;
    };
    lab.lab.run(30s);
    for (const Submitted& one : story.schedulings) {
      lab.queue(one.name, one.queue, R"(,"ttlSecondsAfterFinished":0)");
      lab.lab.run(2s);
    }
    const std::vector<std::string> expected = foreseen(lab);
    const auto before = static_cast<std::ptrdiff_t>(lab.granted.size());
    EXPECT_FALSE(expected.empty()) << story.name;
    lab.lab.run(1h);
    EXPECT_EQ(std::vector<std::string>(lab.granted.begin() + before, lab.granted.end()), expected)
        << story.name;
  }
}

}  // namespace
}  // namespace berth::controllers::stories
