// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <algorithm>
#include <climits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::scavenger_doors {
namespace {

std::string controller_of(const std::string& job) { return "job-of-" + job; }

std::string pod_body(const FixturePod& pod, std::string_view more_spec, std::string_view status,
                     std::string_view avoided_in) {
  std::string metadata = fmt::format(R"("labels":{{"app":"{}"}})", pod.app);
  if (!pod.job.empty())
    metadata += fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job","name":"{0}","uid":"{1}","controller":true}}])",
        pod.job, controller_of(pod.job));
  if (pod.kept) metadata += R"(,"finalizers":["berth.dev/accounting"])";
  if (pod.deleting) metadata += R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  std::string spec = fmt::format(
      R"("schedulerName":"default-scheduler","priority":{},"containers":[{{"name":"main","image":"x","resources":{{"requests":{{"cpu":"{}m","memory":"{}Gi"}}}})",
      pod.priority, pod.cores, pod.gib);
  if (pod.port != 0)
    spec += fmt::format(R"(,"ports":[{{"containerPort":80,"hostPort":{}}}])", pod.port);
  spec += "}]";
  if (!pod.node.empty()) spec += fmt::format(R"(,"nodeName":"{}")", pod.node);
  if (!pod.avoids.empty())
    spec += fmt::format(
        R"(,"affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"{}"}}}}}}]}}}})",
        avoided_in, pod.avoids);
  return fmt::format(R"("metadata":{{{}}},"spec":{{{}{}}},"status":{{{}}})", metadata, spec,
                     more_spec, status);
}

}  // namespace

const FixtureJob& Fixture::job(const std::string& name) const {
  return *std::find_if(jobs.begin(), jobs.end(),
                       [&](const FixtureJob& each) { return each.name == name; });
}

Fixture random_fixture(Random& random, std::size_t nodes, std::size_t jobs, WallTime now) {
  const auto below = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random.below(most));
  };
  Fixture all;
  const std::string apps[] = {"x", "y", "z"};
  for (std::size_t i = 0; i < nodes; ++i) {
    FixtureNode node{.name = fmt::format("n{:02}", i)};
    node.cores = 4000 + 1000 * below(5);
    node.gib = 8 + 4 * below(4);
    node.zone = below(2) == 0 ? "a" : "b";
    node.cordoned = below(12) == 0;
    if (below(6) == 0) node.pods = 3 + below(5);
    all.nodes.push_back(node);
    if (below(3) == 0)
      all.pods.push_back({.name = fmt::format("usual{}", i),
                          .node = node.name,
                          .cores = 500 * (1 + below(4)),
                          .gib = 1 + below(3),
                          .priority = static_cast<std::int32_t>(below(2)),
                          .app = apps[below(3)]});
  }
  all.honour = below(4) == 0;
  for (std::size_t j = 0; j < jobs; ++j) {
    FixtureJob job{.name = fmt::format("j{:02}", j)};
    job.alias = below(5) == 0;
    job.has_basis = below(12) != 0;
    // In the middle of a step, so that nothing changes by a second more or less.
    const std::int64_t window = 60 * (15 + 15 * below(4));
    job.basis.window = std::chrono::seconds(window);
    job.basis.steps = static_cast<int>(1 + below(5));
    job.basis.reported = below(3) == 0;
    const Duration step = job.basis.window / job.basis.steps;
    const std::int64_t past = below(3 * job.basis.steps);
    job.basis.since = now - step * past - step / 2;
    if (job.basis.reported) job.basis.since = job.basis.since + std::chrono::seconds(below(60));
    job.basis.restart = 1000 * below(200);
    job.started = job.basis.since;
    if (below(4) == 0) job.min_run = std::chrono::minutes(5 * (1 + below(12)));
    const auto members = static_cast<std::size_t>(below(4) == 0 ? 2 + below(3) : 1);
    const std::int32_t priority = below(5) == 0 ? -999 : -1000;
    const std::int64_t cores = 500 * (1 + below(5)), gib = 1 + below(4);
    const int port = below(8) == 0 ? 8080 : 0;
    const std::string app = apps[below(3)];
    job.basis.rate_milli = static_cast<std::int64_t>(members) * (cores + 125 * gib);
    // Equal ones are where ties are broken.
    if (j > 0 && below(5) == 0)
      job.basis = all.jobs[j - 1].basis, job.started = all.jobs[j - 1].started;
    all.jobs.push_back(job);
    for (std::size_t m = 0; m < members; ++m) {
      const FixtureNode& node = all.nodes[random.below(nodes)];
      all.pods.push_back({.name = fmt::format("{}-{}", job.name, m),
                          .node = node.name,
                          .job = job.name,
                          .cores = cores,
                          .gib = gib,
                          .priority = priority,
                          .port = port,
                          .app = app,
                          .avoids = below(15) == 0 ? "wanted" : ""});
    }
  }
  if (below(3) == 0) all.budgets.push_back({"b0", apps[below(3)], below(2)});
  // What does not fit was not started: nodes hold what is on them.
  for (FixtureNode& node : all.nodes) {
    std::int64_t cores = 0, gib = 0, pods = 0;
    bool port = false;
    std::erase_if(all.pods, [&](const FixturePod& pod) {
      if (pod.node != node.name) return false;
      if (cores + pod.cores > node.cores || gib + pod.gib > node.gib || pods + 1 > node.pods ||
          (pod.port != 0 && port))
        return true;
      cores += pod.cores, gib += pod.gib, ++pods;
      port = port || pod.port != 0;
      return false;
    });
  }
  all.preemptor.cores = 1000 * (1 + below(5));
  all.preemptor.gib = 1 + below(8);
  all.preemptor.app = "wanted";
  if (below(3) == 0) all.preemptor.priority = 10;
  if (below(6) == 0) all.preemptor.port = 8080;
  if (below(5) == 0) {
    all.preemptor.avoids = apps[below(3)];
    if (below(2) == 0) all.avoided_in = "zone";
  }
  return all;
}

