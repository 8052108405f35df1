// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/answer.h"

#include <algorithm>

#include "json/writer.h"
#include "scheduler/plugins/registry.h"

namespace berth::scheduler {

ProfileSpec case_profile() {
  ProfileSpec spec = default_profile();
  for (std::vector<ProfileSpec::Entry>& entries : spec.points)
    std::erase_if(entries, [](const ProfileSpec::Entry& entry) {
      return entry.plugin == plugin_named("DynamicResources");
    });
  return spec;
}

namespace {

// Writes one answer.
class Sheet {
 public:
  Sheet(const Profile& profile, const ClusterState& cluster, const std::string& id)
      : profile_(profile), cluster_(cluster) {
    out_.object().member("id").string(id);
  }

  std::string failed(const Status& status) {
    out_.member("error").string(status.message()).end();
    return out_.take();
  }
  void pre_filter(const Status& status) {
    out_.member("preFilter");
    verdict(status, profile_.plugin_name(status.plugin));
  }
  void filter(const Decision& decision) {
    out_.member("filter").object();
    std::vector<bool> fits(cluster_.size());
    for (std::uint32_t row : decision.feasible) fits[row] = true;
    for (std::uint32_t row = 0; row < fits.size(); ++row) {
      out_.member(name_of(row));
      if (fits[row]) {
        verdict({}, "");
      } else if (!left_out(decision, row) && decision.diagnosis.explicit_verdict(row)) {
        const Status& status = decision.diagnosis.status(row);
        verdict(status, profile_.plugin_name(status.plugin));
      } else {
        // Not among the nodes that a plugin named, or left out by one; the latter also where it was
        // the promised node and was looked at on its own.
        verdict({.code = Code::kUnresolvable}, "PreFilter");
      }
    }
    out_.end();
  }
  void nothing_filtered() { out_.member("filter").object().end(); }
  void scores(const Decision& decision) {
    out_.member("scores").object();
    for (std::size_t i = 0; i < decision.feasible.size(); ++i) {
      out_.member(name_of(decision.feasible[i])).object();
      for (const PluginScores& plugin : decision.scores)
        out_.member(profile_.plugin_name(plugin.plugin)).integer(plugin.weighted[i]);
      out_.end();
    }
    out_.end().member("totals").object();
    for (std::size_t i = 0; i < decision.feasible.size(); ++i)
      out_.member(name_of(decision.feasible[i])).integer(decision.totals[i]);
    out_.end();
  }
  void choice(std::string_view node, bool by_nomination) {
    out_.member("chosen").string(node);
    if (by_nomination) out_.member("via").string("nominated");
    out_.member("order").array();
    for (const std::string& name : cluster_.node_order()) out_.string(name);
    out_.end();
  }
  void preemption(const Judgement::Preemption& found) {
    out_.member("preemption").object().member("eligible").boolean(!found.refused);
    if (found.refused) {
      out_.member("message").string(*found.refused).end();
      return;
    }
    out_.member("candidates").array();
    for (const PreemptionCandidate& candidate : found.candidates) {
      out_.object().member("node").string(candidate.node).member("victims").array();
      for (const PodPtr& victim : candidate.victims) out_.string(victim->text());
      out_.end().member("pdbViolations").integer(candidate.budget_violations).end();
    }
    out_.end();
    if (!found.candidates.empty()) {
      out_.member("chosen").string(found.candidates[found.best.front()].node);
      out_.member("ties").array();
      for (std::size_t i : found.best) out_.string(found.candidates[i].node);
      out_.end();
    }
    out_.end();
  }
  std::string take() {
    out_.end();
    return out_.take();
  }

 private:
  std::string_view name_of(std::uint32_t row) const {
    return cluster_.node(cluster_.table().node[row]).name;
  }
  // A PreFilter plugin named the nodes to look at, and this is none of them.
  bool left_out(const Decision& decision, std::uint32_t row) const {
    const auto& named = decision.prepared.named;
    return named && std::find(named->begin(), named->end(), name_of(row)) == named->end();
  }
  void verdict(const Status& status, std::string_view plugin) {
    out_.object().member("fits").boolean(status.ok());
    if (!status.ok()) {
      if (!plugin.empty()) out_.member("plugin").string(plugin);
      out_.member("code").string(scheduler::name_of(status.code));
      if (!status.reasons.empty()) {
        out_.member("reasons").array();
        for (const std::string& reason : status.reasons) out_.string(reason);
        out_.end();
      }
    }
    out_.end();
  }

  const Profile& profile_;
  const ClusterState& cluster_;
  json::Writer out_;
};

// What the cached path makes of it, as far as it differs.
std::string cached_difference(Case& problem, const Judgement& plain, bool warm) {
  SearchStart start;
  Decider decider(plain.profile(), *problem.cluster, plain.reasons(), &problem.nominated, start,
                  {.mode = DecideMode::kCachedCold});
  const DecideOptions listed{.feasible = true};
  Decision decision = decider.decide(problem.pending, listed);
  if (warm && decision.status.ok()) {
    problem.cluster->assume_pod(PodCompiler::placed(*problem.pending, decision.node));
    problem.cluster->forget_pod(problem.pending->uid);
    start = {};
    decision = decider.decide(problem.pending, listed);
  }
  const bool fits = plain.outcome() == Judgement::Outcome::kFits;
  if (decision.status.ok() != fits) return fits ? "fits nowhere" : "fits somewhere";
  if (!fits) return {};
  if (decision.node != plain.chosen()) return "another node";
  // Where a node was promised nothing else is looked at.
  if (plain.promised()) return {};
  if (decision.feasible != plain.decision().feasible) return "other feasible nodes";
  if (decision.feasible.size() > 1 && decision.total != plain.decision().total)
    return "another best total";
  return {};
}

}  // namespace

Answerer::Answerer(AnswerMode mode) : mode_(mode), profile_(case_profile()) {}

std::string answer_of(const Judgement& judgement) {
  using enum Judgement::Outcome;
  const Decision& decision = judgement.decision();
  Sheet sheet(judgement.profile(), judgement.cluster(), judgement.problem().id);
  if (judgement.outcome() == kRefusedAsWhole && decision.diagnosis.prefilter) {
    sheet.pre_filter(decision.status);
    sheet.nothing_filtered();
    return sheet.take();
  }
  if (!decision.status.ok()) return sheet.failed(decision.status);
  sheet.pre_filter({});
  sheet.filter(decision);
  if (judgement.outcome() == kFits) {
    sheet.scores(decision);
    sheet.choice(judgement.chosen(), judgement.promised());
  } else if (judgement.preemption()) {
    sheet.preemption(*judgement.preemption());
  }
  return sheet.take();
}

std::string Answerer::answer(Case& problem) const {
  const Judgement judgement(profile_, all_plugins(), problem, kNoClock);
  std::string differs;
  if (mode_ != AnswerMode::kPlain && judgement.outcome() != Judgement::Outcome::kFailed &&
      judgement.outcome() != Judgement::Outcome::kRefusedAsWhole)
    differs = cached_difference(problem, judgement, mode_ == AnswerMode::kWarm);
  if (differs.empty()) return answer_of(judgement);
  Sheet sheet(judgement.profile(), judgement.cluster(), problem.id);
  return sheet.failed(Status::error("the cached path differs: " + differs));
}

Result<std::string> Answerer::answer(std::string_view case_json) const {
  Result<Case> problem = read_case(case_json);
  if (!problem) return tl::unexpected(std::move(problem.error()));
  return answer(*problem);
}

}  // namespace berth::scheduler
