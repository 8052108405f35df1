// SPDX-License-Identifier: Apache-2.0
#include "scavenger_stage.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/patch.h"
#include "kube/ours/ours.h"
#include "kube/pod_view.h"
#include "scheduler/cache/budget_state.h"

namespace berth::e2e {

using kube::Object;
using scavenger_doors::Fixture;
using scavenger_doors::FixtureJob;
using scavenger_doors::FixturePod;

namespace {

constexpr std::chrono::seconds kPatience{120};

std::string document(kube::KindId kind, const kube::Key& key, const std::string& members) {
  const auto& info = kube::kind_of(kind);
  const std::string ns = key.ns.empty() ? "" : fmt::format(R"(,"namespace":"{}")", key.ns);
  return *json::merge_patch(
      fmt::format(R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}"{}}}}})",
                  info.api_version(), info.kind, key.name, ns),
      "{" + members + "}");
}

template <class T>
void by_uid(std::vector<T>& all, const kube::ObjectList& there) {
  std::map<std::string, std::string> uids;
  for (const Object& each : there.items) uids[std::string(each.name())] = each.uid();
  std::sort(all.begin(), all.end(),
            [&](const T& a, const T& b) { return uids[a.name] < uids[b.name]; });
}

}  // namespace

ScavengerStage::ScavengerStage(Cluster& cluster) : cluster_(cluster) {
  for (const kube::KindSpec& kind : kube::our_kinds()) {
    const auto made = admin().create(kube::kCustomResourceDefinition, "", kind.crd());
    EXPECT_TRUE(made || made.error().reason == Reason::kAlreadyExists) << made.error().message;
  }
  for (const kube::KindSpec& kind : kube::our_kinds())
    until(kind.crd_name(), [&] {
      const auto now = admin().get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
      return now && kube::find_condition(now->status(), "Established")["status"].equals("True");
    });
}
ScavengerStage::~ScavengerStage() = default;

void ScavengerStage::create(kube::KindId kind, const kube::Key& key, const std::string& members,
                            bool with_status) {
  const std::string json = document(kind, key, members);
  const auto made = admin().create(kind, key.ns, json);
  ASSERT_TRUE(made) << json << ": " << made.error().message;
  if (!with_status) return;
  const auto status = admin().patch(
      kind, key,
      fmt::format(R"({{"status":{}}})", json::Slice(std::string_view(json))["status"].raw()),
      kube::PatchType::kMerge, "status");
  ASSERT_TRUE(status) << json << ": " << status.error().message;
}

void ScavengerStage::show(Fixture& all) {
  for (const auto& node : all.nodes) create(kube::kNode, {"", node.name}, node_json(node));
  create(kube::scavenger_kinds().policy, {"", "default"}, policy_json(all));
  for (const FixtureJob& job : all.jobs)
    create(kube::scavenger_kinds().job, {"default", job.name}, job_json(job), true);
  for (const auto& budget : all.budgets)
    create(kube::kPodDisruptionBudget, {"default", budget.name}, budget_json(budget), true);
  for (const FixturePod& pod : all.pods) create(kube::kPod, {"default", pod.name}, pod_json(pod));
  by_uid(all.jobs, *admin().list_all(kube::scavenger_kinds().job, "default"));
  by_uid(all.pods, *admin().list_all(kube::kPod, "default"));
}

void ScavengerStage::preemptor_comes(const Fixture& all) {
  create(kube::kPod, {"default", all.preemptor.name}, preemptor_json(all));
}

void ScavengerStage::clear() {
  cluster_.wipe();
  for (const kube::KindId kind : {kube::scavenger_kinds().job, kube::scavenger_kinds().policy}) {
    const auto all = admin().list_all(kind, "");
    ASSERT_TRUE(all) << all.error().message;
    for (const Object& each : all->items) admin().erase(kind, each.key());
  }
}

void ScavengerStage::start_scheduler(const std::string& slots_url) {
  // Otherwise pods of all kinds wait while the extender, who places executors too, is away.
  const auto config = extenders_config(cluster_, slots_url, {"--managed-resource"});
  ASSERT_TRUE(config) << config.error().message;
  auto scheduler = cluster_.start_scheduler(Subject::kStock, {.config = *config});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  scheduler_ = *std::move(scheduler);
}

void ScavengerStage::scheduler_knows(std::size_t nodes) {
  const std::string name = fmt::format("canary-{}", ++canaries_);
  create(
      kube::kPod, {"default", name},
      R"("spec":{"nodeSelector":{"no":"node"},"preemptionPolicy":"Never","containers":[{"name":"c","image":"i"}]})");
  until("the scheduler knows all nodes", [&] {
    const auto pod = admin().get(kube::kPod, {"default", name});
    return pod && kube::find_condition(pod->status(), "PodScheduled")["message"].text().starts_with(
                      fmt::format("0/{} nodes", nodes));
  });
  kube::Options now;
  now.grace_period_seconds = 0;
  admin().erase(kube::kPod, {"default", name}, now);
}

