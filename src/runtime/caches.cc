// SPDX-License-Identifier: Apache-2.0
#include "runtime/caches.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::runtime {

using client::Keep;

namespace {
constexpr Duration kFollowPatience = 30s;
constexpr std::size_t kGoneRemembered = 10'000;
}  // namespace

Caches::Caches(Scope& scope, client::Transport& transport, Random random, Metrics& metrics)
    : scope_(scope), transport_(transport), random_(random), metrics_(metrics) {}
Caches::~Caches() = default;

void Caches::need(const Spec& spec) {
  BERTH_CHECK(!started_, "controllers are added before the start");
  for (const WatchSpec& watch : spec.watched()) {
    const kube::Kind& kind = kube::kind_of(watch.kind);
    const auto [at, fresh] = kinds_.try_emplace(fmt::format("{}.{}", kind.plural, kind.group));
    auto& [id, kept] = at->second;
    id = watch.kind;
    kept.if_served = watch.if_served && (fresh || kept.if_served);
    finding_ |= watch.if_served;
    by_id_[watch.kind] = &kept;
    if (watch.keep == Keep::kDocument) kept.keep = Keep::kDocument;
  }
  for (const IndexSpec& index : spec.indexes()) {
    const auto found = by_id_.find(index.kind);
    BERTH_CHECK(found != by_id_.end(), "an index of a kind that is not watched");
    const auto [at, fresh] = found->second->indexes.try_emplace(index.name, index.by);
    BERTH_CHECK(fresh || at->second == index.by, "two indexes of one name");
  }
  following_ |= spec.follows() != nullptr;
  finding_ |= following_ || spec.asks_scales();
  for (const auto& [name, by] : spec.everywhere()) {
    const auto [at, fresh] = everywhere_.try_emplace(name, by);
    BERTH_CHECK(fresh || at->second == by, "two indexes of one name");
  }
}

void Caches::start(Task synced) {
  started_ = true;
  synced_ = std::move(synced);
  missing_ = static_cast<std::size_t>(std::count_if(
      kinds_.begin(), kinds_.end(), [](const auto& of) { return !of.second.second.if_served; }));
  if (missing_ == 0) scope_.post([this] { synced_(); });
  for (auto& [name, of] : kinds_) {
    if (of.second.if_served) continue;
    make(name, of.first, of.second);
    of.second.informer->on_synced([this] {
      if (--missing_ == 0) synced_();
      settle();
    });
  }
  for (auto& [name, of] : kinds_)
    if (of.second.informer) of.second.informer->start();
  if (!finding_) return;
  finder_ = std::make_unique<KindFinder>(scope_, transport_, random_.fork("kinds"),
                                         [this](const ServedKinds& served) { follow(served); });
  finder_->start();
}

void Caches::make(const std::string& name, KindId id, Kept& kept) {
  for (const auto& [index, by] : everywhere_) kept.indexes.try_emplace(index, by);
  client::InformerOptions options{.feed = {.kind = id}, .keep = kept.keep};
  options.feed.server = traits_;
  options.feed.metrics = &metrics_;
  kept.informer = std::make_unique<client::Informer<>>(
      kept.own != nullptr ? *kept.own : scope_, transport_, random_.fork(name), std::move(options));
  for (const auto& [index, by] : kept.indexes) kept.informer->add_index(index, by);
  kept.informer->add_handler(
      {.added = [this, k = &kept](const Object& o) { look(*k, o); },
       .updated = [this, k = &kept](const Object&, const Object& o) { look(*k, o); },
       .deleted =
           [this, k = &kept](const Object& o) {
             if (following_) remember_gone(o);
             look(*k, o);
           }});
  kept.informer->on_advanced([this, k = &kept] { look(*k); });
  const kube::Kind& kind = kube::kind_of(id);
  const bool defines =
      (kind.group == "apiextensions.k8s.io" && kind.plural == "customresourcedefinitions") ||
      (kind.group == "apiregistration.k8s.io" && kind.plural == "apiservices");
  if (defines && finding_) {
    const auto changed = [this] { finder_->look_again(); };
    kept.informer->on_synced([changed, informer = kept.informer.get()] {
      informer->add_handler({.added = [changed](const Object&) { changed(); },
                             .updated = [changed](const Object&, const Object&) { changed(); },
                             .deleted = [changed](const Object&) { changed(); }});
    });
  }
  for (const auto& follower : followers_) follower(id, *kept.informer);
}

