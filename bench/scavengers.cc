// SPDX-License-Identifier: Apache-2.0
// Scavenger jobs at scale: 5,000 nodes, 10,000 jobs and 50,000 pods.
//   1. On `berth up`, in real time: how long a reconciliation takes, from the queue of its
//   controller
//      to its last write answered.
//   2. In virtual time: how often a job is written while it runs for its duration, and that nobody
//      writes to jobs that wait while nothing changes.
// `scavengers_bench [NODES [JOBS [PODS]]]`; exit code 1 where a must is missed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <regex>
#include <thread>

#include <fmt/format.h>

#include "apiserver/store/table.h"
#include "base/world.h"
#include "child.h"
#include "cluster/cluster.h"
#include "process_cost.h"
#include "scheduler/plugins/registry.h"
#include "session.h"

namespace berth::e2e {
namespace {

using SteadyClock = std::chrono::steady_clock;
using kube::Object;

constexpr double kReconcileSeconds = 1;
constexpr int kSteps = 3, kMostWrites = kSteps + 2;
constexpr std::chrono::seconds kPatience{900}, kLookEvery{2};
constexpr int kDeployments = 10;

struct Sizes {
  int nodes = 5'000, jobs = 10'000, pods = 50'000;
  int waiting() const { return jobs / 10; }  // of the jobs: too large for any node
  int ordinary() const { return std::max(0, pods - (jobs - waiting())); }
};

std::string job_json(int number, bool fits) {
  return fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"sj-{:05}","namespace":"default"}},"spec":{{"image":"program","command":["sleep","infinity"],"resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}},"duration":"30m","checkpoint":{{"interval":"5m"}}}}}})",
      number, fits ? 1 : 1000);
}
std::string deployment_json(int number, int replicas) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web-{0}","namespace":"default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":{{"app":"web-{0}"}}}},"template":{{"metadata":{{"labels":{{"app":"web-{0}"}}}},"spec":{{"containers":[{{"name":"main","image":"app","resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}}}}}}]}}}}}}}})",
      number, replicas);
}
kube::KindId scavenger_job() { return Object::parse(job_json(0, true))->kind(); }

struct Musts {
  bool met = true;
  void check(const std::string& must, bool good) {
    if (good) return;
    fmt::print("  Must ({}): MISSED.\n", must);
    met = false;
  }
};

// The upper bound of the bucket in which 99 of 100 are, of a histogram in Prometheus' text.
struct Spread {
  double p99 = 0;
  std::uint64_t count = 0;
};
std::map<std::string, Spread> work_durations(const std::string& text) {
  std::map<std::string, std::vector<std::pair<double, double>>> buckets;
  const std::regex line(
      R"re(workqueue_work_duration_seconds_bucket\{.*?name="([^"]*scaveng[^"]*)".*?le="([^"]+)".*?\} ([0-9.e+]+))re");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), line); at != std::sregex_iterator();
       ++at)
    buckets[(*at)[1]].emplace_back(
        (*at)[2] == "+Inf" ? HUGE_VAL : std::strtod((*at)[2].str().c_str(), nullptr),
        std::strtod((*at)[3].str().c_str(), nullptr));
  std::map<std::string, Spread> spreads;
  for (auto& [name, all] : buckets) {
    std::sort(all.begin(), all.end());
    Spread& spread = spreads[name];
    spread.count = static_cast<std::uint64_t>(all.back().second);
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& bucket) {
      return bucket.second >= 0.99 * all.back().second;
    });
    spread.p99 = found->first;
  }
  return spreads;
}

class InRealTime {
 public:
  InRealTime(Sizes sizes, Musts& musts) : sizes_(sizes), musts_(musts) {}

  Result<Ok> run() {
    Result<Ok> done = start();
    if (done) done = submit();
    if (done) done = wait();
    if (done) done = read();
    return done;
  }

