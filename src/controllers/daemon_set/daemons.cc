// SPDX-License-Identifier: Apache-2.0
#include "controllers/daemon_set/daemons.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/label_selector.h"

namespace berth::controllers {
namespace {

using kube::Taint;
using kube::Toleration;

constexpr Duration kFirst = 1s, kMost = 15min;
constexpr const char* kGeneration = "pod-template-generation";

struct Tolerated {
  const char *key, *effect;
};
// What befalls nodes is no reason for a daemon to leave.
constexpr Tolerated kTolerated[] = {{"node.kubernetes.io/not-ready", "NoExecute"},
                                    {"node.kubernetes.io/unreachable", "NoExecute"},
                                    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
                                    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
                                    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
                                    {"node.kubernetes.io/unschedulable", "NoSchedule"}};
constexpr Tolerated kOnHostNetwork = {"node.kubernetes.io/network-unavailable", "NoSchedule"};

std::vector<Tolerated> tolerated(json::Slice spec) {
  std::vector<Tolerated> out(std::begin(kTolerated), std::end(kTolerated));
  if (spec["hostNetwork"].boolean()) out.push_back(kOnHostNetwork);
  return out;
}

bool is(const Toleration& one, const Tolerated& other) {
  return one.key == other.key && one.effect == other.effect && one.op == "Exists" &&
         one.value.empty();
}

std::string tolerations_json(json::Slice spec) {
  const std::vector<Toleration> given = kube::tolerations_of(spec["tolerations"]);
  const std::vector<Tolerated> ours = tolerated(spec);
  json::Writer w;
  w.array();
  std::size_t at = 0;
  for (const json::Slice one : spec["tolerations"].elements()) {
    const Toleration& read = given[at++];
    // Ours replace the same one with a time limit.
    const auto same =
        std::find_if(ours.begin(), ours.end(), [&](const Tolerated& o) { return is(read, o); });
    if (same == ours.end() || !read.seconds) {
      w.raw(one.raw());
    } else {
      w.object().member("key").string(same->key).member("operator").string("Exists");
      w.member("effect").string(same->effect).end();
    }
  }
  for (const Tolerated& one : ours) {
    if (std::any_of(given.begin(), given.end(), [&](const Toleration& g) { return is(g, one); }))
      continue;
    w.object().member("key").string(one.key).member("operator").string("Exists");
    w.member("effect").string(one.effect).end();
  }
  w.end();
  return w.take();
}

// The template's, but required to be on this node; its other requirements have been met.
std::string affinity_json(json::Slice affinity, const std::string& node) {
  json::Writer w;
  w.object();
  for (auto at = affinity.members().begin(); at != nullptr; ++at)
    if ((*at).key != "nodeAffinity") w.member((*at).key).raw((*at).value.raw());
  w.member("nodeAffinity").object();
  for (auto at = affinity["nodeAffinity"].members().begin(); at != nullptr; ++at)
    if ((*at).key != "requiredDuringSchedulingIgnoredDuringExecution")
      w.member((*at).key).raw((*at).value.raw());
  w.member("requiredDuringSchedulingIgnoredDuringExecution").object();
  w.member("nodeSelectorTerms").array().object().member("matchFields").array().object();
  w.member("key").string("metadata.name").member("operator").string("In");
  w.member("values").array().string(node).end().end().end().end().end().end().end().end();
  return w.take();
}

}  // namespace

DaemonFit::DaemonFit(json::Slice pod_template) {
  const json::Slice spec = pod_template["spec"];
  node_name_ = spec["nodeName"].text();
  labels_ = spec["nodeSelector"];
  const json::Slice required =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (required.is_object()) affinity_ = kube::NodeSelector::from_json(required);
  tolerations_ = kube::tolerations_of(spec["tolerations"]);
  for (const Tolerated& one : tolerated(spec))
    tolerations_.push_back({one.key, "Exists", "", one.effect, {}});
}

DaemonFit::Answer DaemonFit::on(const Object& node) const {
  if (!node_name_.empty() && node_name_ != node.name()) return {};
  for (auto at = labels_.members().begin(); at != nullptr; ++at) {
    const json::Slice has = node.labels()[(*at).key];
    if (!has.present() || has.text() != (*at).value.text()) return {};
  }
  if (affinity_ && !affinity_->matches(node.labels(), node.name()).value_or(false)) return {};
  Answer answer{true, true};
  for (const Taint& taint : kube::taints_of(node.member("spec")["taints"])) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (kube::tolerates(tolerations_, taint)) continue;
    answer.should_run = false;
    if (taint.effect == "NoExecute") answer.may_stay = false;
  }
  return answer;
}