std::string job_json(const FixtureJob& job) {
  std::string status =
      fmt::format(R"("phase":"Running","attempt":1,"jobUid":"{}")", controller_of(job.name));
  if (job.started != WallTime{})
    status += fmt::format(R"(,"runningTimestamps":["{}"])", kube::micro_time_text(job.started));
  if (job.has_basis)
    status += fmt::format(
        R"(,"cost":{{"since":"{}","rateMilli":{},"windowSeconds":{},"steps":{},"reported":{},"restart":{}}})",
        kube::micro_time_text(job.basis.since), job.basis.rate_milli,
        job.basis.window.count() / 1'000'000'000, job.basis.steps, job.basis.reported,
        job.basis.restart);
  std::string spec = R"("image":"x")";
  if (job.min_run > Duration{})
    spec += fmt::format(R"(,"minRun":"{}")", kube::duration_text(job.min_run));
  if (job.max_notice > Duration{})
    spec +=
        fmt::format(R"(,"checkpoint":{{"maxNotice":"{}"}})", kube::duration_text(job.max_notice));
  if (!job.least_cpu.empty())
    spec += fmt::format(R"(,"elastic":{{"min":{{"cpu":"{}"}}}})", job.least_cpu);
  return fmt::format(R"("spec":{{{}}},"status":{{{}}})", spec, status);
}

std::string node_json(const FixtureNode& node) {
  return fmt::format(
      R"("metadata":{{"labels":{{"kubernetes.io/hostname":"{0}","zone":"{1}"}}}},"spec":{{{2}}},"status":{{"allocatable":{{"cpu":"{3}m","memory":"{4}Gi","pods":"{5}"}}}})",
      node.name, node.zone, node.cordoned ? R"("unschedulable":true)" : "", node.cores, node.gib,
      node.pods);
}

std::string budget_json(const FixtureBudget& budget) {
  return fmt::format(
      R"("spec":{{"selector":{{"matchLabels":{{"app":"{}"}}}}}},"status":{{"disruptionsAllowed":{},"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}})",
      budget.app, budget.allowed);
}

std::string policy_json(const Fixture& all, bool reclaim) {
  return fmt::format(R"("spec":{{"scavengerPdbs":"{}","maxNotice":"{}","reclaim":"{}"}})",
                     all.honour ? "Honour" : "Ignore", all.max_notice, reclaim ? "On" : "Off");
}

std::string pod_json(const FixturePod& pod) {
  return pod_body(pod, "", R"("phase":"Running")", "kubernetes.io/hostname");
}

std::string preemptor_json(const Fixture& all, bool polite) {
  return pod_body(
      all.preemptor,
      polite ? R"(,"priorityClassName":"ordinary-polite","preemptionPolicy":"Never")" : "",
      polite
          ? R"("phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}])"
          : R"("phase":"Pending")",
      all.avoided_in);
}

void show(const Fixture& all, faults::FakeServer& server, bool reclaim) {
  const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
  // Uids are counted; from here on all have as many digits, and their order is that of the count.
  for (int i = 0; i < 100; ++i)
    server.set(kube::kConfigMap, {"default", fmt::format("c{}", i)}, "");
  for (const FixtureNode& node : all.nodes)
    server.set(kube::kNode, {"", node.name}, node_json(node));
  server.set(kinds.policy, {"", "default"}, policy_json(all, reclaim));
  for (const FixtureJob& job : all.jobs)
    server.set(job.alias ? kube::cerit_kinds().job : kinds.job, {"default", job.name},
               job_json(job));
  for (const FixtureBudget& budget : all.budgets)
    server.set(kube::kPodDisruptionBudget, {"default", budget.name}, budget_json(budget));
  for (const FixturePod& pod : all.pods)
    server.set(kube::kPod, {"default", pod.name}, pod_json(pod));
}

void show_preemptor(const Fixture& all, faults::FakeServer& server, bool polite) {
  server.set(kube::kPod, {"default", all.preemptor.name}, preemptor_json(all, polite));
}