 private:
  Result<Ok> start() {
    const auto kubeconfig = folder_.path() / "kubeconfig";
    auto child =
        Child::start({.program = BERTH_BERTH,
                      .args = {"up", "--nodes", std::to_string(sizes_.nodes), "--port", "0",
                               "--ephemeral", "--kubeconfig-out", kubeconfig.string()},
                      .env = {},
                      .log = folder_.path() / "log"});
    if (!child) return tl::unexpected(child.error());
    berth_ = *std::move(child);
    if (!eventually(kPatience, [&] { return std::filesystem::exists(kubeconfig); }))
      return fail(Reason::kServiceUnavailable, berth_->log_tail());
    auto session = Session::open(kubeconfig);
    if (!session) return tl::unexpected(session.error());
    session_ = *std::move(session);
    begin_ = SteadyClock::now();
    return Ok{};
  }
  Result<Ok> submit() {
    for (int i = 0; i < kDeployments; ++i)
      if (auto made = session_->create(kube::kDeployment, "default",
                                       deployment_json(i, sizes_.ordinary() / kDeployments));
          !made)
        return tl::unexpected(made.error());
    for (int i = 0; i < sizes_.jobs; ++i)
      if (auto made =
              session_->create(scavenger_job(), "default", job_json(i, i >= sizes_.waiting()));
          !made)
        return tl::unexpected(made.error());
    return Ok{};
  }
  // By a number, not by listing all of them over and over: that would measure the listing.
  Result<Ok> wait() {
    const int wanted = sizes_.jobs - sizes_.waiting();
    eventually(kPatience, [&] {
      std::this_thread::sleep_for(kLookEvery);
      const auto text = metrics();
      const std::regex line(R"re(\nsj_started_total ([0-9.e+]+))re");
      std::smatch found;
      return text && std::regex_search(*text, found, line) &&
             std::strtod(found[1].str().c_str(), nullptr) >= wanted;
    });
    const double took = std::chrono::duration<double>(SteadyClock::now() - begin_).count();
    const auto listed = session_->list_all(scavenger_job(), "default");
    if (!listed) return tl::unexpected(listed.error());
    const auto running =
        std::count_if(listed->items.begin(), listed->items.end(),
                      [](const Object& job) { return job.status()["phase"].equals("Running"); });
    fmt::print("  {} of {} jobs run after {:.0f} s ({:.0f} s of CPU, {:.0f} MB at most)\n", running,
               wanted, took, bench::cpu_seconds(berth_->pid()), bench::peak_mb(berth_->pid()));
    musts_.check("all jobs that fit run", running == wanted);
    return Ok{};
  }
  Result<std::string> metrics() {
    return session_->ask<std::string>([](client::Api& api, Done<std::string> done) {
      api.raw("GET", "/metrics", "", std::move(done));
    });
  }
  Result<Ok> read() {
    const auto text = metrics();
    if (!text) return tl::unexpected(text.error());
    const auto spreads = work_durations(*text);
    musts_.check("reconciliations are measured", !spreads.empty());
    for (const auto& [name, spread] : spreads) {
      fmt::print("  {}: {} reconciliations, p99 at most {:g} s\n", name, spread.count, spread.p99);
      musts_.check(fmt::format("p99 under {:g} s", kReconcileSeconds),
                   spread.p99 <= kReconcileSeconds);
    }
    return Ok{};
  }

  Sizes sizes_;
  Musts& musts_;
  TempFolder folder_;
  SteadyClock::time_point begin_;
  std::unique_ptr<Child> berth_;
  std::unique_ptr<Session> session_;
};

// Writes of every job between two moments.
struct Writes {
  std::map<std::string, int, std::less<>> by_job;
  std::map<std::string, std::string, std::less<>> phase;

  void note(const apiserver::HistoryEvent& event) {
    const std::string name(event.after.name());
    if (event.before.valid()) ++by_job[name];
    phase[name] = event.after.status()["phase"].text();
  }
  std::pair<int, double> most_and_mean(std::string_view of_phase) const {
    int most = 0;
    double sum = 0;
    std::size_t count = 0;
    for (const auto& [name, is] : phase) {
      if ((is.empty() ? "Pending" : is) != of_phase) continue;
      const auto found = by_job.find(name);
      const int writes = found == by_job.end() ? 0 : found->second;
      most = std::max(most, writes);
      sum += writes;
      ++count;
    }
    return {most, count == 0 ? 0 : sum / static_cast<double>(count)};
  }
};

