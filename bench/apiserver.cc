// SPDX-License-Identifier: Apache-2.0
// The embedded API server and kube-apiserver with etcd side by side: the same client sends the same
// requests to both, and what counts is the CPU time that the server's processes took for them.
// `apiserver_bench [PODS]`; exit code 1 where an operation is less than three times as cheap.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "client/informer.h"
#include "control_plane.h"
#include "pod_maker.h"
#include "process_cost.h"
#include "session.h"

namespace berth::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWindow = 32;    // requests at a time
constexpr std::size_t kWatchers = 50;  // of all pods
constexpr double kMust = 3;

double cpu_of(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t pid : processes) sum += bench::cpu_seconds(pid);
  return sum;
}

// What is done after the answer: until the server rests for five looks in a row. Its
// heartbeat, a tick or none a look, counts as rest.
double cpu_at_rest(const std::vector<pid_t>& processes) {
  constexpr double kRest = 0.011;  // a tick of the kernel's count
  double last = cpu_of(processes);
  int quiet = 0;
  eventually(std::chrono::seconds(10), [&] {
    const double now = cpu_of(processes);
    quiet = now - last < kRest ? quiet + 1 : 0;
    last = now;
    return quiet == 5;
  });
  return last;
}

// One of the two, running.
struct Server {
  std::unique_ptr<ControlPlane> plane;  // the real one
  TempFolder folder;
  std::unique_ptr<Child> berth;
  std::filesystem::path kubeconfig;
  std::vector<pid_t> processes;
};

Result<std::unique_ptr<Server>> start_real() {
  auto server = std::make_unique<Server>();
  auto plane =
      ControlPlane::start({.etcd_flags = {}, .api_server_flags = {}, .service_accounts = true});
  if (!plane) return tl::unexpected(plane.error());
  server->plane = *std::move(plane);
  server->kubeconfig = server->plane->kubeconfig();
  server->processes = {server->plane->etcd().pid(), server->plane->api_server().pid()};
  return server;
}

Result<std::unique_ptr<Server>> start_berth() {
  auto server = std::make_unique<Server>();
  server->kubeconfig = server->folder.path() / "kubeconfig";
  auto child = Child::start(
      {.program = BERTH_BERTH,
       .args = {"up", "--port", "0", "--data-dir", (server->folder.path() / "data").string(),
                "--kubeconfig-out", server->kubeconfig.string(), "--without", "scheduler",
                "--without", "controllers", "--without", "nodes"},
       .env = {},
       .log = server->folder.path() / "log"});
  if (!child) return tl::unexpected(child.error());
  server->berth = *std::move(child);
  if (!eventually(std::chrono::seconds(20),
                  [&] { return std::filesystem::exists(server->kubeconfig); }))
    return fail(Reason::kServiceUnavailable, server->berth->log_tail());
  server->processes = {server->berth->pid()};
  return server;
}

// `count` calls, a window of them at a time.
class Pump {
 public:
  using Start = std::function<void(client::Api&, std::size_t index, Done<Ok>)>;
  static Result<Ok> run(Session& session, std::size_t count, const Start& start) {
    return session.loop().ask<Ok>(600s, [&](Done<Ok> done) {
      auto pump = std::make_shared<Pump>(session, count, start, std::move(done));
      for (std::size_t i = 0; i < std::min(count, kWindow); ++i) next(pump);
    });
  }
  Pump(Session& session, std::size_t count, Start start, Done<Ok> done)
      : session_(session), count_(count), start_(std::move(start)), done_(std::move(done)) {}

 private:
  static void next(const std::shared_ptr<Pump>& pump) {
    if (pump->begun_ == pump->count_) return;
    const std::size_t index = pump->begun_++;
    pump->start_(pump->session_.api(), index,
                 pump->session_.loop().scope().done<Ok>(60s, [pump](Result<Ok> done) {
                   if (!done) return pump->done_(std::move(done));
                   if (++pump->ended_ == pump->count_) return pump->done_(Ok{});
                   next(pump);
                 }));
  }