void Caches::on_informer(std::function<void(KindId, client::Informer<>&)> follower) {
  for (auto& [name, of] : kinds_)
    if (of.second.informer) follower(of.first, *of.second.informer);
  followers_.push_back(std::move(follower));
}

void Caches::on_followed(Task then) {
  if (followed_)
    scope_.post(std::move(then));
  else
    on_followed_.push_back(std::move(then));
}

void Caches::settle() {
  if (followed_ || !found_ || missing_ > 0) return;
  for (const auto& [name, of] : kinds_)
    if (of.second.informer && !of.second.informer->synced()) return;
  followed_ = true;
  for (Task& task : std::exchange(on_followed_, {})) scope_.post(std::move(task));
}

void Caches::follow(const ServedKinds& served) {
  std::map<std::pair<std::string, std::string>, ServedKind> now;
  std::map<std::string, KindId> wanted;
  for (const ServedKind& one : served.kinds) {
    const kube::Kind& kind = kube::kind_of(one.kind);
    now[{kind.group, kind.kind}] = one;
    // k8s 1.36: Events come and go too often to be followed.
    const std::string name = fmt::format("{}.{}", kind.plural, kind.group);
    const auto kept = kinds_.find(name);
    const bool follow = following_ && one.can("delete") && kind.plural != "events";
    const bool awaited = kept != kinds_.end() && kept->second.second.if_served;
    if (one.can("list") && one.can("watch") && (follow || awaited)) wanted.emplace(name, one.kind);
  }
  const auto stale = [&](KindId id) {
    const std::string version = kube::kind_of(id).api_version();
    return std::find(served.stale.begin(), served.stale.end(), version) != served.stale.end();
  };
  for (const auto& [name, one] : served_)
    if (stale(one.kind)) now.emplace(name, one);  // it does not answer, and may yet
  served_ = std::move(now);
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    const auto next = std::next(at);
    const auto found = wanted.find(at->first);
    const bool lasting = at->second.second.own == nullptr || stale(at->second.first) ||
                         (found != wanted.end() && found->second == at->second.first);
    if (!lasting) unfollow(at);
    at = next;
  }
  for (const auto& [name, id] : wanted) {
    const auto [at, fresh] = kinds_.try_emplace(name);
    Kept& kept = at->second.second;
    if (!kept.if_served) by_id_[id] = &kept;
    if (kept.informer) continue;
    // Who named a version gets that one, where it is served.
    if (fresh) at->second.first = id;
    begin(name, at->second.first, kept);
  }
  if (std::exchange(found_, true)) return;
  scope_.after(kFollowPatience, [this] {
    followed_ = true;
    for (Task& task : std::exchange(on_followed_, {})) scope_.post(std::move(task));
  });
  settle();
}

void Caches::begin(const std::string& name, KindId id, Kept& kept) {
  kept.own = &scope_.child("followed " + name);
  make(name, id, kept);
  kept.informer->on_synced([this] { settle(); });
  kept.informer->start();
}

void Caches::unfollow(Kinds::iterator at) {
  if (at->second.second.if_served) {
    Kept& kept = at->second.second;
    release(kept);
    // It is kept until nothing of it runs any more; its place is free for the next.
    std::shared_ptr<client::Informer<>> last = std::move(kept.informer);
    std::exchange(kept.own, nullptr)->close({}, [last] {});
    return;
  }
  auto node = kinds_.extract(at);
  Kept& kept = node.mapped().second;
  std::erase_if(by_id_, [&](const auto& of) { return of.second == &kept; });
  release(kept);
  kept.own->close({}, [node = std::move(node)] {});
}

