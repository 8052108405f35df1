// SPDX-License-Identifier: Apache-2.0
// Slots at scale on `berth up`: 2,000 nodes with two slots each, in 50 Testbeds (or, as ESI-130 has
// it, 5,000 in 200), until all are reserved by Berth's own scheduler; one node that changes, and
// how many Testbeds that touches; and the extender asked about pods of all of them, with all nodes
// to choose from. `slots_bench [NODES [TESTBEDS]]`; with `real` before them on a real
// kube-apiserver, with Berth's controllers and scheduler beside it. Exit code 1 where a must is
// missed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <thread>

#include <fmt/format.h>

#include "child.h"
#include "control_plane.h"
#include "kube/ours/ours.h"
#include "kube/pod_view.h"
#include "net/http_client.h"
#include "policy/slots/ledger.h"
#include "process_cost.h"
#include "scheduler/extender/extender_wire.h"
#include "session.h"

namespace berth::e2e {
namespace {

using Clock = std::chrono::steady_clock;
using kube::Object;

struct Bounds {
  double reserved_seconds, answer_ms;
};
// Beside a real API server its own speed decides how long reserving takes.
Bounds bounds_of(int nodes, bool real) {
  if (nodes > 2'000) return {60, real ? 50. : 20.};
  return {30, real ? 50. : 10.};
}
constexpr std::chrono::seconds kPatience{300};
constexpr int kSlotsANode = 2, kSlotsAJob = 20;

const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }

class Bench {
 public:
  Bench(int nodes, int testbeds, bool real)
      : nodes_(nodes), testbeds_(testbeds), real_(real), bounds_(bounds_of(nodes, real)) {}

  Result<Ok> run() {
    Result<Ok> done = real_ ? start_beside_a_real_server() : start();
    if (done) done = reserve();
    if (done) done = change_one();
    if (done) done = grant();
    if (done) done = ask();
    return done;
  }
  bool met() const { return met_; }

 private:
  std::string label(int testbed) const { return fmt::format("berth.dev/tb-{}", testbed); }

