// SPDX-License-Identifier: Apache-2.0
// Pods and nodes that live by Stage files.
#include <fmt/format.h>

#include "lab/lab_state.h"
#include "lab/stages/stages.h"

namespace berth::lab {

bool Lab::staged(kube::KindId kind) const {
  return options_.stages != nullptr && options_.stages->about(kind);
}

void Lab::send_in_turn(std::vector<kube::ApiRequest> requests, std::size_t next,
                       Fn<void(Result<kube::ApiReply>)> then) {
  if (requests.empty()) return then(kube::ApiReply{});
  kube::ApiRequest request = std::move(requests[next]);
  send(std::move(request), [this, requests = std::move(requests), next,
                            then = std::move(then)](Result<kube::ApiReply> reply) mutable {
    if (!reply || next + 1 == requests.size()) return then(std::move(reply));
    send_in_turn(std::move(requests), next + 1, std::move(then));
  });
}

TemplateFacts Lab::facts(std::uint32_t node, std::uint32_t pod) {
  TemplateFacts facts;
  facts.now = wall();
  facts.start = started_;
  facts.node_name = index_->node_names[node];
  facts.node_ip = [this](std::string_view name) {
    const std::uint32_t at = node_row(name, false);
    return at == kNoRow ? std::string() : host_address(at);
  };
  facts.pod_ip = [this, node, pod] {
    if (pod == kNoRow) return std::string();
    const bool host = pods_[pod].pod.member("spec")["hostNetwork"].boolean();
    return host ? host_address(node) : address_of(pod);
  };
  return facts;
}

void Lab::follow_stages(std::uint32_t at) {
  PodRow& row = pods_[at];
  const auto choice = options_.stages->choose(
      row.pod, wall(),
      parts_.random.fork(fmt::format("stage/{}/{}", row.pod.uid(), row.pod.revision())));
  if (!choice) return;
  row.stage = static_cast<std::uint8_t>(choice->stage);
  const double slow = static_cast<double>(nodes_[row.node].slow);
  const Duration delay = stretched(choice->delay, slow);
  if (delay == Duration{}) return enter_stage(at);
  row.timer = scope_.after(delay, [this, at] {
    pods_[at].timer = TimerId::kNone;
    if (beats(nodes_[pods_[at].node])) enter_stage(at);
  });
}

void Lab::enter_stage(std::uint32_t at) {
  PodRow& row = pods_[at];
  auto requests = options_.stages->requests(row.stage, row.pod, facts(row.node, at));
  if (!requests) {
    parts_.log.warn("a stage could not be entered",
                    {{"pod", row.pod.key().text()}, {"error", requests.error()}});
    return;
  }
  row.writing = true;
  send_in_turn(std::move(*requests), 0, [this, at, was = row.pod](Result<kube::ApiReply> reply) {
    on_pod_written(at, was, std::move(reply));
  });
}

void Lab::follow_node_stages(std::uint32_t at) {
  NodeRow& row = nodes_[at];
  std::vector<TimerId>& timers = index_->node_timers;
  if (timers.size() <= at) timers.resize(nodes_.size(), TimerId::kNone);
  scope_.cancel(timers[at]);
  if (row.writing || !beats(row)) return;
  const auto choice = options_.stages->choose(
      row.node, wall(),
      parts_.random.fork(fmt::format("stage/{}/{}", row.node.uid(), row.node.revision())));
  if (!choice) return;
  const auto enter = [this, at, stage = choice->stage] {
    if (!nodes_[at].node.valid() || !beats(nodes_[at])) return;
    auto requests = options_.stages->requests(stage, nodes_[at].node, facts(at, kNoRow));
    if (!requests) {
      parts_.log.warn("a stage could not be entered",
                      {{"node", index_->node_names[at]}, {"error", requests.error()}});
      return;
    }
    nodes_[at].writing = true;
    send_in_turn(std::move(*requests), 0,
                 [this, at, was = nodes_[at].node](Result<kube::ApiReply> reply) {
                   nodes_[at].writing = false;
                   if (!reply && reply.error().reason != Reason::kNotFound &&
                       reply.error().reason != Reason::kCancelled)
                     parts_.log.warn("a stage was refused",
                                     {{"node", index_->node_names[at]}, {"error", reply.error()}});
                   if (nodes_[at].node.valid() && nodes_[at].node.revision() != was.revision())
                     follow_node_stages(at);
                 });
  };
  if (choice->delay == Duration{}) return enter();
  timers[at] = scope_.after(choice->delay, enter, Timer::kBackground);
}

}  // namespace berth::lab
