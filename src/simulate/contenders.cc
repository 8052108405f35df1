// SPDX-License-Identifier: Apache-2.0
#include "simulate/contenders.h"

#include "base/check.h"
#include "gateway/extender/extender_service.h"
#include "scheduler/extender/extender.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/app.h"

namespace berth::simulate {
namespace {

// As docs/scavengers.md has it.
constexpr std::string_view kPackingConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: scavengers
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
)";

scheduler::SchedulerConfig config_of(Variant setup) {
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  if (setup != Variant::kPacked) return scheduler::default_config(infos);
  auto packing = scheduler::read_config(kPackingConfig, infos, "packing.yaml");
  BERTH_CHECK(packing.has_value(), "a configuration of our own is valid");
  return *std::move(packing);
}

}  // namespace

std::string packing_policy() {
  return R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{"name":"default"},"spec":{"schedulerName":"scavengers"}})";
}

// From the scheduler to the extender, without a socket.
class Contender::Wire final : public scheduler::ExtenderTransport {
 public:
  explicit Wire(gateway::ExtenderService& extender) : extender_(extender) {}

  void post(std::string target, std::string body, std::size_t, Instant,
            Done<scheduler::ExtenderReply> done) override {
    auto answer = std::make_shared<Done<scheduler::ExtenderReply>>(std::move(done));
    extender_.answer({.method = "POST", .target = std::move(target), .body = std::move(body)},
                     [answer](net::HttpResponse response) {
                       (*answer)(scheduler::ExtenderReply{.status = response.status,
                                                          .body = std::move(response.body)});
                     });
  }

 private:
  gateway::ExtenderService& extender_;
};

Contender::Contender(World& world, client::Transport& transport, Metrics& metrics, Logger log,
                     Seed seed, Variant setup)
    : world_(world),
      transport_(transport),
      metrics_(metrics),
      log_(std::move(log)),
      random_(Random(seed).fork("contender")),
      setup_(setup),
      extender_scope_(world.loop("scheduler"), "extender"),
      scheduler_scope_(world.loop("scheduler"), "scheduler") {}

Contender::~Contender() = default;

void Contender::start() {
  scheduler::AppOptions app{.config = config_of(setup_), .identity = "simulated"};
  app.config.leader_election.leader_elect = false;
  app.config.client_connection.qps = -1;
  app.scavengers = setup_ == Variant::kOwn || setup_ == Variant::kPacked;
  if (setup_ == Variant::kExtender) {
    extender_ = std::make_unique<gateway::ExtenderService>(extender_scope_, transport_, metrics_,
                                                           log_, random_.fork("extender"));
    extender_->start();
    app.config.extenders = {{.url_prefix = "http://extender/scavengers",
                             .preempt_verb = "preempt",
                             .http_timeout = 1s,
                             .node_cache_capable = true,
                             .ignorable = true}};
    app.extender = [this](Scope& scope, const scheduler::ExtenderConfig& given)
        -> Result<std::unique_ptr<scheduler::Extender>> {
      return std::make_unique<scheduler::Extender>(scope, given,
                                                   std::make_unique<Wire>(*extender_));
    };
  }
  scheduler_ = std::make_unique<scheduler::App>(
      scheduler_scope_, transport_, metrics_, log_, random_.fork("scheduler"),
      scheduler::all_plugins(), std::move(app), [this](const Error& error) {
        log_.error("the scheduler cannot go on", {{"error", error}});
      });
  scheduler_->start();
}

void Contender::stop() {
  scheduler_scope_.close(0s, [] {});
  extender_scope_.close(0s, [] {});
  world_.run_for(1s);
  scheduler_.reset();
  extender_.reset();
}

}  // namespace berth::simulate