  Result<Ok> start() {
    std::string manifests;
    for (int i = 0; i < nodes_; ++i)
      manifests += fmt::format(
          "apiVersion: v1\nkind: Node\nmetadata:\n  name: node-{0}\n  labels: {{{1}: \"{2}\", "
          "kubernetes.io/hostname: node-{0}}}\nstatus:\n  capacity: {{cpu: \"16\", memory: 64Gi, "
          "pods: \"110\"}}\n  allocatable: {{cpu: \"16\", memory: 64Gi, pods: \"110\"}}\n---\n",
          i, label(i % testbeds_), i / testbeds_);
    const auto file = folder_.write("nodes.yaml", manifests);
    const auto kubeconfig = folder_.path() / "kubeconfig";
    auto child = Child::start({.program = BERTH_BERTH,
                               .args = {"up", "--nodes", file.string(), "--port", "0",
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
    kubeconfig_ = kubeconfig.string();
    if (!eventually(kPatience, [&] {
          const auto all = session_->list_all(kube::kNode, "");
          return all &&
                 std::count_if(all->items.begin(), all->items.end(), [](const Object& node) {
                   return kube::find_condition(node.status(), "Ready")["status"].equals("True");
                 }) == nodes_;
        }))
      return fail(Reason::kTimeout, "the nodes are not ready");
    return Ok{};
  }

  Result<Ok> start_beside_a_real_server() {
    auto plane = ControlPlane::start(
        {.etcd_flags = {"--unsafe-no-fsync"},
         .api_server_flags = {"--disable-admission-plugins=TaintNodesByCondition,"
                              "DefaultTolerationSeconds,RuntimeClass",
                              "--max-requests-inflight=3000",
                              "--max-mutating-requests-inflight=1000"}});
    if (!plane) return tl::unexpected(plane.error());
    plane_ = *std::move(plane);
    kubeconfig_ = plane_->kubeconfig().string();
    auto session = Session::open(kubeconfig_);
    if (!session) return tl::unexpected(session.error());
    session_ = *std::move(session);
    for (const std::string& manifest : kube::our_first_objects()) {
      const auto object = Object::parse(manifest);
      const auto made = session_->create(object->kind(), "", manifest);
      if (!made) return tl::unexpected(made.error());
    }
    for (const kube::KindSpec& kind : kube::our_kinds())
      if (!eventually(kPatience, [&] {
            const auto now = session_->get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
            return now &&
                   kube::find_condition(now->status(), "Established")["status"].equals("True");
          }))
        return fail(Reason::kTimeout, kind.crd_name());
    std::vector<NewObject> nodes;
    for (int i = 0; i < nodes_; ++i)
      nodes.push_back(
          {kube::kNode, "",
           fmt::format(
               R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"{1}":"{2}"}}}},"status":{{"capacity":{{"cpu":"16","memory":"64Gi","pods":"110"}},"allocatable":{{"cpu":"16","memory":"64Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True","reason":"x","message":"x"}}]}}}})",
               i, label(i % testbeds_), i / testbeds_)});
    if (auto made = create_all(*session_, std::move(nodes)); !made)
      return tl::unexpected(made.error());
    const auto config =
        folder_.write("scheduler.yaml", fmt::format(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: "{}", qps: 100000, burst: 100000}}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {{enabled: [{{name: Slots}}]}}
    postFilter: {{enabled: [{{name: Slots}}]}}
    bind: {{enabled: [{{name: Slots}}]}}
)",
                                                    kubeconfig_));
    for (std::vector<std::string> args :
         {std::vector<std::string>{"controllers", "--kubeconfig", kubeconfig_, "--leader-elect",
                                   "false", "--secure-port", "0"},
          std::vector<std::string>{"scheduler", "--config", config.string(), "--secure-port",
                                   "0"}}) {
      const std::string name = args.front();
      auto child = Child::start({.program = BERTH_BERTH,
                                 .args = std::move(args),
                                 .env = {},
                                 .log = folder_.path() / (name + ".log")});
      if (!child) return tl::unexpected(child.error());
      beside_.push_back(*std::move(child));
    }
    return Ok{};
  }

  std::map<std::string, Object> testbeds() {
    std::map<std::string, Object> all;
    if (const auto listed = session_->list_all(kinds().testbed, "default"))
      for (const Object& each : listed->items) all[std::string(each.name())] = each;
    return all;
  }

  Result<Ok> reserve() {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < testbeds_; ++i) {
      const auto made = session_->create(
          kinds().testbed, "default",
          fmt::format(
              R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{{"name":"tb-{}","namespace":"default"}},"spec":{{"slotsPerNode":{},"nodeLabel":"{}","resourcesPerSlot":{{"cpu":"750m","memory":"6Gi"}}}}}})",
              i, kSlotsANode, label(i)));
      if (!made) return tl::unexpected(made.error());
    }
    std::int64_t free = 0;
    const bool all = eventually(kPatience, [&] {
      free = 0;
      for (const auto& [name, testbed] : testbeds())
        free += testbed.status()["slotCounts"]["free"].integer().value_or(0);
      return free == std::int64_t{nodes_} * kSlotsANode;
    });
    const double took = seconds_since(begin);
    if (!all) return fail(Reason::kTimeout, fmt::format("{} slots are free", free));
    if (real_) {
      fmt::print("  {} slots of {} Testbeds reserved in {:.1f} s\n", free, testbeds_, took);
      return Ok{};
    }
    fmt::print("  {} slots of {} Testbeds reserved in {:.1f} s ({:.1f} s of CPU, {:.0f} MB)\n",
               free, testbeds_, took, bench::cpu_seconds(berth_->pid()),
               bench::peak_mb(berth_->pid()));
    check(fmt::format("{:.0f} s", bounds_.reserved_seconds), took < bounds_.reserved_seconds);
    return Ok{};
  }

  Result<Ok> change_one() {
    const auto settled = [&] {
      auto before = testbeds();
      std::this_thread::sleep_for(std::chrono::seconds(3));
      return same(before, testbeds()).empty();
    };
    if (!eventually(kPatience, settled)) return fail(Reason::kTimeout, "Testbeds keep changing");
    const auto before = testbeds();
    const auto patched =
        session_->patch(kube::kNode, {"", "node-0"},
                        fmt::format(R"({{"metadata":{{"labels":{{"{}":null}}}}}})", label(0)));
    if (!patched) return tl::unexpected(patched.error());
    std::this_thread::sleep_for(std::chrono::seconds(5));
    const std::vector<std::string> touched = same(before, testbeds());
    fmt::print("  one node left its Testbed: {} Testbed(s) changed\n", touched.size());
    check("one Testbed", touched == std::vector<std::string>{"tb-0"});
    return Ok{};
  }
  static std::vector<std::string> same(const std::map<std::string, Object>& before,
                                       const std::map<std::string, Object>& after) {
    std::vector<std::string> changed;
    for (const auto& [name, testbed] : after)
      if (const auto was = before.find(name);
          was == before.end() || was->second.revision() != testbed.revision())
        changed.push_back(name);
    return changed;
  }

  // A job a Testbed, with slots and without pods.
  Result<Ok> grant() {
    for (int i = 0; i < testbeds_; ++i) {
      auto made = session_->create(
          kinds().batch_job, "default",
          fmt::format(
              R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"job-{}","namespace":"default"}},"spec":{{"jobSpec":{{"suspend":true,"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}}})",
              i));
      if (!made) return tl::unexpected(made.error());
      std::string queue;
      for (int n = 0; n < kSlotsAJob; ++n)
        queue +=
            fmt::format(R"({}{{"name":"job-{}","namespace":"default"}})", n == 0 ? "" : ",", i);
      made = session_->create(
          kinds().scheduling, "default",
          fmt::format(
              R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"s-{0}","namespace":"default"}},"spec":{{"testbed":{{"name":"tb-{0}","namespace":"default"}},"queueBased":[{1}]}}}})",
              i, queue));
      if (!made) return tl::unexpected(made.error());
    }
    const bool all = eventually(kPatience, [&] {
      grants_.clear();
      const auto jobs = session_->list_all(kinds().batch_job, "default");
      if (jobs)
        for (const Object& job : jobs->items)
          if (job.status()["run"].integer() == 1) grants_.push_back(slots::grant_id(job.uid(), 1));
      return grants_.size() == static_cast<std::size_t>(testbeds_);
    });
    if (!all) return fail(Reason::kTimeout, fmt::format("{} jobs were granted", grants_.size()));
    return Ok{};
  }

  Result<Ok> ask() {
    auto child = Child::start({.program = BERTH_BERTH,
                               .args = {"extender", "--kubeconfig", kubeconfig_, "--port", "0"},
                               .env = {},
                               .log = folder_.path() / "extender"});
    if (!child) return tl::unexpected(child.error());
    std::smatch found;
    std::string text;
    if (!eventually(kPatience, [&] {
          text = (*child)->log();
          return std::regex_search(text, found, std::regex("http://127.0.0.1:([0-9]+)/slots"));
        }))
      return fail(Reason::kServiceUnavailable, text);
    auto client = net::HttpClient::create(
        session_->loop().executor(),
        {.origin = {false, "127.0.0.1", static_cast<std::uint16_t>(std::stoi(found[1]))}});
    if (!client) return tl::unexpected(client.error());
    const auto call = [&](std::string method, std::string path, std::string body) {
      return session_->loop().ask<net::HttpResponse>(60s, [&](Done<net::HttpResponse> done) {
        (*client)->call(
            {.method = std::move(method), .target = std::move(path), .body = std::move(body)},
            session_->loop().executor().clock().now() + 30s, std::move(done));
      });
    };
    if (!eventually(kPatience, [&] {
          const auto ready = call("GET", "/readyz", "");
          return ready && ready->status == 200;
        }))
      return fail(Reason::kTimeout, "the extender is not ready");
    std::vector<std::string> names;
    for (int i = 0; i < nodes_; ++i) names.push_back(fmt::format("node-{}", i));
    const auto all = std::make_shared<const std::vector<std::string>>(names);
    std::size_t kept = 0, asked = 0;
    std::map<std::string, int> why_none;  // nodes of answers that named none, by reason
    for (const char* round : {"first", "again"}) {
      std::vector<double> took;
      for (std::size_t grant = 0; grant < grants_.size(); ++grant)
        for (int n = 0; n < kSlotsAJob; ++n) {
          const auto pod = Object::parse(
              kube::kPod,
              fmt::format(
                  R"({{"metadata":{{"name":"e-{0}-{1}","namespace":"default","uid":"e-{0}-{1}","labels":{{"{2}":"{3}"}}}},"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"750m"}}}}}}]}}}})",
                  grant, n, kube::kGrantLabel, grants_[grant]));
          std::string body =
              scheduler::extender_request(scheduler::ExtenderArgs{.pod = *pod, .names = all}, true);
          const Clock::time_point begin = Clock::now();
          const auto answer = call("POST", "/slots/filter", std::move(body));
          took.push_back(seconds_since(begin) * 1000);
          if (!answer || answer->status != 200)
            return fail(Reason::kInternalError, answer ? answer->body : answer.error().message);
          ++asked;
          const std::size_t named = json::Slice(answer->body)["NodeNames"].size();
          if (named == 0)
            for (const char* failed : {"FailedNodes", "FailedAndUnresolvableNodes"})
              for (const auto& [node, why] : json::Slice(answer->body)[failed].members())
                ++why_none[why.text()];
          kept += named;
        }
      std::sort(took.begin(), took.end());
      fmt::print("  extender, {} nodes offered, asked {}: {} calls, p50 {:.2f} ms, p99 {:.2f} ms\n",
                 nodes_, round, took.size(), took[took.size() / 2], took[took.size() * 99 / 100]);
      check(fmt::format("p99 {:.0f} ms", bounds_.answer_ms),
            took[took.size() * 99 / 100] < bounds_.answer_ms);
    }
    fmt::print("  {} of {} answers named a node; the extender took {:.0f} MB\n", kept, asked,
               bench::peak_mb((*child)->pid()));
    check("an answer each", kept == asked);
    for (const auto& [why, nodes] : why_none) fmt::print("    {} nodes: {}\n", nodes, why);
    session_->loop().run([&] { client->reset(); });
    return Ok{};
  }

  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void check(const std::string& must, bool good) {
    if (good) return;
    fmt::print("  Must ({}): MISSED.\n", must);
    met_ = false;
  }

  int nodes_, testbeds_;
  bool real_;
  Bounds bounds_;
  TempFolder folder_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Child> berth_;
  std::vector<std::unique_ptr<Child>> beside_;
  std::unique_ptr<Session> session_;
  std::string kubeconfig_;
  std::vector<std::string> grants_;
  bool met_ = true;
};