// The filters, as one would write them down.
bool fits_without(const Fixture& all, const FixtureNode& node,
                  const std::vector<std::string>& gone) {
  const FixturePod& pod = all.preemptor;
  if (node.cordoned) return false;
  std::int64_t cores = pod.cores, gib = pod.gib, pods = 1;
  for (const FixturePod& other : all.pods) {
    if (std::find(gone.begin(), gone.end(), other.name) != gone.end()) continue;
    const bool here = other.node == node.name;
    const auto home =
        std::find_if(all.nodes.begin(), all.nodes.end(),
                     [&](const FixtureNode& each) { return each.name == other.node; });
    const bool near = all.avoided_in == "zone" ? home->zone == node.zone : here;
    if (near && !pod.avoids.empty() && other.app == pod.avoids) return false;
    if (!here) continue;
    cores += other.cores, gib += other.gib, ++pods;
    if (pod.port != 0 && other.port == pod.port) return false;
    if (other.avoids == pod.app) return false;
  }
  return cores <= node.cores && gib <= node.gib && pods <= node.pods;
}

namespace {

int tier_of(const Fixture& all, const FixturePod& pod, WallTime now) {
  const FixtureJob& job = all.job(pod.job);
  const bool young =
      job.min_run > Duration{} && job.started != WallTime{} && now - job.started < job.min_run;
  return pod.priority * 2 + (young ? 1 : 0);
}

// Of a budget each pod of the node's scavengers takes its share, the older first; who finds nothing
// left violates it.
std::set<std::string> violating(const Fixture& all, const FixtureNode& node) {
  std::set<std::string> found;
  if (!all.honour) return found;
  std::vector<const FixturePod*> pods;
  for (const FixturePod& pod : all.pods)
    if (pod.node == node.name && !pod.job.empty()) pods.push_back(&pod);
  // By job, hence by name: as their uids are, which were counted in this order. Pods have no start.
  std::stable_sort(pods.begin(), pods.end(), [&](const FixturePod* a, const FixturePod* b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    return a->job < b->job;
  });
  for (const FixtureBudget& budget : all.budgets) {
    std::int64_t left = budget.allowed;
    for (const FixturePod* pod : pods)
      if (pod->app == budget.app && --left < 0) found.insert(pod->name);
  }
  return found;
}

}  // namespace

BestChoice value_of(const Fixture& all, const std::vector<std::string>& pods, WallTime now) {
  BestChoice value{.tier = INT_MIN, .started = {INT64_MAX}};
  std::set<std::string> jobs;
  for (const std::string& name : pods) {
    const auto pod = std::find_if(all.pods.begin(), all.pods.end(),
                                  [&](const FixturePod& each) { return each.name == name; });
    if (pod == all.pods.end() || pod->job.empty()) continue;
    value.node = pod->node;
    value.tier = std::max(value.tier, tier_of(all, *pod, now));
    const auto node = std::find_if(all.nodes.begin(), all.nodes.end(),
                                   [&](const FixtureNode& each) { return each.name == pod->node; });
    value.violations += static_cast<int>(violating(all, *node).count(name));
    if (!jobs.insert(pod->job).second) continue;
    const FixtureJob& job = all.job(pod->job);
    value.cost += job.has_basis ? scavenge::cost_at(job.basis, now) : 0;
    value.started = std::min(value.started, job.started);
  }
  value.jobs = jobs.size();
  value.names.assign(jobs.begin(), jobs.end());
  return value;
}

std::optional<BestChoice> brute_force(const Fixture& all, WallTime now) {
  std::optional<BestChoice> best;
  for (const FixtureNode& node : all.nodes)
    if (fits_without(all, node, {})) return std::nullopt;
  for (const FixtureNode& node : all.nodes) {
    if (node.cordoned) continue;
    std::vector<std::string> here;
    for (const FixturePod& pod : all.pods)
      if (pod.node == node.name && !pod.job.empty() && pod.priority < all.preemptor.priority &&
          std::find(here.begin(), here.end(), pod.job) == here.end())
        here.push_back(pod.job);
    for (std::uint64_t set = 1; set < std::uint64_t{1} << here.size(); ++set) {
      std::vector<std::string> gone;
      for (const FixturePod& pod : all.pods) {
        if (pod.node != node.name || pod.job.empty()) continue;
        const auto at = std::find(here.begin(), here.end(), pod.job) - here.begin();
        if ((set >> at & 1) != 0) gone.push_back(pod.name);
      }
      if (!fits_without(all, node, gone)) continue;
      BestChoice value = value_of(all, gone, now);
      const auto key = [](const BestChoice& each) {
        return std::tuple(each.violations, each.tier, each.cost, each.jobs,
                          -each.started.unix_nanos, each.node, each.names);
      };
      if (!best || key(value) < key(*best)) best = std::move(value);
    }
  }
  return best;
}

}  // namespace berth::scavenger_doors
