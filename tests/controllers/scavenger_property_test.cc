// SPDX-License-Identifier: Apache-2.0
// Random kills of the operator, of the Job controller, of nodes and of pods, while jobs and
// ordinary pods come and go: no job is lost, none runs twice at once, none starts above the
// threshold, and all end.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/pods.h"
#include "scavenger_lab.h"

namespace berth::controllers::stories {
namespace {

using testing::IsEmpty;

class Storm {
 public:
  Storm(Seed seed, int kills)
      : random_(seed), s_({.seed = seed, .order = Order::kShuffled}, 4, "8") {
    s_.life = [](const Object& pod) {
      // Of a length of its own, so that runs end at any time.
      const auto hash = std::hash<std::string_view>()(pod.name());
      return PodLife{.run = 2min + std::chrono::seconds(hash % 400), .stop = 3s};
    };
    for (int i = 0; i < 12; ++i) {
      const int members = 1 + static_cast<int>(random_.below(3));
      s_.job(fmt::format("j{}", i), std::to_string(1 + random_.below(3)),
             fmt::format(R"("replicas":{},"completionProof":"ExitCodeOnly")", members));
    }
    for (int i = 0; i < kills && !testing::Test::HasFailure(); ++i) {
      s_.lab.run(std::chrono::seconds(random_.below(20)));
      hit();
      if (!s_.wrongs.empty()) return;
    }
  }

  void expect_an_end() {
    for (const bool job_keepers : {false, true})
      if (down_[job_keepers]) s_.lab.crash(job_keepers ? 1 : 0);
    for (const std::string& node : lost_)
      if (s_.lab.get(kube::kNode, {"", node}).valid())
        s_.lab.server.remove(kube::kNode, {"", node});
    for (int i = 0; i < ordinary_; ++i) {
      const Key key{"default", fmt::format("o{}", i)};
      if (s_.lab.get(kube::kPod, key).valid()) (void)s_.lab.erase(kube::kPod, key);
    }
    for (int i = 0; i < 40; ++i) {
      s_.lab.run(10min);
      bool over = true;
      for (const Object& job : s_.lab.list(kube::scavenger_kinds().job))
        over &= kube::ScavengerJobView(job).ended();
      if (over) break;
    }
    EXPECT_EQ(s_.lab.list(kube::scavenger_kinds().job).size(), 12U);
    for (const Object& job : s_.lab.list(kube::scavenger_kinds().job)) {
      const kube::ScavengerJobView view(job);
      EXPECT_EQ(view.phase(), "Completed")
          << job.name() << ": " << job.status()["message"].text() << " " << job.status().raw();
    }
    EXPECT_THAT(s_.wrongs, IsEmpty());
    EXPECT_THAT(s_.left_over(), IsEmpty());
  }

 private:
  void hit() {
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        return toggle(false);
      case 3:
        return toggle(true);
      case 4:
        return lose_node();
      case 5:
        return s_.pod(fmt::format("o{}", ordinary_++), std::to_string(1 + random_.below(4)));
      case 6: {
        const Key key{"default",
                      fmt::format("o{}", random_.below(1 + static_cast<std::uint64_t>(ordinary_)))};
        if (s_.lab.get(kube::kPod, key).valid()) (void)s_.lab.erase(kube::kPod, key);
        return;
      }
      default:
        return end_a_pod();
    }
  }
  // Killed and back at once, or away for a while.
  void toggle(bool job_keepers) {
    const std::size_t process = job_keepers ? 1 : 0;
    if (down_[job_keepers]) {
      s_.lab.crash(process);
      down_[job_keepers] = false;
      return;
    }
    s_.lab.stop(process);
    if (random_.below(2) == 0)
      s_.lab.crash(process);
    else
      down_[job_keepers] = true;
  }
  void lose_node() {
    const std::string name = fmt::format("n{}", nodes_ - 4 + static_cast<int>(random_.below(4)));
    if (s_.dead.count(name) > 0) {
      s_.lab.server.remove(kube::kNode, {"", name});
      return;
    }
    if (!s_.lab.get(kube::kNode, {"", name}).valid() || random_.below(2) == 0) return;
    s_.lose_node(name);
    lost_.insert(name);
    if (random_.below(2) == 0) s_.lab.server.remove(kube::kNode, {"", name});
    s_.node(fmt::format("n{}", nodes_++), "8");
  }
  void end_a_pod() {
    std::vector<Object> all = s_.lab.list(kube::kPod);
    std::erase_if(all, [](const Object& pod) {
      return pod.label(kube::kScavengerLabel).empty() || pod_ended(pod) || pod.deleting();
    });
    if (all.empty()) return;
    const Object pod = all[random_.below(all.size())];
    if (random_.below(2) == 0)
      s_.erase_pod(pod);
    else
      s_.disrupt(pod, "PreemptionByScheduler");
  }

  Random random_;
  ScavengerLab s_;
  bool down_[2] = {false, false};
  std::set<std::string> lost_;
  int nodes_ = 4, ordinary_ = 0;
};

TEST(ScavengerProperty, KillsLoseNoJobAndStartNoneTwice) {
  const bool all = std::getenv("BERTH_SCAVENGERS") != nullptr;
  const char* one = std::getenv("BERTH_SEED");
  const Seed first = one != nullptr ? std::stoull(one) : 1;
  const Seed last = one != nullptr ? first : all ? 10 : 2;
  for (Seed seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Storm storm(seed, all ? 100 : 50);
    storm.expect_an_end();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::controllers::stories
