// SPDX-License-Identifier: Apache-2.0
#include "runtime/slots/slot_feeds.h"

#include <algorithm>

namespace berth::runtime {
namespace {

constexpr std::size_t kCommon = 2, kOfGroup = 3;

kube::Object as_it_is(const kube::Object& object) { return object; }

}  // namespace

SlotFeeds::SlotFeeds(Scope& scope, client::Transport& transport, const Random& random,
                     Metrics* metrics)
    : scope_(scope), transport_(transport), metrics_(metrics) {
  follow({.kind = kube::kNode}, random, &slots::slot_node);
  follow({.kind = kube::kPod, .label_selector = std::string(kube::kTestbedLabel)}, random,
         &as_it_is);
  for (const kube::SlotKinds* kinds : {&kube::thesis_kinds(), &kube::alias_kinds()})
    for (const kube::KindId kind : {kinds->testbed, kinds->ledger, kinds->batch_job})
      follow({.kind = kind}, random, &as_it_is);
}

SlotFeeds::~SlotFeeds() = default;

SlotFeeds::Informer& SlotFeeds::follow(client::FeedOptions feed, const Random& random,
                                       Informer::Compile compile) {
  feed.metrics = metrics_;
  const kube::Kind& kind = kube::kind_of(feed.kind);
  Informer& informer = *informers_.emplace_back(std::make_unique<Informer>(
      scope_, transport_, random.fork(kind.plural + "." + kind.group),
      client::InformerOptions{.feed = std::move(feed), .keep = client::Keep::kCompiled},
      std::move(compile)));
  informer.add_handler(
      {.added = [this](const kube::Object& object) { board_.put(object); },
       .updated = [this](const kube::Object&, const kube::Object& after) { board_.put(after); },
       .deleted = [this](const kube::Object& last) { board_.remove(last); }});
  informer.on_synced([this] { tell_synced(); });
  informer.on_withheld([this] { tell_synced(); });
  return informer;
}

void SlotFeeds::start() {
  for (const auto& informer : informers_) informer->start();
}

bool SlotFeeds::settled() const {
  return std::all_of(informers_.begin(), informers_.end(), [](const auto& informer) {
    return informer->synced() || informer->withheld();
  });
}

bool SlotFeeds::synced() const {
  const auto all = [this](std::size_t from, std::size_t count) {
    return std::all_of(informers_.begin() + static_cast<std::ptrdiff_t>(from),
                       informers_.begin() + static_cast<std::ptrdiff_t>(from + count),
                       [](const auto& informer) { return informer->synced(); });
  };
  if (!settled() || !all(0, kCommon)) return false;
  for (std::size_t at = kCommon; at < informers_.size(); at += kOfGroup)
    if (all(at, kOfGroup)) return true;
  return false;
}

void SlotFeeds::on_synced(Task then) {
  waiting_.push_back(std::move(then));
  if (synced()) tell_synced();
}

void SlotFeeds::tell_synced() {
  if (!synced()) return;
  board_.begin();
  for (Task& task : std::exchange(waiting_, {})) scope_.post(std::move(task));
}

}  // namespace berth::runtime
