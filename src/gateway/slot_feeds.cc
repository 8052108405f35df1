// SPDX-License-Identifier: Apache-2.0
#include "gateway/slot_feeds.h"

#include <algorithm>

#include "controllers/slot_sight.h"

namespace berth::gateway {
namespace {

client::InformerOptions following(kube::KindId kind, Metrics& metrics,
                                  std::string_view label_selector = "") {
  client::InformerOptions options;
  options.feed.kind = kind;
  options.feed.label_selector = label_selector;
  options.feed.metrics = &metrics;
  return options;
}

}  // namespace

SlotFeeds::SlotFeeds(Scope& scope, client::Transport& transport, const Random& random,
                     Metrics& metrics, const Feeds& feeds)
    : feeds_(feeds),
      nodes_(scope, transport, random.fork("nodes"), following(kube::kNode, metrics)),
      pods_(scope, transport, random.fork("pods"),
            following(kube::kPod, metrics, kube::kTestbedLabel)),
      ledgers_(scope, transport, random.fork("ledgers"),
               following(kube::thesis_kinds().ledger, metrics)) {
  pods_.add_index(std::string(controllers::kByTestbed), &controllers::testbed_of_pod);
}

void SlotFeeds::start() {
  nodes_.start();
  pods_.start();
  ledgers_.start();
}

bool SlotFeeds::synced() const {
  return feeds_.synced() && nodes_.synced() && pods_.synced() && ledgers_.synced();
}

const client::Informer<>* SlotFeeds::of(kube::KindId kind) const {
  if (kind == kube::kNode) return &nodes_;
  if (kind == kube::kPod) return &pods_;
  if (kind == kube::thesis_kinds().ledger) return &ledgers_;
  for (const Topic topic : kTopics)
    if (kind == kind_of(topic)) return &feeds_.of(topic);
  return nullptr;
}

const kube::Object* SlotFeeds::get(kube::KindId kind, const kube::Key& key) const {
  const auto* informer = of(kind);
  return informer == nullptr ? nullptr : informer->get(key);
}
std::vector<const kube::Object*> SlotFeeds::list(kube::KindId kind) const {
  const auto* informer = of(kind);
  return informer == nullptr ? std::vector<const kube::Object*>() : informer->list();
}
std::vector<const kube::Object*> SlotFeeds::list(kube::KindId kind, std::string_view ns) const {
  const auto* informer = of(kind);
  return informer == nullptr ? std::vector<const kube::Object*>() : informer->list(ns);
}
std::vector<const kube::Object*> SlotFeeds::by_index(kube::KindId kind, std::string_view index,
                                                     std::string_view value) const {
  const auto* informer = of(kind);
  return informer == nullptr ? std::vector<const kube::Object*>()
                             : informer->by_index(index, value);
}
kube::Revision SlotFeeds::seen(kube::KindId kind) const {
  const auto* informer = of(kind);
  return informer == nullptr ? 0 : informer->seen();
}

std::vector<const kube::Object*> WithDraft::with(kube::KindId kind,
                                                 std::vector<const kube::Object*> found,
                                                 bool there) const {
  if (kind != draft_.kind()) return found;
  std::erase_if(found, [&](const kube::Object* one) { return one->key() == draft_.key(); });
  if (there) found.push_back(&draft_);
  return found;
}

const kube::Object* WithDraft::get(kube::KindId kind, const kube::Key& key) const {
  if (kind == draft_.kind() && key == draft_.key()) return &draft_;
  return objects_.get(kind, key);
}
std::vector<const kube::Object*> WithDraft::list(kube::KindId kind) const {
  return with(kind, objects_.list(kind), true);
}
std::vector<const kube::Object*> WithDraft::list(kube::KindId kind, std::string_view ns) const {
  return with(kind, objects_.list(kind, ns), draft_.ns() == ns);
}
std::vector<const kube::Object*> WithDraft::by_index(kube::KindId kind, std::string_view index,
                                                     std::string_view value) const {
  if (kind != draft_.kind()) return objects_.by_index(kind, index, value);
  const std::vector<std::string> filed = index == controllers::kByTestbed
                                             ? controllers::testbed_of_scheduling(draft_)
                                             : controllers::jobs_of_scheduling(draft_);
  return with(kind, objects_.by_index(kind, index, value),
              std::find(filed.begin(), filed.end(), value) != filed.end());
}

}  // namespace berth::gateway