void Caches::release(Kept& kept) {
  for (const auto& [revision, id] : kept.by_revision) fulfil(id);
  for (const auto& [key, id] : kept.by_key) fulfil(id);
  kept.by_revision.clear();
  kept.by_key.clear();
}

void Caches::remember_gone(const Object& object) {
  if (!gone_.insert(std::string(object.uid())).second) return;
  gone_order_.emplace_back(object.uid());
  if (gone_order_.size() <= kGoneRemembered) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

std::vector<const Object*> Caches::everywhere(std::string_view index,
                                              std::string_view value) const {
  std::vector<const Object*> all;
  for (const auto& [name, of] : kinds_) {
    if (!of.second.informer) continue;
    for (const Object* object : of.second.informer->by_index(index, value)) all.push_back(object);
  }
  return all;
}

std::optional<KindId> Caches::served(std::string_view api_version, std::string_view kind) const {
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  const std::string_view version = core ? api_version : api_version.substr(slash + 1);
  const auto found = served_.find(
      {core ? std::string() : std::string(api_version.substr(0, slash)), std::string(kind)});
  if (found == served_.end()) return std::nullopt;
  const auto& versions = found->second.versions;
  if (std::find(versions.begin(), versions.end(), version) == versions.end()) return std::nullopt;
  return found->second.kind;
}

bool Caches::scales(KindId id) const {
  const kube::Kind& kind = kube::kind_of(id);
  const auto found = served_.find({kind.group, kind.kind});
  return found != served_.end() && found->second.scales;
}

std::optional<KindId> Caches::followed(std::string_view resource) const {
  const auto found = kinds_.find(std::string(resource));
  if (found == kinds_.end()) return std::nullopt;
  return found->second.first;
}

std::vector<KindId> Caches::followed() const {
  std::vector<KindId> all;
  for (const auto& [name, of] : kinds_) all.push_back(of.first);
  return all;
}

std::vector<std::string> Caches::unsynced() const {
  std::vector<std::string> names;
  for (const auto& [name, of] : kinds_)
    if (of.second.informer ? !of.second.informer->synced() : !of.second.if_served)
      names.push_back(kube::kind_of(of.first).plural);
  return names;
}

client::Informer<>& Caches::informer(KindId kind) {
  const auto found = by_id_.find(kind);
  BERTH_CHECK(found != by_id_.end() && found->second->informer, "the kind is not watched");
  return *found->second->informer;
}

const client::Informer<>* Caches::kept(KindId kind) const {
  const auto found = by_id_.find(kind);
  BERTH_CHECK(found != by_id_.end(), "the kind is not watched");
  BERTH_CHECK(found->second->informer || found->second->if_served, "nothing has started yet");
  return found->second->informer.get();
}

const Object* Caches::get(KindId kind, const Key& key) const {
  const auto* cache = kept(kind);
  return cache == nullptr ? nullptr : cache->get(key);
}
std::vector<const Object*> Caches::list(KindId kind) const {
  const auto* cache = kept(kind);
  return cache == nullptr ? std::vector<const Object*>() : cache->list();
}
std::vector<const Object*> Caches::list(KindId kind, std::string_view ns) const {
  const auto* cache = kept(kind);
  return cache == nullptr ? std::vector<const Object*>() : cache->list(ns);
}
std::vector<const Object*> Caches::by_index(KindId kind, std::string_view index,
                                            std::string_view value) const {
  const auto* cache = kept(kind);
  return cache == nullptr ? std::vector<const Object*>() : cache->by_index(index, value);
}
kube::Revision Caches::seen(KindId kind) const {
  const auto* cache = kept(kind);
  return cache == nullptr ? 0 : cache->seen();
}

bool Caches::holds(const Wait& wait) const {
  const auto found = by_id_.find(wait.target.kind);
  if (found == by_id_.end() || !found->second->informer) return true;
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
