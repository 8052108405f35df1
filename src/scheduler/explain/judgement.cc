// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain/judgement.h"

namespace berth::scheduler {

Judgement::Judgement(const ProfileSpec& spec, Registry registry, Case& problem, WallTime now)
    : problem_(problem),
      profile_(spec, registry, reasons_, nullptr),
      decider_(profile_, *problem.cluster, reasons_, &problem.nominated, start_),
      decision_(decider_.begin(problem.pending)) {
  if (decision_.status.rejected()) {
    outcome_ = Outcome::kRefusedAsWhole;
    if (decision_.diagnosis.prefilter) post_filter(now);
    return;
  }
  if (!decision_.status.ok()) return;
  // The whole search is explained, also where the promised node ends it before it begins.
  promised_ = decider_.nominated(decision_);
  const DecideOptions everything{.reasons = true, .scores = true};
  decider_.search(decision_, everything);
  if (decision_.status.ok() && !decision_.feasible.empty()) decider_.choose(decision_, everything);
  if (!decision_.status.ok()) return;
  if (decision_.feasible.empty()) {
    outcome_ = Outcome::kFitsNowhere;
    post_filter(now);
    return;
  }
  outcome_ = Outcome::kFits;
  chosen_ = promised_ ? problem_.pending->nominated_node_name : decision_.node;
}

// Every PostFilter plugin in order, as in the scheduler, but with nobody evicted.
void Judgement::post_filter(WallTime now) {
  std::vector<std::string> said;
  for (PostFilter* plugin : profile_.post_filters()) {
    Status status = profile_.plugin_name(plugin->id()) == "DefaultPreemption"
                        ? preempt(plugin->id(), now)
                        : plugin->post_filter(decision_.attempt->cycle, decision_.diagnosis).status;
    const bool last = !status.rejected() || status.code == Code::kUnresolvable;
    if (last) said.clear();
    said.insert(said.end(), status.reasons.begin(), status.reasons.end());
    if (last) break;
  }
  post_filter_message_ = Status{Code::kUnschedulable, std::move(said)}.message();
}

Status Judgement::preempt(PluginId plugin, WallTime now) {
  PreemptionQuestion question{profile_, decision_.attempt->cycle, decision_.diagnosis};
  question.nominated = &problem_.nominated;
  question.now = now;
  const auto args = profile_.spec().args.find(plugin);
  if (args != profile_.spec().args.end())
    if (const auto* own = std::get_if<DefaultPreemptionArgs>(&args->second)) question.args = *own;
  Preemption& found = preemption_.emplace();
  found.refused = not_eligible(question);
  if (found.refused) return Status::unschedulable("preemption: " + *found.refused);
  PreemptionAnswer answer = find_candidates(question);
  if (answer.candidates.empty())
    return {answer.status.code, {"preemption: " + answer.status.message()}};
  found.candidates = std::move(answer.candidates);
  found.best = best_candidates(found.candidates, now);
  return {};
}

std::string Judgement::scheduling_failure() const {
  if (outcome_ == Outcome::kFits) return "";
  if (outcome_ == Outcome::kFailed || cluster().size() == 0) return decision_.status.message();
  return fit_error_text(decision_.diagnosis, post_filter_message_);
}

}  // namespace berth::scheduler
