// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include "kube/ours/ours.h"
#include "scheduler/plugins/registry.h"

namespace berth::scavenger_doors {

class Stage::Way final : public scheduler::ExtenderTransport {
 public:
  explicit Way(Stage& to) : stage_(to) {}
  void post(std::string target, std::string body, std::size_t, Instant,
            Done<scheduler::ExtenderReply> done) override {
    if (stage_.extender_dead_) return done(fail(Reason::kUnreachable, "connection refused"));
    ++stage_.asked_;
    stage_.bodies.push_back(body);
    auto shared = std::make_shared<Done<scheduler::ExtenderReply>>(std::move(done));
    stage_.extender->answer({.method = "POST", .target = target, .body = std::move(body)},
                            [this, shared](net::HttpResponse response) {
                              stage_.replies.push_back(response.body);
                              (*shared)(scheduler::ExtenderReply{.status = response.status,
                                                                 .body = std::move(response.body)});
                            });
  }

 private:
  Stage& stage_;
};

Stage::Stage(StageOptions given) : server(world.loop("api"), Random(1)), options(given) {
  scope_ = std::make_unique<Scope>(world.loop("scheduler"), "door");
  transport_ = std::make_unique<client::LocalTransport>(world.loop("api"), server, kube::User{});
  const Logger logger(log, world.clock(), LogLevel::kWarn);
  if (options.door == Door::kOperator) {
    reclaimer = std::make_unique<scheduler::Reclaimer>(*scope_, *transport_, metrics, logger,
                                                       Random(3), scheduler::default_profile());
    reclaimer->start();
    return;
  }
  if (options.door == Door::kExtender) {
    extender = std::make_unique<gateway::ExtenderService>(*scope_, *transport_, metrics, logger,
                                                          Random(2));
    extender->start();
  }
  scheduler = std::make_unique<scheduler::stories::Replica>(
      world, server, "scheduler",
      [this](scheduler::SchedulerConfig& config) {
        if (options.door == Door::kExtender)
          config.extenders = {{.url_prefix = "http://extender/scavengers",
                               .preempt_verb = "preempt",
                               .node_cache_capable = options.names_only,
                               .ignorable = true}};
      },
      [this](scheduler::AppOptions& app) {
        app.scavengers = options.door == Door::kScheduler;
        app.extender = [this](Scope& scope, const scheduler::ExtenderConfig& config)
            -> Result<std::unique_ptr<scheduler::Extender>> {
          return std::make_unique<scheduler::Extender>(scope, config, std::make_unique<Way>(*this));
        };
      });
}

Stage::~Stage() {
  scheduler.reset();
  scope_->close(1s, [] {});
  world.run_for(5s);
}

WallTime Stage::begin() { return World(1).clock().wall(); }

void Stage::show(const Fixture& all) {
  scavenger_doors::show(all, server.objects, options.door == Door::kOperator);
  world.run_for(2s);
}

void Stage::preemptor_comes(const Fixture& all) {
  world.run_for(100ms);
  show_preemptor(all, server.objects, options.door == Door::kOperator);
  world.run_for(850ms);
}

std::vector<std::string> Stage::victims() const {
  std::vector<std::string> names;
  for (const std::string& patch : server.patches)
    if (patch.find("DisruptionTarget") != std::string::npos)
      names.push_back(patch.substr(0, patch.find(' ')));
  return names;
}

kube::Object Stage::job(const std::string& name) {
  const auto& all = server.objects.all(kube::scavenger_kinds().job);
  const auto found = all.find({"default", name});
  return found == all.end() ? kube::Object() : found->second;
}

void Stage::kill_extender() { extender_dead_ = true; }

}  // namespace berth::scavenger_doors
