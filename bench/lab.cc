// SPDX-License-Identifier: Apache-2.0
// What the lab costs on the API server's loop: nodes made, pods started, and a week in virtual
// time.
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "apiserver/auth/allow_all.h"
#include "apiserver/serve/server.h"
#include "base/world.h"
#include "lab/attach.h"

namespace {

using namespace berth;  // NOLINT

class Nobody final : public apiserver::Authenticator {
 public:
  Result<kube::User> authenticate(const apiserver::Credentials&, WallTime) override {
    return kube::User{.name = "bench"};
  }
};

// Of this thread's processor: other things run on the machine too.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Cluster {
  explicit Cluster(lab::LabOptions options) {
    lab = std::make_unique<lab::Lab>(
        scope, lab::LabParts{store, server, Random(1), Logger(log, world.clock())},
        std::move(options));
    lab->start(scope.done<Ok>(1h, [](Result<Ok>) {}));
  }
  ~Cluster() {
    scope.close({}, [] {});
    world.run_until_idle(1h);
  }
  void ask(kube::Verb verb, std::string name, std::string sub, std::string body) {
    kube::ApiRequest request{
        .verb = verb, .kind = kube::kPod, .ns = "default", .name = std::move(name)};
    request.subresource = std::move(sub);
    if (!body.empty()) request.body.bytes = std::make_shared<const std::string>(std::move(body));
    request.user.name = "bench";
    server.handle(std::move(request),
                  scope.done<kube::ApiReply>(1h, [this](Result<kube::ApiReply> r) {
                    if (!r && ++failures < 5)
                      std::fprintf(stderr, "%s\n", r.error().message.c_str());
                  }));
  }
  void create(int i, std::string_view policy, std::string_view annotations) {
    ask(kube::Verb::kCreate, "", "",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{}","labels":{{"app":"web"}},)"
            R"("annotations":{{{}}}}},"spec":{{"restartPolicy":"{}","containers":[{{"name":"main",)"
            R"("image":"app:1","resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}}}}}}]}}}})",
            i, annotations, policy));
  }
  void bind(int i, std::size_t nodes) {
    const std::size_t width = std::to_string(nodes - 1).size();
    ask(kube::Verb::kCreate, fmt::format("pod-{}", i), "binding",
        fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"pod-{}"}},)"
                    R"("target":{{"kind":"Node","name":"node-{:0{}}"}}}})",
                    i, static_cast<std::size_t>(i) % nodes, width));
  }

  World world{1};
  Scope scope{world.loop("api"), "bench"};
  StringSink log;
  Metrics metrics;
  apiserver::KindRegistry kinds;
  apiserver::Admission admission;
  Nobody authenticator;
  apiserver::AllowAll authorizer;
  apiserver::Store store{scope, {}};
  apiserver::Server server{
      scope, apiserver::ServerParts{store, kinds, admission, authenticator, authorizer, metrics,
                                    Logger(log, world.clock()), Random(7)}};
  std::unique_ptr<lab::Lab> lab;
  int failures = 0;
};

void start_many(std::size_t nodes, int pods) {
  double before = seconds();
  lab::LabOptions options;
  options.nodes = nodes;
  Cluster cluster(std::move(options));
  cluster.world.run_for(10ms);
  fmt::print("{} nodes Ready with leases: {:.2f} s\n", cluster.lab->counts().nodes,
             seconds() - before);
  before = seconds();
  for (int i = 0; i < pods; ++i) cluster.create(i, "Always", "");
  cluster.world.run_for(1ms);
  const double created = seconds();
  for (int i = 0; i < pods; ++i) cluster.bind(i, nodes);
  cluster.world.run_for(1ms);
  const double bound = seconds();
  cluster.world.run_for(5s);
  const double running = seconds();
  fmt::print(
      "{} pods Running: create {:.2f} s, bind {:.2f} s, start {:.2f} s ({:.0f} us a pod, 2 "
      "writes)\n",
      cluster.lab->counts().running, created - before, bound - created, running - bound,
      (running - bound) * 1e6 / pods);
  before = seconds();
  cluster.world.run_for(10s);
  fmt::print("ten idle seconds of {} nodes: {:.3f} s; {:.0f} MiB\n", nodes, seconds() - before,
             mebibytes());
}

void week(std::size_t nodes, int jobs) {
  const double before = seconds();
  lab::LabOptions options;
  options.nodes = nodes;
  options.heartbeat = lab::Heartbeat::kOnDemand;
  Cluster cluster(std::move(options));
  cluster.world.run_for(1s);
  const Duration every = Duration(std::chrono::hours(7 * 24)) / jobs;
  for (int i = 0; i < jobs; ++i) {
    cluster.create(i, "Never", R"("berth.dev/duration":"1m..20m")");
    cluster.world.run_for(1ms);
    cluster.bind(i, nodes);
    cluster.world.run_for(every);
  }
  fmt::print("7 virtual days, {} nodes, {} short jobs, {} ended: {:.2f} s\n", nodes, jobs,
             cluster.lab->counts().finished, seconds() - before);
}

}  // namespace

int main() {
  start_many(5'000, 10'000);
  start_many(5'000, 50'000);
  week(100, 5'000);
}