void in_virtual_time(Sizes sizes, Musts& musts) {
  const std::clock_t begin = std::clock();
  const kube::KindId kind = scavenger_job();
  World world(1);
  Metrics metrics;
  Writes writes;
  cluster::ClusterOptions options{.token_key = "key"};
  options.lab->nodes = static_cast<std::size_t>(sizes.nodes);
  options.lab->heartbeat = lab::Heartbeat::kOnDemand;
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  options.scheduler = scheduler::default_config(infos);
  options.observe = [&](const apiserver::HistoryEvent& event) {
    if (event.after.kind() == kind) writes.note(event);
  };
  cluster::Cluster cluster(world, metrics, Logger(stderr_sink(), world.clock(), LogLevel::kError),
                           Random(1), std::move(options));
  cluster.start([](const Result<Ok>&) {});
  world.run_for(10s);
  {
    const auto transport = cluster.owner();
    Scope scope(world.loop("user"), "user");
    client::Api api(scope, *transport, Random(1));
    int refused = 0;
    const auto create = [&](kube::KindId of, std::string json) {
      api.create(of, "default", std::move(json),
                 scope.done<Object>(10min, [&](const Result<Object>& made) {
                   if (!made && refused++ == 0) fmt::print("  refused: {}\n", made.error().message);
                 }));
    };
    for (int i = 0; i < kDeployments; ++i)
      create(kube::kDeployment, deployment_json(i, sizes.ordinary() / kDeployments));
    for (int i = 0; i < sizes.jobs; ++i) create(kind, job_json(i, i >= sizes.waiting()));
    world.run_for(20min);
    const auto running = std::count_if(writes.phase.begin(), writes.phase.end(),
                                       [](const auto& job) { return job.second == "Running"; });
    writes.by_job.clear();
    world.run_for(30min);
    const auto [most, mean] = writes.most_and_mean("Running");
    const auto [waiting_most, waiting_mean] = writes.most_and_mean("Pending");
    fmt::print(
        "  {} jobs run; in their duration of 30 minutes each was written {:.2f} times, at most {}; "
        "jobs that wait at most {}\n",
        running, mean, most, waiting_most);
    musts.check("every job was accepted", refused == 0);
    musts.check("all jobs that fit run", running == sizes.jobs - sizes.waiting());
    musts.check(fmt::format("at most {} writes a job and duration", kMostWrites),
                most <= kMostWrites);
    musts.check("no write to a job that waits", waiting_most == 0);
    scope.close(0s, [] {});
    world.run_for(1s);
  }
  cluster.stop([] {});
  world.run_for(1min);
  fmt::print("  {:.0f} s of CPU\n", static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}

int run(Sizes sizes) {
  Musts musts;
  fmt::print("Scavenger jobs: {} nodes, {} jobs, {} ordinary pods\n", sizes.nodes, sizes.jobs,
             sizes.ordinary());
  if (const Result<Ok> done = InRealTime(sizes, musts).run(); !done) {
    fmt::print("  failed: {}\n", done.error().message);
    return 1;
  }
  in_virtual_time(sizes, musts);
  fmt::print(
      "  Must (p99 of a reconciliation {:g} s, {} writes a job and duration, none to jobs "
      "that wait): {}.\n",
      kReconcileSeconds, kMostWrites, musts.met ? "met" : "MISSED");
  return musts.met ? 0 : 1;
}

}  // namespace
}  // namespace berth::e2e

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  berth::e2e::Sizes sizes;
  if (argc > 1) sizes.nodes = std::atoi(argv[1]);
  if (argc > 2) sizes.jobs = std::atoi(argv[2]);
  if (argc > 3) sizes.pods = std::atoi(argv[3]);
  if (sizes.nodes <= 0 || sizes.jobs <= 0 || sizes.pods <= 0) {
    fmt::print(stderr, "usage: scavengers_bench [NODES [JOBS [PODS]]]\n");
    return 2;
  }
  return berth::e2e::run(sizes);
}