std::string ScavengerStage::node_of(const std::string& name) {
  const auto pod = admin().get(kube::kPod, {"default", name});
  return pod ? pod->member("spec")["nodeName"].text() : "";
}
bool ScavengerStage::decided(const std::string& name) {
  const auto pod = admin().get(kube::kPod, {"default", name});
  return pod && kube::find_condition(pod->status(), "PodScheduled").present();
}
std::string ScavengerStage::nominated(const std::string& name) {
  const auto pod = admin().get(kube::kPod, {"default", name});
  return pod ? pod->status()["nominatedNodeName"].text() : "";
}

std::vector<std::string> ScavengerStage::leaving() {
  std::vector<std::string> names;
  if (const auto all = admin().list_all(kube::kPod, "default"))
    for (const Object& pod : all->items)
      if (pod.deleting()) names.emplace_back(pod.name());
  std::sort(names.begin(), names.end());
  return names;
}
void ScavengerStage::leave() {
  kube::Options now;
  now.grace_period_seconds = 0;
  for (const std::string& name : leaving()) admin().erase(kube::kPod, {"default", name}, now);
}

void ScavengerStage::until(const std::string& what, const std::function<bool()>& holds) {
  ASSERT_TRUE(eventually(kPatience, [&] { return holds(); }))
      << what << "\n"
      << (scheduler_ ? scheduler_->log_tail(15) : cluster_.log_tails());
}

class KnownExtender::Door final : public net::HttpHandler {
 public:
  Door(Scope& scope, client::Transport& transport, Metrics& metrics)
      : service(scope, transport, metrics,
                Logger(stderr_sink(), scope.executor().clock(), LogLevel::kError), Random(1)) {
    service.start();
  }
  void handle(net::HttpRequest request, const net::HttpPeer& peer, net::HttpReply reply) override {
    if (request.target == "/scavengers/preempt") ++asked;
    service.handle(std::move(request), peer, std::move(reply));
  }
  gateway::ExtenderService service;
  int asked = 0;
};

KnownExtender::KnownExtender(Session& session)
    : session_(session), scope_(session.loop().child("extender")) {
  session_.loop().run(
      [&] { door_ = std::make_unique<Door>(scope_, session_.transport(), metrics_); });
  net::HttpServerOptions options = gateway::ExtenderService::server_options();
  options.address = "127.0.0.1";
  auto server = net::HttpServer::start(session_.loop().executor(), std::move(options), *door_);
  EXPECT_TRUE(server) << server.error().message;
  if (server) server_ = *std::move(server);
}
KnownExtender::~KnownExtender() {
  server_.reset();
  session_.loop().close(scope_);
  session_.loop().run([&] { door_.reset(); });
}

std::string KnownExtender::url() const {
  return fmt::format("http://127.0.0.1:{}/slots", server_ ? server_->port() : 1);
}

bool KnownExtender::knows(const Fixture& all) {
  bool knows = false;
  session_.loop().run([&] {
    const gateway::ScavengerPreempt& preempt = door_->service.scavengers();
    const scavenge::Board& board = preempt.door().board();
    const scheduler::ClusterState& cluster = preempt.replica().cluster();
    std::int64_t allowed = 0;
    for (const auto& budget : all.budgets) allowed += budget.allowed;
    for (const auto& [name, budget] : cluster.budgets().all())
      allowed -= budget.disruptions_allowed;
    knows = preempt.synced() && board.size() == all.jobs.size() &&
            board.rules().honour_budgets == all.honour && cluster.size() == all.nodes.size() &&
            cluster.pod_count() == all.pods.size() &&
            cluster.budgets().all().size() == all.budgets.size() && allowed == 0;
  });
  return knows;
}
int KnownExtender::asked() {
  int asked = 0;
  session_.loop().run([&] { asked = door_->asked; });
  return asked;
}
std::vector<scavenge::VictimRecord> KnownExtender::new_choices() {
  std::vector<scavenge::VictimRecord> out;
  session_.loop().run([&] {
    const auto& all = door_->service.scavengers().door().choices();
    // It keeps the latest only.
    for (auto each = all.rbegin(); each != all.rend() && !(last_ && *each == *last_); ++each)
      out.insert(out.begin(), *each);
    if (!all.empty()) last_ = all.back();
  });
  return out;
}

}  // namespace berth::e2e
