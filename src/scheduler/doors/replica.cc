// SPDX-License-Identifier: Apache-2.0
#include "scheduler/doors/replica.h"

#include <utility>

namespace berth::scheduler {

Replica::Replica(Scope& scope, client::Transport& transport, Random random, Logger log,
                 const scavenge::Board& board, ProfileSpec profile, Registry registry)
    : scope_(scope),
      feeds_(scope, transport, random.fork("feeds"), std::move(log)),
      board_(board),
      nominator_([this](std::string_view ns, std::string_view name) { return pending(ns, name); },
                 [this](std::string_view ns, std::string_view name) { return pending(ns, name); }),
      profile_(std::move(profile), registry, reasons_, nullptr),
      decider_(profile_, cluster_, reasons_, &nominator_, start_) {}

Replica::~Replica() = default;

void Replica::start() {
  if (std::exchange(started_, true)) return;
  feeds_.start([this] {
    feeds_.attach(*this, [this] {
      caught_up_ = true;
      tell();
    });
  });
}

PodPtr Replica::pending(std::string_view ns, std::string_view name) const {
  const auto found = pending_.find(std::string(ns) + "/" + std::string(name));
  return found == pending_.end() ? nullptr : found->second;
}

std::vector<PodPtr> Replica::pending() const {
  std::vector<PodPtr> pods;
  for (const auto& [name, pod] : pending_) pods.push_back(pod);
  return pods;
}

void Replica::tell() {
  if (!changed_ || !caught_up_ || telling_) return;
  telling_ = true;
  scope_.post([this] {
    telling_ = false;
    changed_();
  });
}

void Replica::pod_added(const PodPtr& pod) {
  if (pod->assigned()) {
    cluster_.add_pod(pod);
  } else {
    pending_[pod->text()] = pod;
    nominator_.add(*pod, std::nullopt);
  }
  tell();
}

void Replica::pod_updated(const PodPtr& before, const PodPtr& after) {
  if (before->assigned()) {
    cluster_.update_pod(after);
  } else if (after->assigned()) {
    nominator_.remove(*before);
    pending_.erase(after->text());
    cluster_.add_pod(after);
  } else {
    pending_[after->text()] = after;
    nominator_.update(*before, *after);
  }
  tell();
}

void Replica::pod_deleted(const PodPtr& last) {
  if (last->assigned()) {
    cluster_.remove_pod(last->uid);
  } else {
    nominator_.remove(*last);
    pending_.erase(last->text());
  }
  tell();
}

void Replica::node_added(const NodePtr& node) {
  cluster_.put_node(node);
  tell();
}
void Replica::node_updated(const NodePtr&, const NodePtr& after) { cluster_.put_node(after); }
void Replica::node_deleted(const NodePtr& last) { cluster_.remove_node(last->name); }
void Replica::object_changed(const kube::Object& before, const kube::Object& after) {
  apply_object(cluster_, before, after);
}

std::optional<LostWork> Replica::pick(const PodPtr& pod, WallTime now, bool shrink_first) {
  if (!caught_up_ || board_.empty()) return std::nullopt;
  Decision decision = decider_.begin(pod);
  if (decision.status.ok()) {
    decider_.search(decision);
    if (!decision.status.ok() || !decision.feasible.empty()) return std::nullopt;
  } else if (!decision.status.rejected() || !decision.diagnosis.prefilter) {
    return std::nullopt;
  }
  PreemptionQuestion question{profile_, decision.attempt->cycle, decision.diagnosis};
  question.nominated = &nominator_;
  question.preemptor = pod.get();
  question.now = now;
  const std::vector<std::uint32_t> rows = candidate_rows(question);
  if (shrink_first)
    if (std::optional<LostWork> less = pick_shrinks(question, rows, board_)) return less;
  return pick_victims(question, rows, board_);
}

}  // namespace berth::scheduler
