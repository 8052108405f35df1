// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/facts.h"

#include <algorithm>
#include <charconv>

#include "kube/node_view.h"
#include "kube/ours/ours.h"
#include "kube/pod_view.h"

namespace berth::slots {
namespace {

std::optional<SlotNumber> number_in(std::string_view text) {
  SlotNumber slot = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc() || at != text.data() + text.size() || slot < 0) return std::nullopt;
  return slot;
}

}  // namespace

NodeFact node_fact(const kube::Object& node, std::string_view label) {
  const kube::NodeView view(node);
  return {.name = std::string(node.name()),
          .label_value = node.label(label),
          .ready = view.ready(),
          .schedulable = !view.unschedulable(),
          .going = node.deleting()};
}

std::optional<PodFact> pod_fact(const kube::Object& pod) {
  const kube::PodView view(pod);
  if (view.finished()) return std::nullopt;
  PodFact fact{.key = pod.key(),
               .uid = std::string(pod.uid()),
               .node = view.node_name(),
               .ghost = pod.label(kube::kGhostLabel) == "true",
               .deleting = pod.deleting(),
               .grant = pod.label(kube::kGrantLabel),
               .slot = number_in(pod.annotation(kube::kSlotAnnotation)),
               .created = pod.created()};
  if (const json::Slice scheduled = view.condition("PodScheduled");
      fact.node.empty() && scheduled["reason"].equals("Unschedulable"))
    fact.refused = scheduled["message"].text();
  return fact;
}

std::int64_t next_run(const kube::BatchJobView& job) {
  return std::max(job.run(), job.closed_run()) + 1;
}

std::optional<std::pair<GrantId, RunFact>> run_fact(const kube::BatchJobView& job) {
  const auto order = job.order();
  if (!order && !job.open()) return std::nullopt;
  const std::int64_t ordered = !order ? 0 : order->run > 0 ? order->run : next_run(job);
  const std::int64_t run = job.open() ? job.run() : ordered;
  RunFact fact{.job = job.object().key(),
               .ordered = order ? std::optional(order->slots) : std::nullopt,
               .closing = !job.claim() || run <= job.closed_run() || job.object().deleting(),
               .pins = job.pins()};
  return std::pair(grant_id(job.object().uid(), run), std::move(fact));
}

std::vector<WantedClass> wanted_classes(const kube::TestbedView& testbed,
                                        const std::vector<const kube::Object*>& nodes) {
  const std::string label = testbed.node_label();
  std::vector<LabelledNode> labelled;
  std::map<std::string_view, const kube::Object*> by_name;
  for (const kube::Object* node : nodes) {
    const json::Slice value = node->labels()[label];
    if (!value || node->deleting()) continue;
    labelled.push_back({std::string(node->name()), value.text()});
    by_name[node->name()] = node;
  }
  put_in_order(labelled);
  std::vector<WantedClass> wanted;
  for (kube::SlotClass& each : testbed.classes()) {
    WantedClass one{std::move(each.name), each.per_node, {}};
    for (const LabelledNode& node : labelled)
      if (each.node_label.empty() || by_name[node.name]->labels()[each.node_label])
        one.nodes.push_back(node.name);
    wanted.push_back(std::move(one));
  }
  return wanted;
}

Key testbed_of(const kube::Object& pod) {
  const std::string name = pod.label(kube::kTestbedLabel);
  if (name.empty()) return {};
  if (const auto stated = key_of(pod.annotation(kTestbedAnnotation))) return *stated;
  return {std::string(pod.ns()), name};
}

}  // namespace berth::slots
