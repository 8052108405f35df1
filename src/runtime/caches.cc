// SPDX-License-Identifier: Apache-2.0
#include "runtime/caches.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::runtime {

using client::Keep;

Caches::Caches(Scope& scope, client::Transport& transport, Random random, Metrics& metrics)
    : scope_(scope), transport_(transport), random_(random), metrics_(metrics) {}
Caches::~Caches() = default;

void Caches::need(const Spec& spec) {
  BERTH_CHECK(!started_, "controllers are added before the start");
  for (const WatchSpec& watch : spec.watched()) {
    const kube::Kind& kind = kube::kind_of(watch.kind);
    auto& [id, kept] = kinds_[fmt::format("{}.{}", kind.plural, kind.group)];
    id = watch.kind;
    by_id_[watch.kind] = &kept;
    if (watch.keep == Keep::kDocument) kept.keep = Keep::kDocument;
  }
  for (const IndexSpec& index : spec.indexes()) {
    const auto found = by_id_.find(index.kind);
    BERTH_CHECK(found != by_id_.end(), "an index of a kind that is not watched");
    const auto [at, fresh] = found->second->indexes.try_emplace(index.name, index.by);
    BERTH_CHECK(fresh || at->second == index.by, "two indexes of one name");
  }
}

void Caches::start(Task synced) {
  started_ = true;
  synced_ = std::move(synced);
  missing_ = kinds_.size();
  for (auto& [name, of] : kinds_) {
    auto& [id, kept] = of;
    client::InformerOptions options{.feed = {.kind = id}, .keep = kept.keep};
    options.feed.server = traits_;
    options.feed.metrics = &metrics_;
    kept.informer = std::make_unique<client::Informer<>>(scope_, transport_, random_.fork(name),
                                                         std::move(options));
    for (const auto& [index, by] : kept.indexes) kept.informer->add_index(index, by);
    kept.informer->add_handler(
        {.added = [this, k = &kept](const Object& o) { look(*k, o); },
         .updated = [this, k = &kept](const Object&, const Object& o) { look(*k, o); },
         .deleted = [this, k = &kept](const Object& o) { look(*k, o); }});
    kept.informer->on_advanced([this, k = &kept] { look(*k); });
    kept.informer->on_synced([this] {
      if (--missing_ == 0) synced_();
    });
  }
  for (auto& [name, of] : kinds_) of.second.informer->start();
}

std::vector<std::string> Caches::unsynced() const {
  std::vector<std::string> names;
  for (const auto& [name, of] : kinds_)
    if (of.second.informer == nullptr || !of.second.informer->synced())
      names.push_back(kube::kind_of(of.first).plural);
  return names;
}

client::Informer<>& Caches::informer(KindId kind) {
  const auto found = by_id_.find(kind);
  BERTH_CHECK(found != by_id_.end() && found->second->informer, "the kind is not watched");
  return *found->second->informer;
}

const client::Informer<>& Caches::kept(KindId kind) const {
  return const_cast<Caches*>(this)->informer(kind);
}

const Object* Caches::get(KindId kind, const Key& key) const { return kept(kind).get(key); }
std::vector<const Object*> Caches::list(KindId kind) const { return kept(kind).list(); }
std::vector<const Object*> Caches::list(KindId kind, std::string_view ns) const {
  return kept(kind).list(ns);
}
std::vector<const Object*> Caches::by_index(KindId kind, std::string_view index,
                                            std::string_view value) const {
  return kept(kind).by_index(index, value);
}
kube::Revision Caches::seen(KindId kind) const { return kept(kind).seen(); }

bool Caches::holds(const Wait& wait) const {
  const auto found = by_id_.find(wait.target.kind);
  if (found == by_id_.end()) return true;
  const client::Informer<>& cache = *found->second->informer;
  const Target& target = wait.target;
  if (wait.what == Wait::For::kSeen) return cache.seen() >= target.revision;
  const Object* object = cache.get(target.key);
  if (wait.what == Wait::For::kPresent) return object != nullptr;
  if (object == nullptr || object->uid() != target.uid) return true;
  if (wait.what == Wait::For::kGone) return object->deleting();
  return object->revision() > target.revision;
}

Caches::WaitId Caches::when(const Wait& wait, Task then) {
  const WaitId id = ++last_id_;
  const auto found = by_id_.find(wait.target.kind);
  waiting_.emplace(id, Waiting{wait, std::move(then)});
  if (found == by_id_.end() || holds(wait)) {
    fulfil(id);
    return id;
  }
  Kept& kind = *found->second;
  if (wait.what == Wait::For::kSeen)
    kind.by_revision.emplace(wait.target.revision, id);
  else
    kind.by_key.emplace(wait.target.key, id);
  return id;
}

bool Caches::cancel(WaitId id) {
  const auto node = waiting_.extract(id);
  if (node.empty()) return false;
  const Wait& wait = node.mapped().wait;
  Kept& kind = *by_id_.at(wait.target.kind);
  const auto forget = [id](auto& map, const auto& under) {
    auto [at, end] = map.equal_range(under);
    while (at != end && at->second != id) ++at;
    if (at != end) map.erase(at);
  };
  if (wait.what == Wait::For::kSeen)
    forget(kind.by_revision, wait.target.revision);
  else
    forget(kind.by_key, wait.target.key);
  return true;
}

void Caches::fulfil(WaitId id) {
  const auto node = waiting_.extract(id);
  if (!node.empty()) scope_.post(std::move(node.mapped().then));
}

void Caches::look(Kept& kind) {
  while (!kind.by_revision.empty() && kind.by_revision.begin()->first <= kind.informer->seen()) {
    fulfil(kind.by_revision.begin()->second);
    kind.by_revision.erase(kind.by_revision.begin());
  }
}

void Caches::look(Kept& kind, const Object& object) {
  if (kind.by_key.empty()) return;
  auto [at, end] = kind.by_key.equal_range(object.key());
  while (at != end) {
    const auto waits = waiting_.find(at->second);
    if (waits != waiting_.end() && !holds(waits->second.wait)) {
      ++at;
      continue;
    }
    fulfil(at->second);
    at = kind.by_key.erase(at);
  }
}

}  // namespace berth::runtime