std::string target_node(const Object& pod) {
  const json::Slice spec = pod.member("spec");
  if (std::string name = spec["nodeName"].text(); !name.empty()) return name;
  const json::Slice terms =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"];
  for (const json::Slice term : terms.elements())
    for (const json::Slice field : term["matchFields"].elements())
      if (field["key"].equals("metadata.name") && field["operator"].equals("In"))
        return field["values"].size() == 1 ? field["values"][0].text() : "";
  return "";
}

std::string daemon_json(const Object& set, const DaemonParts& daemon) {
  const json::Slice pod_template = set.member("spec")["template"];
  const json::Slice spec = pod_template["spec"];
  PodParts parts{{std::string(set.ns()), daemon.name}, pod_template, controller_ref(set)};
  if (!daemon.generation.empty()) parts.labels.emplace_back(kGeneration, daemon.generation);
  parts.labels.emplace_back(kDaemonHash, daemon.hash);
  json::Writer w;
  w.object();
  for (auto at = spec.members().begin(); at != nullptr; ++at)
    if ((*at).key != "tolerations" && (*at).key != "affinity")
      w.member((*at).key).raw((*at).value.raw());
  w.member("affinity").raw(affinity_json(spec["affinity"], daemon.node));
  w.member("tolerations").raw(tolerations_json(spec)).end();
  parts.spec = w.take();
  return pod_json(parts);
}

std::string template_generation(const Object& set) {
  const std::string text = set.annotation("deprecated.daemonset.template.generation");
  return kube::parse_decimal(text) ? text : "";
}

bool daemon_is_updated(const Object& pod, std::string_view hash, std::string_view generation) {
  return pod.label(kDaemonHash) == hash ||
         (!generation.empty() && pod.label(kGeneration) == generation);
}

// "<generation> <node>=<seconds>@<nanoseconds>…"
FailedDaemons::FailedDaemons(std::string_view remembered, std::int64_t generation)
    : generation_(generation) {
  bool first = true;
  while (!remembered.empty()) {
    const std::size_t space = std::min(remembered.find(' '), remembered.size());
    const std::string_view word = remembered.substr(0, space);
    remembered.remove_prefix(std::min(space + 1, remembered.size()));
    if (std::exchange(first, false)) {
      if (kube::parse_decimal(word) != generation) return;
      continue;
    }
    const std::size_t equals = word.find('='), at = word.find('@');
    if (equals == word.npos || at == word.npos || at < equals) continue;
    const auto seconds = kube::parse_decimal(word.substr(equals + 1, at - equals - 1));
    const auto nanos = kube::parse_decimal(word.substr(at + 1));
    if (seconds && nanos)
      by_node_[std::string(word.substr(0, equals))] = {std::chrono::seconds(*seconds),
                                                       WallTime{*nanos}};
  }
}

std::optional<WallTime> FailedDaemons::waits_until(const std::string& node, WallTime now) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return std::nullopt;
  const WallTime until = found->second.at + found->second.wait;
  return now < until ? std::optional(until) : std::nullopt;
}

void FailedDaemons::replaced(const std::string& node, WallTime now) {
  const auto [at, first] = by_node_.try_emplace(node, Entry{kFirst, now});
  if (first) return;
  at->second.wait = std::min(at->second.wait * 2, kMost);
  at->second.at = now;
}

std::string FailedDaemons::text(WallTime now) const {
  std::string out;
  for (const auto& [node, entry] : by_node_) {
    if (now - entry.at > 2 * kMost) continue;  // long ago: it begins anew
    out += fmt::format(" {}={}@{}", node,
                       std::chrono::duration_cast<std::chrono::seconds>(entry.wait).count(),
                       entry.at.unix_nanos);
  }
  return out.empty() ? "" : std::to_string(generation_) + out;
}

}  // namespace berth::controllers
