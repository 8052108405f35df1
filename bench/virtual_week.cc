// SPDX-License-Identifier: Apache-2.0
// A week of a cluster's life in virtual time: API server, nodes, controllers and scheduler, a
// hundred nodes and five thousand short jobs, ten times, each in a process of its own, so that no
// address is the same. `virtual_week_bench [JOBS [RUNS [SEED]]]`; exit code 1 where two runs
// differ, where another seed gives the same, or where a week takes more than a minute of CPU time.
// `virtual_week_bench tell JOBS SEED [FILE]` lives one week, and writes every change into FILE.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

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
  std::uint64_t hash = 0xcbf29ce484222325, changes = 0;
  double cpu_seconds = 0;
  bool finished = false;
};

// The history as it is told: a line a change.
class History {
 public:
  History(Week& week, const std::string& file) : week_(week) {
    if (!file.empty()) out_.open(file);
  }
  void add(const apiserver::HistoryEvent& event) {
    ++week_.changes;
    for (const std::string_view part : event.after.json_parts()) say(part);
    say(event.deleted ? " gone\n" : "\n");
  }

 private:
  void say(std::string_view text) {
    for (const char c : text)  // FNV-1a
      week_.hash = (week_.hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    if (out_.is_open()) out_ << text;
  }
  Week& week_;
  std::ofstream out_;
};

Week live(int jobs, Seed seed, const std::string& file) {
  Week week;
  const std::clock_t begin = std::clock();
  World world(seed);
  History history(week, file);
  Metrics metrics;
  ClusterOptions options{.token_key = "key"};
  options.lab->nodes = 100;
  options.lab->heartbeat = lab::Heartbeat::kOnDemand;
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  options.scheduler = scheduler::default_config(infos);
  std::uint64_t succeeded = 0;
  options.observe = [&](const apiserver::HistoryEvent& event) {
    history.add(event);
    if (event.after.kind() == kube::kJob && !event.deleted &&
        event.after.status()["succeeded"].integer() == 1 && event.before.valid() &&
        !event.before.status()["succeeded"].integer())
      ++succeeded;
  };
  Cluster cluster(world, metrics, Logger(stderr_sink(), world.clock(), LogLevel::kWarn),
                  Random(seed), std::move(options));
  cluster.start([](const Result<Ok>&) {});
  world.run_for(10s);
  {
    const auto transport = cluster.owner();
    Scope scope(world.loop("user"), "user");
    client::Api api(scope, *transport, Random(seed).fork("user"));
    Random random = Random(seed).fork("jobs");
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

int tell(int jobs, Seed seed, const std::string& file) {
  const Week week = live(jobs, seed, file);
  fmt::print("{} {} {:.2f} {}\n", week.hash, week.changes, week.cpu_seconds, int{week.finished});
  return 0;
}

// A week in a process of its own.
class Elsewhere {
 public:
  Elsewhere(const std::string& program, int jobs, Seed seed)
      : pipe_(popen(fmt::format("'{}' tell {} {}", program, jobs, seed).c_str(), "r"), &pclose) {}
  std::optional<Week> week() {
    Week week;
    int finished = 0;
    if (!pipe_ || std::fscanf(pipe_.get(), "%lu %lu %lf %d", &week.hash, &week.changes,
                              &week.cpu_seconds, &finished) != 4)
      return std::nullopt;
    week.finished = finished != 0;
    return week;
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> pipe_;
};

int compare(const std::string& program, int jobs, int runs, Seed seed) {
  fmt::print("A week of 100 nodes and {} jobs in virtual time\n", jobs);
  bool good = true;
  std::uint64_t first = 0;
  const auto judge = [&](Elsewhere& elsewhere, Seed of) {
    const std::optional<Week> week = elsewhere.week();
    if (!week) {
      good = false;
      return fmt::print("  the run ended early\n");
    }
    fmt::print("  seed {}: {:.1f} s of CPU, {} changes, history {:016x}{}\n", of, week->cpu_seconds,
               week->changes, week->hash, week->finished ? "" : ", NOT ALL JOBS FINISHED");
    std::fflush(stdout);
    if (first == 0) first = week->hash;
    good = good && week->finished && (week->hash == first) == (of == seed) &&
           week->cpu_seconds < kMostSeconds;
  };
  for (int i = 0; i < runs; i += 2) {  // as many at a time as the smallest machine has cores
    Elsewhere one(program, jobs, seed), other(program, jobs, i + 1 < runs ? seed : seed + 1);
    judge(one, seed);
    judge(other, i + 1 < runs ? seed : seed + 1);
  }
  if (runs % 2 == 0) {
    Elsewhere other(program, jobs, seed + 1);
    judge(other, seed + 1);
  }
  fmt::print(
      "  Must (the same history every time, another for another seed, in less than a minute): "
      "{}.\n",
      good ? "met" : "MISSED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace berth::cluster

int main(int argc, char** argv) {
  const bool tells = argc > 1 && std::string_view(argv[1]) == "tell";
  const char* const* rest = argv + (tells ? 1 : 0);
  const int count = argc - (tells ? 1 : 0);
  const auto number = [&](int i, int otherwise) {
    return count > i ? std::atoi(rest[i]) : otherwise;
  };
  const int jobs = number(1, 5'000), runs = tells ? 1 : number(2, 10);
  const int seed = number(tells ? 2 : 3, 1);
  if (jobs <= 0 || runs <= 0 || seed <= 0) {
    fmt::print(stderr, "usage: virtual_week_bench [JOBS [RUNS [SEED]]]\n");
    return 2;
  }
  const auto drawn = static_cast<berth::Seed>(seed);
  if (tells) return berth::cluster::tell(jobs, drawn, count > 3 ? rest[3] : "");
  return berth::cluster::compare(argv[0], jobs, runs, drawn);
}
