// SPDX-License-Identifier: Apache-2.0
// Random kills of Berth's scheduler, of the webhooks and of nodes in a whole cluster, while jobs
// and ordinary pods come: no job is lost, none runs twice at once, and all end. The operator's own
// kills are in tests/controllers/scavenger_property_test.cc.
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/admission/webhook_caller.h"
#include "apiserver/store/table.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "cluster/own_webhooks.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/pod_view.h"
#include "simulate/contenders.h"

namespace berth::simulate {
namespace {

using kube::Object;
using testing::IsEmpty;

// The way to the webhooks, at whose end somebody listens or not.
class HookLine final : public apiserver::WebhookCaller {
 public:
  explicit HookLine(const bool& up) : up_(up) {}
  void call(const apiserver::WebhookTarget& target, std::string review, Duration timeout,
            Done<std::string> done) override {
    if (!up_) return done(fail(Reason::kUnreachable, "connect: connection refused"));
    here.call(target, std::move(review), timeout, std::move(done));
  }
  apiserver::LocalWebhookCaller here;

 private:
  const bool& up_;
};

constexpr int kJobs = 10, kNodes = 6;

class Storm {
 public:
  explicit Storm(Seed seed) : random_(seed), world_(seed, Order::kShuffled) {
    cluster::ClusterOptions options{.token_key = "key"};
    options.lab->nodes = kNodes;
    options.lab->node.capacity["cpu"] = "8";
    options.lab->heartbeat = lab::Heartbeat::kOnDemand;
    options.lab->pace.stop = {0s, 3s};
    options.observe = [this](const apiserver::HistoryEvent& event) { check(event); };
    HookLine* line = nullptr;
    options.webhooks = [&, this](Scope&, const apiserver::Store&) {
      auto made = std::make_unique<HookLine>(hooks_up_);
      line = made.get();
      return made;
    };
    cluster_ = std::make_unique<cluster::Cluster>(world_, metrics_,
                                                  Logger(sink_, world_.clock(), LogLevel::kError),
                                                  Random(seed), std::move(options));
    cluster_->start(
        [](const Result<Ok>& started) { EXPECT_TRUE(started) << started.error().message; });
    world_.run_for(10s);
    cluster_->api_loop().post([&] { cluster_->own_webhooks().answer_in(line->here); });
    world_.run_for(1s);
    transport_ = cluster_->owner();
    scope_ = std::make_unique<Scope>(world_.loop("user"), "user");
    api_ = std::make_unique<client::Api>(*scope_, *transport_, random_.fork("user"));
    start_scheduler();
    for (int i = 0; i < kJobs; ++i) submit(i);
  }
  ~Storm() {
    stop_scheduler();
    scope_->close(0s, [] {});
    world_.run_for(1s);
    api_.reset();
    scope_.reset();
    cluster_->stop([] {});
    world_.run_for(1min);
  }

  void rage(int kills) {
    for (int i = 0; i < kills && wrongs_.empty(); ++i) {
      world_.run_for(std::chrono::seconds(random_.below(20)));
      hit();
    }
  }

  void expect_an_end() {
    hooks_up_ = true;
    if (!scheduler_) start_scheduler();
    for (const std::string& node : lost_) erase(kube::kNode, {"", node});
    for (int i = 0; i < 40; ++i) {
      world_.run_for(10min);
      bool over = true;
      for (const Object& job : list(kube::scavenger_kinds().job))
        over &= kube::ScavengerJobView(job).ended();
      if (over) break;
    }
    EXPECT_EQ(list(kube::scavenger_kinds().job).size(), static_cast<std::size_t>(kJobs));
    for (const Object& job : list(kube::scavenger_kinds().job))
      EXPECT_EQ(kube::ScavengerJobView(job).phase(), "Completed")
          << job.name() << " " << job.status().raw();
    for (const Object& pod : list(kube::kPod)) {
      const kube::PodView view(pod);
      EXPECT_TRUE(view.finished()) << pod.name() << " " << pod.status().raw();
    }
    EXPECT_THAT(wrongs_, IsEmpty());
    EXPECT_GT(killed_, 0);
  }

