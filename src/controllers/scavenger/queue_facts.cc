// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/queue_facts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/reclaim.h"
#include "json/writer.h"
#include "kube/node_selector.h"
#include "kube/node_view.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_quota_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "kube/taint.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using json::Slice;
using kube::Object;
using kube::ResourceList;

// So many names of nodes are handed over at most; beyond that where jobs may go is found out by
// trying.
constexpr std::size_t kMostNames = 500'000;
constexpr std::size_t kSlack = 1'000;

bool keeps_off(const kube::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

bool may_go(const Slice placement, const Object& node) {
  const std::vector<kube::Toleration> tolerations = kube::tolerations_of(placement["tolerations"]);
  for (const kube::Taint& taint : kube::taints_of(node.member("spec")["taints"]))
    if (keeps_off(taint) && !kube::tolerates(tolerations, taint)) return false;
  for (auto at = placement["nodeSelector"].members().begin(); at != nullptr; ++at)
    if (node.label((*at).key) != (*at).value.text()) return false;
  const Slice required =
      placement["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required.is_object()) return true;
  return kube::NodeSelector::from_json(required).matches(node.labels(), node.name()).value_or(true);
}

// Only what decides where it may go.
std::string placement_text(Slice from) {
  std::string out = "{";
  const auto add = [&](std::string_view name, Slice value) {
    if (!value.present() || value.is_null()) return;
    out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", name, value.raw());
  };
  add("nodeSelector", from["nodeSelector"]);
  add("tolerations", from["tolerations"]);
  add("affinity", from["affinity"]);
  return out + "}";
}

void read_runs(QueuedJob& out, Slice status) {
  std::vector<WallTime> ends;
  for (const Slice one : status["interruptedTimestamps"].elements())
    if (const auto at = kube::parse_time(one.text())) ends.push_back(*at);
  if (const auto at = kube::parse_time(status["finishedTimestamp"].text())) ends.push_back(*at);
  for (const Slice one : status["runningTimestamps"].elements()) {
    const auto start = kube::parse_time(one.text());
    if (!start) continue;
    const auto end = std::lower_bound(ends.begin(), ends.end(), *start);
    out.runs.emplace_back(*start, end == ends.end() ? std::nullopt : std::optional(*end));
  }
}

QueuedJob read_job(const Object& object) {
  const kube::ScavengerJobView view(object);
  const Slice status = view.status();
  QueuedJob out;
  out.uid = object.uid();
  out.ns = object.ns();
  out.name = object.name();
  out.job_uid = view.job_uid();
  out.interrupted = view.interrupted_count();
  out.open = view.open();
  const auto since = kube::parse_time(status["waitingSince"].text());
  out.waiting = since && !out.open && !view.ended() && !object.deleting();
  out.waiting_since = since.value_or(WallTime{});
  out.not_before = kube::parse_time(status["notBefore"].text());
  const std::string pod = status["reclaim"]["for"].text();
  if (const std::size_t slash = pod.find('/'); slash != pod.npos) {
    out.gave_way_to = {pod.substr(0, slash), pod.substr(slash + 1)};
    out.gave_way_uid = status["reclaim"]["uid"].text();
  }
  out.members = held_members(view).value_or(Members{});
  out.launcher_uid = status["launcherUid"].text();
  out.told = kube::find_condition(status, "Admitted")["reason"].text();
  out.placement = placement_text(placement_of(view));
  out.elastic = out.open && view.phase() == kube::kScavengerRunning && !view.has_mpi() &&
                view.spec()["elastic"].is_object() && !status["reclaim"].is_object() &&
                object.annotation(kube::kReclaimAnnotation).empty() && !object.deleting();
  read_runs(out, status);
  return out;
}

}  // namespace

double decayed_hours(const QueuedJob& job, Duration half_life, WallTime since, WallTime now) {
  const ResourceList all = job.members.all();
  const auto cores = all.find("cpu");
  const double rate =
      cores == all.end() ? 0 : static_cast<double>(cores->second.milli_value()) / 1'000;
  const auto worth = [&](WallTime at) {
    return std::exp2(-std::chrono::duration<double>(now - at) /
                     std::chrono::duration<double>(half_life));
  };
  double sum = 0;
  for (const auto& [begun, end] : job.runs) {
    const WallTime start = std::max(begun, since), until = end.value_or(job.open ? now : begun);
    if (until > start) sum += worth(until) - worth(start);
  }
  const double hours =
      std::chrono::duration<double>(half_life).count() / 3'600 / 0.6931471805599453;
  return rate * sum * hours;
}

ShareLedger read_shares(const Object* policy) {
  ShareLedger ledger;
  if (policy == nullptr) return ledger;
  const auto at = kube::parse_time(policy->status()["sharesAt"].text());
  if (!at) return ledger;
  ledger.at = *at;
  for (const auto [user, seconds] : policy->status()["shares"].members())
    ledger.hours[std::string(user)] =
        static_cast<double>(std::max<std::int64_t>(0, seconds.integer().value_or(0))) / 3'600;
  return ledger;
}

std::string shares_json(const std::map<std::string, double>& hours) {
  json::Writer w;
  w.object();
  for (const auto& [user, used] : hours)
    if (const std::int64_t seconds = std::llround(used * 3'600); seconds > 0)
      w.member(user).integer(seconds);
  w.end();
  return w.take();
}

double utilisation(const ResourceList& used, const ResourceList& capacity) {
  double most = 0;
  for (const char* name : {"cpu", "memory"}) {
    const auto have = capacity.find(name), taken = used.find(name);
    if (have == capacity.end() || taken == used.end() || have->second.is_zero()) continue;
    most = std::max(most, static_cast<double>(taken->second.milli_value()) /
                              static_cast<double>(have->second.milli_value()));
  }
  return most;
}

template <class Fact>
std::pair<Fact&, bool> QueueFacts::kept(Kept<Fact>& all, const Object& object) const {
  Fact& fact = all[std::string(object.uid())];
  fact.round = round_;
  const bool same = fact.revision == object.revision() && fact.revision != 0;
  return {fact, same};
}
template <class Fact>
void QueueFacts::drop_old(Kept<Fact>& all) {
  std::size_t now = 0;
  for (const auto& [uid, fact] : all) now += fact.round == round_ ? 1 : 0;
  if (all.size() <= now + now / 4 + kSlack) return;
  std::erase_if(all, [this](const auto& one) { return one.second.round != round_; });
}

const QueueFacts::PodFact& QueueFacts::fact_of(const Object& pod) {
  auto [fact, same] = kept(pods_, pod);
  if (same) return fact;
  const kube::PodView view(pod);
  fact.revision = pod.revision();
  fact.node = view.node_name();
  fact.bound = !fact.node.empty();
  fact.live = !view.finished();
  fact.scavenger = pod.label(kube::kScavengerLabel);
  const auto owner = pod.controller();
  fact.controller = owner ? owner->uid : std::string();
  const Slice scheduled = view.condition("PodScheduled");
  fact.unplaced = fact.live && !fact.bound && !pod.deleting() &&
                  scheduled["status"].equals("False") &&
                  scheduled["reason"].equals("Unschedulable");
  fact.requests = kube::pod_requests(pod).value_or(ResourceList{});
  return fact;
}
const QueueFacts::NodeFact& QueueFacts::node_fact(const Object& node) {
  auto [fact, same] = kept(nodes_, node);
  if (same) return fact;
  const kube::NodeView view(node);
  fact.revision = node.revision();
  fact.usable = view.ready() && !view.unschedulable() && !node.deleting();
  const auto taints = kube::taints_of(view.taints());
  fact.tainted = std::any_of(taints.begin(), taints.end(), &keeps_off);
  fact.allocatable = view.allocatable().value_or(ResourceList{});
  return fact;
}
const QueuedJob& QueueFacts::job_fact(const Object& job) {
  auto [fact, same] = kept(jobs_, job);
  if (!same) {
    fact.revision = job.revision();
    fact.job = read_job(job);
  }
  fact.job.object = &job;
  return fact.job;
}

std::vector<std::string> QueueFacts::nodes_for(const runtime::View& view,
                                               const QueuedJob& job) const {
  std::vector<std::string> names;
  std::size_t usable = 0;
  const Slice placement{std::string_view(job.placement)};
  for (const Object* node : view.list(kube::kNode)) {
    const auto fact = nodes_.find(std::string(node->uid()));
    if (fact == nodes_.end() || !fact->second.usable) continue;
    ++usable;
    if (may_go(placement, *node)) names.emplace_back(node->name());
  }
  if (names.size() == usable) return {};
  if (names.empty()) names.emplace_back("-");  // no node has that name
  return names;
}

QueueSight QueueFacts::look(const runtime::View& view, const std::vector<kube::KindId>& job_kinds,
                            WallTime now) {
  ++round_;
  QueueSight out;
  scavenge::AdmitQuestion& question = out.question;
  for (const kube::KindId kind : job_kinds)
    for (const Object* job : view.list(kind)) {
      out.jobs.push_back(&job_fact(*job));
      if (out.jobs.back()->elastic) out.elastic_pods[out.jobs.back()->job_uid];
    }

  std::unordered_map<std::string_view, std::size_t> places;
  bool tainted = false;
  for (const Object* node : view.list(kube::kNode)) {
    const NodeFact& fact = node_fact(*node);
    if (!fact.usable) continue;
    tainted |= fact.tainted;
    places.emplace(node->name(), question.nodes.size());
    question.nodes.push_back({std::string(node->name()), fact.allocatable, {}});
    kube::add(out.capacity, fact.allocatable);
  }

  std::unordered_map<std::string_view, int> placed;          // members, by the Job's uid
  std::unordered_map<std::string_view, ResourceList> taken;  // of those that live, likewise
  for (const Object* pod : view.list(kube::kPod)) {
    const PodFact& fact = fact_of(*pod);
    const bool scavenger = !fact.scavenger.empty();
    if (scavenger && fact.bound) ++placed[fact.controller];
    if (!fact.live) continue;
    if (scavenger && fact.bound) kube::add(taken[fact.controller], fact.requests);
    if (fact.bound) {
      const auto place = places.find(fact.node);
      if (place == places.end()) continue;
      kube::add(question.nodes[place->second].used, fact.requests);
      if (scavenger && !out.elastic_pods.empty() && !pod->deleting())
        if (const auto elastic = out.elastic_pods.find(fact.controller);
            elastic != out.elastic_pods.end())
          elastic->second.push_back(pod);
      if (!scavenger) kube::add(out.ordinary, fact.requests);
    } else if (fact.unplaced && !scavenger) {
      kube::add(question.pending, fact.requests);
    }
  }
  for (const scavenge::NodeRoom& node : question.nodes) kube::add(out.used, node.used);

  std::map<std::string, std::vector<std::string>, std::less<>> by_placement;
  std::size_t waiting = 0;
  for (const QueuedJob* job : out.jobs) waiting += job->waiting ? 1 : 0;
  const bool name_nodes = waiting * question.nodes.size() <= kMostNames;
  for (const QueuedJob* job : out.jobs) {
    if (job->open) {
      ++out.running;
      const auto there = [&](const std::string& uid) {
        const auto found = placed.find(uid);
        return uid.empty() || found == placed.end() ? 0 : found->second;
      };
      Members coming = job->members;
      coming.count -= std::min(coming.count, there(job->job_uid));
      if (there(job->launcher_uid) > 0) coming.launcher.reset();
      if (coming.pods() > 0) kube::add(question.in_flight, coming.all());
      // Whoever may resize pods makes them larger than they were started.
      ResourceList holds = job->members.all(), there_now;
      for (const std::string_view uid : {job->job_uid, job->launcher_uid})
        if (const auto found = taken.find(uid); !uid.empty() && found != taken.end())
          kube::add(there_now, found->second);
      for (const auto& [name, amount] : there_now)
        if (auto& held = holds[name]; held < amount) held = amount;
      kube::add(question.running[job->ns], holds);
      ++question.running_count[job->ns];
    }
    if (!job->waiting) continue;
    scavenge::Waiting one{.uid = job->uid, .ns = job->ns, .name = job->name, .user = job->ns};
    one.interrupted = job->interrupted;
    one.waiting_since = job->waiting_since;
    one.member = job->members.each;
    one.members = job->members.count;
    one.beside = job->members.launcher;
    one.not_before = job->not_before;
    // Who has given way to a pod does not come back before that pod has a place.
    if (const Object* pod =
            job->gave_way_to.name.empty() ? nullptr : view.get(kube::kPod, job->gave_way_to);
        pod != nullptr && pod->uid() == job->gave_way_uid && !pod->deleting()) {
      const PodFact& fact = fact_of(*pod);
      if (fact.live && !fact.bound)
        one.not_before = std::max(one.not_before.value_or(now), now + 1h);
    }
    if (job->placement != "{}" || (tainted && name_nodes)) {
      auto at = by_placement.find(job->placement);
      if (at == by_placement.end())
        at = by_placement.emplace(job->placement, nodes_for(view, *job)).first;
      if (name_nodes || at->second.size() <= 1'000) one.node_names = at->second;
    }
    question.waiting.push_back(std::move(one));
  }
  drop_old(pods_);
  drop_old(nodes_);
  drop_old(jobs_);
  return out;
}

scavenge::AdmitRules admit_rules(const kube::ScavengerPolicy& policy) {
  scavenge::AdmitRules rules;
  rules.threshold_percent = policy.threshold_percent;
  rules.scope = policy.threshold_scope == "Node"   ? scavenge::ThresholdScope::kNode
                : policy.threshold_scope == "Both" ? scavenge::ThresholdScope::kBoth
                                                   : scavenge::ThresholdScope::kCluster;
  rules.mode = policy.threshold_mode == "Current" ? scavenge::ThresholdMode::kCurrent
                                                  : scavenge::ThresholdMode::kWithCandidate;
  rules.starvation = policy.starvation == "Aging" ? scavenge::Starvation::kAging
                     : policy.starvation == "BackfillReservation"
                         ? scavenge::Starvation::kBackfillReservation
                         : scavenge::Starvation::kNone;
  rules.aging_every = policy.aging_every;
  rules.reserve_after = policy.reserve_after;
  rules.respect_pending = policy.respect_pending;
  rules.fair_shares = policy.fair_shares;
  rules.adaptive_reserve_percent = policy.adaptive_reserve_percent;
  return rules;
}

namespace {

void share_out(QueueSight& sight, const kube::ScavengerPolicy& policy, const ShareLedger& ledger,
               WallTime now) {
  const double left =
      std::exp2(-std::chrono::duration<double>(std::max(Duration{}, now - ledger.at)) /
                std::chrono::duration<double>(policy.half_life));
  for (const auto& [user, hours] : ledger.hours) sight.hours[user] = hours * left;
  for (const QueuedJob* job : sight.jobs) {
    const double more = decayed_hours(*job, policy.half_life, ledger.at, now);
    sight.used_since |= more > 0;
    sight.hours[job->ns] += more;
  }
  for (const auto& [user, hours] : sight.hours) {
    const double weight = sight.question.weights[user] = policy.weight_of(user);
    sight.question.shares[user] = hours / weight;
  }
}

}  // namespace

QueueSight queue_question(QueueFacts& facts, const runtime::View& view,
                          const std::vector<kube::KindId>& job_kinds, WallTime now) {
  const kube::ScavengerKinds& kinds = kube::scavenger_kinds();
  const Object* object = view.get(kinds.policy, {"", std::string(kube::kScavengerPolicyName)});
  const kube::ScavengerPolicy policy = kube::read_scavenger_policy(object);
  QueueSight out = facts.look(view, job_kinds, now);
  scavenge::AdmitQuestion& question = out.question;
  question.rules = admit_rules(policy);
  question.now = now;
  if (policy.fair_shares) share_out(out, policy, read_shares(object), now);
  if (object != nullptr)
    question.ordinary_stdev_percent =
        object->status()["ordinaryDeviationPercent"].number().value_or(0);
  for (const Object* one : view.list(kinds.quota)) {
    const kube::ScavengerQuotaView quota(*one);
    const std::string ns(one->ns());
    scavenge::QuotaLimits& limits = question.quotas[ns];
    if (const auto most = quota.max_jobs())
      limits.count = std::min(limits.count.value_or(*most), *most);
    for (const auto& [name, amount] : quota.hard()) {
      const auto [at, first] = limits.most.emplace(name, amount);
      if (!first && amount < at->second) at->second = amount;
    }
    if (!policy.fair_shares) continue;
    const auto weight = question.weights.emplace(ns, 1).first;
    weight->second *= quota.weight();
    if (const auto share = question.shares.find(ns); share != question.shares.end())
      share->second /= quota.weight();
  }
  return out;
}

}  // namespace berth::controllers