int run(int nodes, int testbeds, bool real) {
  fmt::print("{} with {} nodes of {} slots, {} Testbeds\n",
             real ? "a real kube-apiserver" : "berth up", nodes, kSlotsANode, testbeds);
  Bench bench(nodes, testbeds, real);
  if (const Result<Ok> done = bench.run(); !done) {
    fmt::print("  failed: {}\n", done.error().message);
    return 1;
  }
  const Bounds bounds = bounds_of(nodes, real);
  fmt::print("  Must ({}one Testbed touched, p99 {:.0f} ms): {}.\n",
             real ? "" : fmt::format("reserved in {:.0f} s, ", bounds.reserved_seconds),
             bounds.answer_ms, bench.met() ? "met" : "MISSED");
  return bench.met() ? 0 : 1;
}

}  // namespace
}  // namespace berth::e2e

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was measured is seen, whatever comes after
  const bool real = argc > 1 && std::string_view(argv[1]) == "real";
  if (real) {
    --argc;
    ++argv;
  }
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int testbeds = argc > 2 ? std::atoi(argv[2]) : 50;
  if (nodes <= 0 || testbeds <= 0 || nodes < testbeds) {
    fmt::print(stderr, "usage: slots_bench [real] [NODES [TESTBEDS]]\n");
    return 2;
  }
  return berth::e2e::run(nodes, testbeds, real);
}
