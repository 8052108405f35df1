// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/explanation.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/observe/changes.h"
#include "gateway/observe/verdicts.h"
#include "gateway/observe/wire.h"
#include "json/writer.h"
#include "scheduler/explain/judgement.h"
#include "scheduler/plugins/registry.h"

namespace berth::gateway {
namespace {

using scheduler::Judgement;
using scheduler::Pod;

constexpr std::int64_t kMi = 1 << 20;
constexpr std::string_view kZone = "topology.kubernetes.io/zone";

// What a pod asks for, and what of it each node has: in the units of the wire.
struct Asked {
  std::string resource;
  std::int64_t amount = 0;
};

std::vector<Asked> asks_of(const Pod& pod) {
  const scheduler::Resources& asked = pod.spec->asked;
  const auto up = [](std::int64_t amount) { return (amount + kMi - 1) / kMi; };
  std::vector<Asked> all{{"cpu", asked.millicores}, {"memory", up(asked.memory)}};
  if (asked.disk > 0) all.push_back({"ephemeral-storage", up(asked.disk)});
  for (const auto& [name, amount] : asked.scalars) all.push_back({name, amount});
  all.push_back({"pods", 1});
  return all;
}

std::pair<std::int64_t, std::int64_t> free_and_all(const scheduler::ClusterState& cluster,
                                                   scheduler::NodeId id, std::string_view what) {
  const scheduler::Node& node = cluster.node(id);
  const scheduler::NodeSums& sums = cluster.sums(id);
  const scheduler::Resources& has = node.allocatable;
  if (what == "cpu") return {has.millicores - sums.millicores, has.millicores};
  if (what == "memory") return {(has.memory - sums.memory) / kMi, has.memory / kMi};
  if (what == "ephemeral-storage") return {(has.disk - sums.disk) / kMi, has.disk / kMi};
  if (what == "pods")
    return {node.allowed_pods - static_cast<std::int64_t>(cluster.pods_on(id).size()),
            node.allowed_pods};
  const std::int64_t all = has.scalar(what);
  const auto resource = cluster.find_resource(what);
  return {all - (resource ? cluster.scalar_used(id, *resource) : 0), all};
}

std::string_view phase_of(const Pod& pod) {
  if (pod.finished) return "ended";
  if (pod.assigned()) return "placed";
  return pod.spec->gates.empty() ? "pending" : "gated";
}

std::string owner_of(const Pod& pod) {
  return pod.controller ? fmt::format("{}/{}", pod.controller->kind, pod.controller->name) : "";
}

void write_pod(json::Writer& out, const Pod& pod, const kube::Object& object) {
  out.member("pod").object();
  out.member("namespace").string(pod.ns).member("name").string(pod.name);
  out.member("uid").string(pod.uid).member("phase").string(phase_of(pod));
  out.member("node").string(pod.node_name);
  const std::optional<WallTime> since = pod.assigned() ? pod.start_time : object.created();
  if (since) out.member("since").integer(millis(*since));
  out.member("priority").integer(pod.priority());
  out.member("scheduler").string(pod.spec->scheduler_name);
  out.member("owner").string(owner_of(pod));
  out.member("asks").array();
  for (const Asked& one : asks_of(pod))
    out.object().member("resource").string(one.resource).member("amount").integer(one.amount).end();
  out.end().end();
}

void write_integers(json::Writer& out, std::string_view name, const auto& values) {
  out.member(name).array();
  for (const auto value : values) out.integer(static_cast<std::int64_t>(value));
  out.end();
}

void write_nodes(json::Writer& out, const scheduler::ClusterState& cluster, const Pod& pod) {
  const std::vector<scheduler::NodeId>& ids = cluster.table().node;
  out.member("names").array();
  for (const scheduler::NodeId id : ids) out.string(cluster.node(id).name);
  out.end().member("zones").array();
  for (const scheduler::NodeId id : ids)
    out.string(cluster.node(id).labels->find(kZone).value_or(""));
  out.end().member("free").array();
  for (const Asked& one : asks_of(pod)) {
    std::vector<std::int64_t> free, all;
    for (const scheduler::NodeId id : ids) {
      const auto [left, has] = free_and_all(cluster, id, one.resource);
      free.push_back(left);
      all.push_back(has);
    }
    out.object().member("resource").string(one.resource);
    write_integers(out, "amount", free);
    write_integers(out, "of", all);
    out.end();
  }
  out.end();
}

void write_verdicts(json::Writer& out, const Verdicts& verdicts) {
  out.member("filters").array();
  for (const Verdicts::Column& column : verdicts.filters) {
    out.object().member("plugin").string(column.plugin);
    write_integers(out, "verdict", column.verdict);
    out.end();
  }
  out.end();
  write_integers(out, "first", verdicts.first);
  out.member("reasons").array();
  for (const std::string& reason : verdicts.reasons) out.string(reason);
  out.end();
}

void write_scores(json::Writer& out, const Judgement& judgement) {
  const scheduler::Decision& decision = judgement.decision();
  write_integers(out, "feasible", decision.feasible);
  write_integers(out, "totals", decision.totals);
  out.member("scores").array();
  for (const scheduler::PluginScores& scores : decision.scores) {
    std::int64_t weight = 1;
    for (const auto& scorer : judgement.profile().scorers())
      if (scorer.plugin->id() == scores.plugin) weight = scorer.weight;
    out.object().member("plugin").string(judgement.profile().plugin_name(scores.plugin));
    out.member("weight").integer(weight);
    write_integers(out, "points", scores.weighted);
    out.end();
  }
  out.end();
}

void write_changes(json::Writer& out, const std::vector<Change>& changes) {
  out.member("changes").array();
  for (const Change& change : changes) {
    out.object().member("kind").string(change.kind).member("says").array();
    for (const Change::Part& part : change.says)
      out.object().member(part.name ? "name" : "text").string(part.text).end();
    out.end().member("fits").array();
    for (const std::string& node : change.fits) out.string(node);
    out.end().member("fitsOn").integer(change.fits_on).member("cost").string(change.cost);
    if (!change.patch.empty()) out.member("patch").string(change.patch);
    if (!change.command.empty()) out.member("command").string(change.command);
    out.end();
  }
  out.end();
}

}  // namespace

Result<std::string> explain(const ExplainQuestion& question) {
  scheduler::PodCompiler compiler;
  Result<scheduler::PodPtr> seen = compiler.compile(question.pod);
  if (!seen) return tl::unexpected(std::move(seen.error()));
  const Pod& pod = **seen;
  scheduler::Case problem{.id = pod.text(),
                          .cluster = question.snapshot.cluster->clone(),
                          .pending = {},
                          .nominated = {}};
  for (const scheduler::PodPtr& other : question.snapshot.nominated) problem.nominated.add(other);
  problem.pending = scheduler::taken_off(*problem.cluster, *seen);

  const auto named = std::find_if(
      question.profiles.begin(), question.profiles.end(),
      [&](const auto& profile) { return profile.scheduler_name == pod.spec->scheduler_name; });
  const scheduler::ProfileSpec& profile =
      named == question.profiles.end() ? question.profiles.front() : *named;
  const Judgement judgement(profile, scheduler::all_plugins(), problem, question.snapshot.time);
  const Verdicts verdicts = all_verdicts(judgement);

  json::Writer out;
  out.object();
  write_pod(out, pod, question.pod);
  out.member("time").integer(millis(question.snapshot.time));
  constexpr std::string_view kOutcomes[] = {"fits", "nowhere", "refused", "failed"};
  out.member("outcome").string(kOutcomes[static_cast<std::size_t>(judgement.outcome())]);
  out.member("chosen").string(judgement.chosen());
  out.member("message").string(judgement.scheduling_failure());
  write_nodes(out, judgement.cluster(), pod);
  write_verdicts(out, verdicts);
  write_scores(out, judgement);
  // Last: it moves things about.
  write_changes(out, judgement.outcome() == Judgement::Outcome::kFitsNowhere
                         ? smallest_changes(judgement, verdicts, question.pod, problem)
                         : std::vector<Change>());
  out.member("attempts").array();
  for (const DecisionRecord& record : question.attempts) write_decision(out, record);
  out.end().end();
  return out.take();
}

Result<std::string> node_detail(const Snapshot& snapshot, const kube::Object& object) {
  const scheduler::ClusterState& cluster = *snapshot.cluster;
  const scheduler::NodeId id = cluster.node_id(object.name());
  const Result<scheduler::NodePtr> compiled = scheduler::Node::compile(object);
  if (!compiled) return tl::unexpected(compiled.error());
  const scheduler::Node& node = **compiled;
  const auto is = [&](std::string_view type) {
    const auto found = node.conditions.find(std::string(type));
    return found != node.conditions.end() && found->second == "True";
  };
  json::Writer out;
  out.object().member("name").string(node.name);
  out.member("ready").boolean(is("Ready")).member("cordoned").boolean(node.unschedulable);
  out.member("pressure").array();
  for (const std::string_view kind : {"memory", "disk", "PID"}) {
    std::string type(kind);
    type[0] = static_cast<char>(type[0] >= 'a' ? type[0] - 32 : type[0]);
    if (is(type + "Pressure")) out.string(fmt::format("{} pressure", kind));
  }
  out.end().member("labels").object();
  for (const auto& [key, value] : node.labels->pairs()) out.member(key).string(value);
  out.end().member("taints").array();
  for (const kube::Taint& taint : node.taints)
    out.string(taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                                   : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect));
  out.end().member("kubelet").string(object.status()["nodeInfo"]["kubeletVersion"].text());
  if (const auto created = object.created()) out.member("created").integer(millis(*created));
  out.member("cpu").integer(node.allocatable.millicores);
  out.member("memory").integer(node.allocatable.memory / kMi);
  out.member("podsAllowed").integer(node.allowed_pods);
  out.member("pods").array();
  if (id != scheduler::NodeId::kNone)
    for (const scheduler::PodPtr& pod : cluster.pods_on(id)) {
      out.object().member("namespace").string(pod->ns).member("name").string(pod->name);
      out.member("uid").string(pod->uid);
      out.member("cpu").integer(pod->used().millicores);
      out.member("memory").integer(pod->used().memory / kMi);
      out.member("priority").integer(pod->priority());
      if (pod->start_time) out.member("since").integer(millis(*pod->start_time));
      out.member("owner").string(owner_of(*pod));
      out.member("scavenger").boolean(pod->labels->has("berth.dev/scavenger")).end();
    }
  out.end().end();
  return out.take();
}

std::string find_pods(const Snapshot& snapshot, std::string_view words, std::size_t most) {
  std::vector<scheduler::PodPtr> found;
  snapshot.cluster->for_each_pod([&](const scheduler::PodPtr& pod, bool) {
    if (pod->name.find(words) != std::string::npos) found.push_back(pod);
  });
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const Pod& pod) {
      return std::tuple(!pod.name.starts_with(words), pod.name.size(), pod.name, pod.ns);
    };
    return rank(*a) < rank(*b);
  });
  json::Writer out;
  out.array();
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i)
    out.object()
        .member("kind")
        .string("pod")
        .member("namespace")
        .string(found[i]->ns)
        .member("name")
        .string(found[i]->name)
        .member("note")
        .string(fmt::format("in {}, running on {}", found[i]->ns, found[i]->node_name))
        .end();
  out.end();
  return out.take();
}

}  // namespace berth::gateway