  Session& session_;
  std::size_t count_, begun_ = 0, ended_ = 0;
  Start start_;
  Done<Ok> done_;
};

template <class T>
Done<T> then_ok(Session& session, Done<Ok> done) {
  return session.loop().scope().done<T>(
      60s, [done = std::make_shared<Done<Ok>>(std::move(done))](Result<T> result) {
        if (result)
          (*done)(Ok{});
        else
          (*done)(tl::unexpected(result.error()));
      });
}

std::string pod_name(std::size_t index) { return fmt::format("pod-{:06}", index); }

// The bench's pod under a name of ours, unbound.
std::string unbound_pod(std::size_t index) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{{"app":"a{}","tier":"web","team":"shop"}},"annotations":{{"example.com/owner":"{}"}}}},"spec":{{"containers":[{{"name":"main","image":"registry.example/app:1.{}","env":[{{"name":"A","value":"1"}},{{"name":"B","value":"{}"}}],"ports":[{{"containerPort":8080}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"cpu":"1","memory":"256Mi"}}}}}},{{"name":"side","image":"registry.example/side:2"}}],"nodeSelector":{{"disk":"ssd"}},"tolerations":[{{"key":"dedicated","operator":"Exists"}}]}}}})",
      pod_name(index), index % 20, std::string(200, 'x'), index % 7, std::string(400, 'y'));
}

struct Measured {
  double cpu_ms = 0;   // of the server, an operation
  double seconds = 0;  // all of them together
};
using Results = std::map<std::string, std::vector<Measured>>;

Result<Ok> measure(Results& results, Server& server, const std::string& name, std::size_t count,
                   const std::function<Result<Ok>()>& what) {
  const double before = cpu_at_rest(server.processes);
  const Clock::time_point begin = Clock::now();
  if (Result<Ok> done = what(); !done) {
    Error error = done.error();
    error.message = fmt::format("{}: {}", name, error.message);
    return tl::unexpected(std::move(error));
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  results[name].push_back(
      {1000 * (cpu_at_rest(server.processes) - before) / static_cast<double>(count), seconds});
  return Ok{};
}

Result<Ok> watch_fan_out(Results& results, Server& server, Session& session, std::size_t pods) {
  std::vector<std::unique_ptr<client::Informer<>>> watchers;
  std::atomic<std::size_t> seen{0}, synced{0};
  Scope& scope = session.loop().child("watchers");
  session.loop().run([&] {
    for (std::size_t i = 0; i < kWatchers; ++i) {
      watchers.push_back(std::make_unique<client::Informer<>>(
          scope, session.transport(), Random(i),
          client::InformerOptions{.feed = {.kind = kube::kPod}, .keep = client::Keep::kMetadata}));
      watchers.back()->add_handler({.updated = [&](const auto&, const auto&) { ++seen; }});
      watchers.back()->on_synced([&] { ++synced; });
      watchers.back()->start();
    }
  });
  eventually(std::chrono::seconds(120), [&] { return synced == kWatchers; });
  const std::size_t changes = std::min<std::size_t>(pods, 1'000);
  Result<Ok> done = measure(
      results, server, "watch event to one watcher", changes * kWatchers, [&]() -> Result<Ok> {
        Result<Ok> sent =
            Pump::run(session, changes, [&](client::Api& api, std::size_t i, Done<Ok> ok) {
              api.patch(kube::kPod, {"default", pod_name(i)},
                        R"({"metadata":{"labels":{"seen":"yes"}}})", kube::PatchType::kMerge,
                        then_ok<kube::Object>(session, std::move(ok)));
            });
        if (!sent) return sent;
        if (!eventually(std::chrono::seconds(120), [&] { return seen >= changes * kWatchers; }))
          return fail(Reason::kTimeout, "not every watcher saw every change");
        return Ok{};
      });
  session.loop().close(scope);
  session.loop().run([&] { watchers.clear(); });
  return done;
}

Result<Ok> run_once(Results& results, Server& server, std::size_t pods) {
  auto opened = Session::open(server.kubeconfig);
  if (!opened) return tl::unexpected(opened.error());
  Session& session = **opened;
  // Pods ask for it, and there is no controller that makes it.
  if (auto account = session.create(
          kube::kServiceAccount, "default",
          R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})");
      !account && account.error().reason != Reason::kAlreadyExists)
    return tl::unexpected(account.error());
  const auto step = [&](const std::string& name, std::size_t count, const Pump::Start& start) {
    return measure(results, server, name, count, [&] { return Pump::run(session, count, start); });
  };
  Result<Ok> done = step("create a pod", pods, [&](client::Api& api, std::size_t i, Done<Ok> ok) {
    api.create(kube::kPod, "default", unbound_pod(i),
               then_ok<kube::Object>(session, std::move(ok)));
  });
  if (done)
    done = step("get a pod", 4 * pods, [&](client::Api& api, std::size_t i, Done<Ok> ok) {
      api.get(kube::kPod, {"default", pod_name(i % pods)},
              then_ok<kube::Object>(session, std::move(ok)));
    });
  if (done)
    done = step("list all pods", 10, [&](client::Api& api, std::size_t, Done<Ok> ok) {
      api.list(kube::kPod, "default", {}, then_ok<kube::ObjectList>(session, std::move(ok)));
    });
  if (done) done = watch_fan_out(results, server, session, pods);
  if (done)
    done = step("bind a pod", pods, [&](client::Api& api, std::size_t i, Done<Ok> ok) {
      api.bind({"default", pod_name(i)}, "", "node-1", then_ok<Ok>(session, std::move(ok)));
    });
  return done;
}

double median_cpu(std::vector<Measured> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const Measured& a, const Measured& b) { return a.cpu_ms < b.cpu_ms; });
  return (runs[(runs.size() - 1) / 2].cpu_ms + runs[runs.size() / 2].cpu_ms) / 2;
}

