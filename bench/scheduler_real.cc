// SPDX-License-Identifier: Apache-2.0
// Berth's scheduler and kube-scheduler side by side on the real kube-apiserver and etcd: a cluster
// of its own for each run, pods staged first, then the scheduler is started and watched until all
// pods are bound. `scheduler_real_bench [NODES [PODS]]`; exit code 1 where Berth takes more than a
// fifth of kube-scheduler's CPU a pod.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "process_cost.h"
#include "scheduler/cluster.h"

namespace berth::e2e {
namespace {

using Clock = std::chrono::steady_clock;

struct Run {
  double seconds = 0;   // from the first bind to the last
  double start_up = 0;  // from the start of the process to the first bind
  double cpu_ms = 0;    // user and system, all threads, from the start of the process
  double peak_mb = 0;   // resident
  double rate = 0;      // pods a second between the first bind and the last
};

std::string node_json(int i) {
  const std::string room =
      fmt::format(R"({{"cpu":"{}","memory":"{}Gi","pods":"110"}})", 4 << (i % 3), 16 << (i % 3));
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0:04}","labels":{{"kubernetes.io/hostname":"node-{0:04}","topology.kubernetes.io/zone":"zone-{1}"}}}},"status":{{"allocatable":{2},"capacity":{2},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}],"images":[{{"names":["reg/app-{3}:1"],"sizeBytes":300000000}}]}}}})",
      i, i % 3, room, i % 5);
}

std::string pod_json(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{0:05}","namespace":"default","labels":{{"app":"a{1}"}}}},"spec":{{"containers":[{{"name":"c","image":"reg/app-{1}:1","resources":{{"requests":{{"cpu":"100m","memory":"250Mi"}}}}}}]}}}})",
      i, i % 5);
}

Result<Run> run_once(Subject subject, int nodes, int pods) {
  auto started = Cluster::start({.controllers = {}, .kwok = false});
  if (!started) return tl::unexpected(started.error());
  Cluster& cluster = **started;
  std::vector<NewObject> objects;
  for (int i = 0; i < nodes; ++i) objects.push_back({kube::kNode, "", node_json(i)});
  for (int i = 0; i < pods; ++i) objects.push_back({kube::kPod, "default", pod_json(i)});
  if (auto made = cluster.create_all(std::move(objects)); !made)
    return tl::unexpected(made.error());
  PodHistory history(cluster.admin());

  const Clock::time_point begin = Clock::now();
  auto scheduler = cluster.start_scheduler(subject, {.verify = false});
  if (!scheduler) return tl::unexpected(scheduler.error());
  const auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  Run run;
  std::size_t at_first = 0;
  Clock::time_point first{};
  while (history.bound() < static_cast<std::size_t>(pods)) {
    if (at_first == 0 && history.bound() > 0) {
      at_first = history.bound();
      first = Clock::now();
      run.start_up = since(begin);
    }
    if (!(*scheduler)->running() || since(begin) > 600)
      return fail(Reason::kServiceUnavailable,
                  fmt::format("{} bound {} of {} pods:\n{}", name_of(subject), history.bound(),
                              pods, (*scheduler)->log_tail()));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  run.seconds = since(first);
  run.rate = static_cast<double>(static_cast<std::size_t>(pods) - at_first) / run.seconds;
  run.cpu_ms = 1000 * bench::cpu_seconds((*scheduler)->pid());
  run.peak_mb = bench::peak_mb((*scheduler)->pid());
  const Verdict verdict = check_placement(cluster.state());
  if (!verdict.violations.empty()) return fail(Reason::kInternalError, verdict.text());
  return run;
}

Run mean(const std::vector<Run>& runs) {
  Run out;
  const double share = 1.0 / static_cast<double>(runs.size());
  for (const Run& run : runs) {
    out.seconds += run.seconds * share;
    out.start_up += run.start_up * share;
    out.cpu_ms += run.cpu_ms * share;
    out.rate += run.rate * share;
    out.peak_mb = std::max(out.peak_mb, run.peak_mb);
  }
  return out;
}

int compare(int nodes, int pods) {
  fmt::print(
      "Scheduling {} staged plain pods on {} nodes: real kube-apiserver and etcd (no fsync), QPS "
      "unlimited, default configuration\n",
      pods, nodes);
  std::map<Subject, std::vector<Run>> runs;
  std::set<Subject> left_out;
  // A-B-B-A, so that neither side always has the warmer or the quieter machine.
  for (const Subject subject :
       {Subject::kStock, Subject::kBerth, Subject::kBerth, Subject::kStock}) {
    if (const auto there = program_of(subject); !there) {
      if (left_out.insert(subject).second)
        fmt::print("  {} is left out: {}\n", name_of(subject), there.error().message);
      continue;
    }
    const auto run = run_once(subject, nodes, pods);
    if (!run) {
      fmt::print("  {} failed: {}\n", name_of(subject), run.error().message);
      return 1;
    }
    runs[subject].push_back(*run);
  }
  fmt::print("  {:<16} {:>9} {:>14} {:>10} {:>12} {:>8}\n", "", "pods/s", "CPU ms a pod", "peak MB",
             "start-up s", "runs");
  for (const auto& [subject, each] : runs) {
    const Run run = mean(each);
    std::string rates;
    for (const Run& one : each)
      rates += fmt::format("{}{:.0f}", rates.empty() ? "" : ", ", one.rate);
    fmt::print("  {:<16} {:>9.0f} {:>14.3f} {:>10.0f} {:>12.2f} {:>8}   (pods/s: {})\n",
               name_of(subject), run.rate, run.cpu_ms / pods, run.peak_mb, run.start_up,
               each.size(), rates);
  }
  if (runs.size() < 2) return 0;
  const Run ours = mean(runs[Subject::kBerth]), theirs = mean(runs[Subject::kStock]);
  const double share = ours.cpu_ms / theirs.cpu_ms;
  fmt::print(
      "  Berth: {:.2f} of the CPU a pod, {:.2f} of the memory, {:.2f} times the pods a second.\n"
      "  Must (at most a fifth of the CPU a pod): {}.\n",
      share, ours.peak_mb / theirs.peak_mb, ours.rate / theirs.rate,
      share <= 0.2 ? "met" : "MISSED");
  return share <= 0.2 ? 0 : 1;
}

}  // namespace
}  // namespace berth::e2e

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int pods = argc > 2 ? std::atoi(argv[2]) : 3000;
  if (nodes <= 0 || pods <= 0) {
    fmt::print(stderr, "usage: scheduler_real_bench [NODES [PODS]]\n");
    return 2;
  }
  return berth::e2e::compare(nodes, pods);
}