 private:
  void hit() {
    switch (random_.below(8)) {
      case 0:
      case 1:
        ++killed_;
        scheduler_ ? stop_scheduler() : start_scheduler();
        return;
      case 2:
        ++killed_;
        hooks_up_ = !hooks_up_;
        return;
      case 3:
        return lose_node();
      case 4:
        return end_a_pod();
      default:
        return create(fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"ordinary-{}","namespace":"default","annotations":{{"berth.dev/duration":"{}s"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
            ordinary_++, 20 + random_.below(100), 2 + random_.below(6)));
    }
  }

  struct Scheduler {
    Scheduler(World& world, client::Transport& transport, LogSink& sink, Seed seed)
        : contender(world, transport, metrics, Logger(sink, world.clock(), LogLevel::kError), seed,
                    Variant::kOwn) {}
    Metrics metrics;
    Contender contender;
  };
  void start_scheduler() {
    scheduler_ = std::make_unique<Scheduler>(world_, *transport_, sink_, random_.below(1'000'000));
    scheduler_->contender.start();
  }
  void stop_scheduler() {
    if (scheduler_) scheduler_->contender.stop();
    scheduler_.reset();
  }
  void lose_node() {
    if (lost_.size() >= kNodes / 3) return;
    const std::string name = fmt::format("node-{}", random_.below(kNodes));
    if (!lost_.insert(name).second) return;
    ++killed_;
    EXPECT_TRUE(cluster_->lab()->fail_node(name));
    if (random_.below(2) == 0) erase(kube::kNode, {"", name});
  }
  void end_a_pod() {
    std::vector<Object> all = list(kube::kPod);
    std::erase_if(all, [](const Object& pod) {
      return pod.label(kube::kScavengerLabel).empty() || kube::PodView(pod).finished() ||
             pod.deleting();
    });
    if (!all.empty()) erase(kube::kPod, all[random_.below(all.size())].key());
  }

  void submit(int number) {
    create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"j{0}","namespace":"default"}},"spec":{{"completionProof":"ExitCodeOnly","job":{{"parallelism":{1},"completions":{1},"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"{2}s"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"{3}","memory":"1Gi"}}}}}}]}}}}}}}}}})",
        number, 1 + random_.below(3), 60 + random_.below(200), 1 + random_.below(3)));
  }
  void create(const std::string& json) {
    const auto object = Object::parse(json);
    ASSERT_TRUE(object) << object.error().message;
    api_->create(object->kind(), "default", json,
                 scope_->done<Object>(1min, [](const Result<Object>& made) {
                   EXPECT_TRUE(made) << made.error().message;
                 }));
    world_.run_for(100ms);
  }
  void erase(kube::KindId kind, const kube::Key& key) {
    api_->erase(kind, key, scope_->done<Ok>(1min, [](const Result<Ok>&) {}));
    world_.run_for(100ms);
  }
  std::vector<Object> list(kube::KindId kind) {
    std::vector<Object> all;
    api_->list_all(kind, "", {}, scope_->done<kube::ObjectList>(1min, [&](auto page) {
      ASSERT_TRUE(page) << page.error().message;
      all = std::move(page->items);
    }));
    world_.run_for(100ms);
    return all;
  }

  // Whoever runs belongs to one attempt of its job. A node that is gone runs nothing.
  void check(const apiserver::HistoryEvent& event) {
    const Object& object = event.after;
    if (object.kind() == kube::kNode) {
      event.deleted ? (void)nodes_.erase(std::string(object.name()))
                    : (void)nodes_.insert(std::string(object.name()));
    }
    if (object.kind() != kube::kPod || object.label(kube::kScavengerLabel).empty()) return;
    const kube::PodView pod(object);
    auto& running = running_[std::string(object.label(kube::kScavengerLabel))];
    const std::string uid(object.uid());
    if (event.deleted || pod.finished() || !pod.assigned() || !object.controller())
      running.erase(uid);
    else
      running[uid] = {object.controller()->name, std::string(pod.node_name())};
    std::set<std::string> attempts;
    for (const auto& [each, where] : running)
      if (nodes_.count(where.second) > 0) attempts.insert(where.first);
    if (attempts.size() > 1)
      wrongs_.push_back(fmt::format("{} run at once", fmt::join(attempts, " and ")));
  }

  Random random_;
  World world_;
  Metrics metrics_;
  StringSink sink_;
  bool hooks_up_ = true;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<client::Transport> transport_;
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<client::Api> api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::set<std::string> lost_, nodes_;
  // By job: pod -> its Job and its node.
  std::map<std::string, std::map<std::string, std::pair<std::string, std::string>>> running_;
  std::vector<std::string> wrongs_;
  int ordinary_ = 0, killed_ = 0;
};

TEST(Kills, OfSchedulerWebhooksAndNodesLoseNoJobAndStartNoneTwice) {
  const bool all = std::getenv("BERTH_NIGHTLY") != nullptr;
  const char* one = std::getenv("BERTH_SEED");
  const Seed first = one != nullptr ? std::stoull(one) : 1;
  const Seed last = one != nullptr ? first : all ? 10 : 1;
  for (Seed seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Storm storm(seed);
    storm.rage(all ? 100 : 40);
    storm.expect_an_end();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::simulate