int compare(std::size_t pods) {
  fmt::print(
      "The API server, {} pods, {} requests at a time, TLS, both durable without fsync: CPU ms of "
      "the server an operation\n",
      pods, kWindow);
  std::map<bool, Results> results;  // by: is it ours?
  for (const bool ours : {false, true, true, false}) {
    auto server = ours ? start_berth() : start_real();
    if (!server && !ours && server.error().reason == Reason::kNotFound) {
      fmt::print("  kube-apiserver is left out: {}\n", server.error().message);
      continue;
    }
    const Result<Ok> done = server ? run_once(results[ours], **server, pods)
                                   : Result<Ok>(tl::unexpected(server.error()));
    if (!done) {
      fmt::print("  {} failed: {}\n", ours ? "Berth" : "kube-apiserver", done.error().message);
      return 1;
    }
  }
  bool met = true;
  fmt::print("  {:<28} {:>10} {:>22} {:>8}\n", "", "Berth", "kube-apiserver + etcd", "ratio");
  for (const auto& [name, runs] : results[true]) {
    const double ours = median_cpu(runs);
    const auto other = results[false].find(name);
    if (other == results[false].end()) {
      fmt::print("  {:<28} {:>10.4f}\n", name, ours);
      continue;
    }
    const double theirs = median_cpu(other->second);
    met = met && theirs >= kMust * ours;
    fmt::print("  {:<28} {:>10.4f} {:>22.4f} {:>8.1f}\n", name, ours, theirs, theirs / ours);
  }
  if (!results[false].empty())
    fmt::print("  Must (three times as many operations a CPU second): {}.\n",
               met ? "met" : "MISSED");
  return met ? 0 : 1;
}

}  // namespace
}  // namespace berth::e2e

int main(int argc, char** argv) {
  const int pods = argc > 1 ? std::atoi(argv[1]) : 5000;
  if (pods <= 0) {
    fmt::print(stderr, "usage: apiserver_bench [PODS]\n");
    return 2;
  }
  return berth::e2e::compare(static_cast<std::size_t>(pods));
}
