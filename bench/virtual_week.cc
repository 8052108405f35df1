// SPDX-License-Identifier: Apache-2.0
// A week of a cluster's life in virtual time: API server, nodes, controllers and scheduler, a
// hundred nodes and five thousand short jobs. `virtual_week_bench [JOBS [RUNS]]`; exit code 1 where
// two runs of one seed differ, or a week takes more than a minute of CPU time.
#include <cstdlib>
#include <ctime>
#include <functional>

#include <fmt/format.h>

#include "apiserver/store/table.h"
#include "base/world.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "scheduler/plugins/registry.h"

namespace berth::cluster {
namespace {

constexpr double kMostSeconds = 60;

std::string job_json(int number, std::uint64_t seconds) {
  return fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"job-{:05}","namespace":"default"}},"spec":{{"ttlSecondsAfterFinished":3600,"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"{}s"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"1","memory":"1Gi"}}}}}}]}}}}}}}})",
      number, seconds);
}

struct Week {
  std::uint64_t hash = 0, changes = 0;
  double cpu_seconds = 0;
  bool finished = false;
};

Week live(int jobs) {
  Week week;
  const std::clock_t begin = std::clock();
  World world(1);
  Metrics metrics;
  ClusterOptions options{.token_key = "key"};
  options.lab->nodes = 100;
  options.lab->heartbeat = lab::Heartbeat::kOnDemand;
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  options.scheduler = scheduler::default_config(infos);
  std::uint64_t succeeded = 0;
  options.observe = [&](const apiserver::HistoryEvent& event) {
    ++week.changes;
    for (const std::string_view part : event.after.json_parts())
      week.hash = std::hash<std::string_view>()(part) ^ (week.hash * 1'099'511'628'211ULL);
    if (event.after.kind() == kube::kJob && !event.deleted &&
        event.after.status()["succeeded"].integer() == 1 && event.before.valid() &&
        !event.before.status()["succeeded"].integer())
      ++succeeded;
  };
  Cluster cluster(world, metrics, Logger(stderr_sink(), world.clock(), LogLevel::kWarn), Random(1),
                  std::move(options));
  cluster.start([](const Result<Ok>&) {});
  world.run_for(10s);
  {
    const auto transport = cluster.owner();
    Scope scope(world.loop("user"), "user");
    client::Api api(scope, *transport, Random(2));
    Random random(3);
    const double gap = static_cast<double>(Duration(24h * 7).count()) / jobs;
    for (int i = 0; i < jobs; ++i) {
      api.create(kube::kJob, "default", job_json(i, 30 + random.below(1'200)),
                 scope.done<kube::Object>(60s, [](const Result<kube::Object>&) {}));
      world.run_for(Duration(static_cast<Duration::rep>(random.unit() * 2 * gap)));
    }
    world.run_for(2h);
    scope.close(0s, [] {});
    world.run_for(1s);
  }
  cluster.stop([] {});
  world.run_for(1min);
  week.finished = succeeded == static_cast<std::uint64_t>(jobs);
  week.cpu_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return week;
}

int compare(int jobs, int runs) {
  fmt::print("A week of 100 nodes and {} jobs in virtual time\n", jobs);
  bool good = true;
  std::uint64_t first = 0;
  for (int i = 0; i < runs; ++i) {
    const Week week = live(jobs);
    fmt::print("  {:.1f} s of CPU, {} changes, history {:016x}{}\n", week.cpu_seconds, week.changes,
               week.hash, week.finished ? "" : ", NOT ALL JOBS FINISHED");
    if (i == 0) first = week.hash;
    good = good && week.finished && week.hash == first && week.cpu_seconds < kMostSeconds;
  }
  fmt::print("  Must (the same history every time, in less than a minute): {}.\n",
             good ? "met" : "MISSED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace berth::cluster

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 5000;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 2;
  if (jobs <= 0 || runs <= 0) {
    fmt::print(stderr, "usage: virtual_week_bench [JOBS [RUNS]]\n");
    return 2;
  }
  return berth::cluster::compare(jobs, runs);
}
