// SPDX-License-Identifier: Apache-2.0
#include "runtime/scavenge/scavenger_feeds.h"

#include <algorithm>
#include <utility>

#include "kube/ours/ours.h"

namespace berth::runtime {

ScavengerFeeds::ScavengerFeeds(Scope& scope, client::Transport& transport, const Random& random,
                               Metrics* metrics)
    : scope_(scope) {
  const kube::ScavengerKinds& ours = kube::scavenger_kinds();
  for (const kube::KindId id : {ours.job, kube::cerit_kinds().job, ours.policy}) {
    const kube::Kind& kind = kube::kind_of(id);
    client::InformerOptions options;
    options.feed.kind = id;
    options.feed.metrics = metrics;
    options.keep = client::Keep::kDocument;
    Informer& informer = *informers_.emplace_back(std::make_unique<Informer>(
        scope, transport, random.fork(kind.plural + "." + kind.group), std::move(options)));
    const auto put = [this](const kube::Object& object) {
      board_.put(object);
      tell_first();
    };
    informer.add_handler(
        {.added = put,
         .updated = [put](const kube::Object&, const kube::Object& after) { put(after); },
         .deleted = [this](const kube::Object& last) { board_.remove(last); }});
  }
}

ScavengerFeeds::~ScavengerFeeds() = default;

void ScavengerFeeds::start() {
  for (const auto& informer : informers_) informer->start();
}

void ScavengerFeeds::on_first_job(Task then) {
  waiting_.push_back(std::move(then));
  tell_first();
}

void ScavengerFeeds::tell_first() {
  if (board_.empty() || waiting_.empty()) return;
  for (Task& task : std::exchange(waiting_, {})) scope_.post(std::move(task));
}

bool ScavengerFeeds::settled() const {
  return std::all_of(informers_.begin(), informers_.end(), [](const auto& informer) {
    return informer->synced() || informer->withheld();
  });
}

bool ScavengerFeeds::synced() const {
  return settled() && (informers_[0]->synced() || informers_[1]->synced());
}

}  // namespace berth::runtime
