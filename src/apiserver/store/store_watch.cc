// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/store/store.h"
#include "apiserver/store/watcher.h"

namespace berth::apiserver {
namespace {

using kube::WatchEvent;

void take_out(std::vector<Watcher*>& from, const Watcher& watcher) {
  const auto found = std::find(from.begin(), from.end(), &watcher);
  *found = from.back();
  from.pop_back();
}

std::string_view ns_of(const Walk& walk) {
  return std::string_view(walk.prefix).substr(0, walk.prefix.size() - 1);
}

// The map of buckets that a walk's is in and its name there; null: it is for all.
std::pair<ByText<std::vector<Watcher*>>*, std::string_view> bucket_of(WatchBuckets& all,
                                                                      const Walk& walk) {
  if (!walk.key.empty()) return {&all.by_key, walk.key};
  if (walk.index) return {&all.by_value[*walk.index], walk.value};
  if (!walk.prefix.empty()) return {&all.by_ns, ns_of(walk)};
  return {nullptr, {}};
}

WatchEvent bookmark_at(kube::Revision revision, bool initial_events_end) {
  WatchEvent event;
  event.type = WatchEvent::Type::kBookmark;
  event.revision = revision;
  event.initial_events_end = initial_events_end;
  return event;
}

WatchEvent event_of(WatchEvent::Type type, kube::Object object) {
  WatchEvent event;
  event.type = type;
  event.revision = object.revision();
  event.object = std::move(object);
  return event;
}

}  // namespace

void WatchBuckets::add(Watcher& watcher) {
  const auto [map, name] = bucket_of(*this, watcher.walk);
  (map == nullptr ? all : (*map)[std::string(name)]).push_back(&watcher);
  if (watcher.spec.bookmarks) bookmarked.push_back(&watcher);
}

void WatchBuckets::remove(Watcher& watcher) {
  if (watcher.spec.bookmarks) take_out(bookmarked, watcher);
  const auto [map, name] = bucket_of(*this, watcher.walk);
  if (map == nullptr) return take_out(all, watcher);
  const auto bucket = map->find(name);
  take_out(bucket->second, watcher);
  if (bucket->second.empty()) map->erase(bucket);
}

WatchBuckets& Store::buckets(Table& table) {
  std::unique_ptr<WatchBuckets>& found = buckets_[&table];
  if (found == nullptr) {
    found = std::make_unique<WatchBuckets>();
    found->by_value.resize(table.index_count());
  }
  return *found;
}

WatchId Store::watch(WatchSpec spec, WatchSink& sink) {
  Table& of = table(spec.kind);
  auto made = std::make_unique<Watcher>();
  Watcher& watcher = *made;
  watcher.id = static_cast<WatchId>(++last_watch_);
  watcher.table = &of;
  watcher.sink = &sink;
  watcher.walk = walk_of(of, spec.range, spec.selector);
  watcher.spec = std::move(spec);
  watcher.after = watcher.spec.after;

  buckets(of).add(watcher);
  if (watcher.spec.bookmarks) bookmark_later(watcher.spec.kind);
  if (watcher.spec.initial_events)
    watcher.initial = ListRun(*this, &of,
                              {.kind = watcher.spec.kind,
                               .range = watcher.spec.range,
                               .selector = watcher.spec.selector,
                               .plan = {.exactly = published_}});
  watcher.place = of.place_after(watcher.after);
  watcher.expired = !watcher.initial && watcher.after < of.watch_floor();
  watchers_.emplace(last_watch_, std::move(made));
  return watcher.id;
}

void Store::unwatch(WatchId id) {
  const auto found = watchers_.find(static_cast<std::uint64_t>(id));
  if (found == watchers_.end()) return;
  buckets(*found->second->table).remove(*found->second);
  watchers_.erase(found);
}

WatchBatch Store::read(WatchId id, std::size_t max_events) {
  const auto found = watchers_.find(static_cast<std::uint64_t>(id));
  BERTH_CHECK(found != watchers_.end(), "a watch is read before it ends");
  Watcher& watcher = *found->second;
  WatchBatch batch;
  if (watcher.over) {
    batch.end = true;
  } else if (watcher.initial) {
    read_initial(watcher, max_events, batch);
  } else {
    read_history(watcher, max_events, batch);
  }
  return batch;
}

void Store::read_initial(Watcher& watcher, std::size_t max, WatchBatch& batch) {
  ListRun& run = *watcher.initial;
  // An entry gives one event at most.
  const auto complete = run.step(std::min(max, kStep));
  if (!complete) return expire(watcher, batch);
  for (kube::Object& object : run.take_items())
    batch.events.push_back(event_of(WatchEvent::Type::kAdded, std::move(object)));
  batch.more = true;
  if (!*complete) return;
  watcher.after = run.revision();
  watcher.initial.reset();
  watcher.place = watcher.table->place_after(watcher.after);
  if (watcher.spec.initial_bookmark) batch.events.push_back(bookmark_at(watcher.after, true));
}

void Store::read_history(Watcher& watcher, std::size_t max, WatchBatch& batch) {
  const Table& table = *watcher.table;
  if (watcher.idle) watcher.place = table.end();
  // What was dropped before it was looked at is lost. Events that passed while it was idle were
  // none of its business.
  if (watcher.expired || watcher.place < table.first()) return expire(watcher, batch);
  const Selector& selector = watcher.spec.selector;
  const auto wanted = [&](const HistoryEvent& event, const kube::Object& object) {
    return object.valid() && in_walk(table, watcher.walk, event.entry->key, object) &&
           selector.matches(object);
  };
  std::size_t looked = 0;
  for (; watcher.place < table.end(); ++watcher.place) {
    if (batch.events.size() >= max || looked++ >= kStep) {
      batch.more = true;
      return;
    }
    const HistoryEvent& event = table.event(watcher.place);
    if (event.revision <= watcher.after) continue;
    watcher.after = event.revision;
    const bool was = wanted(event, event.before);
    const bool is = !event.deleted && wanted(event, event.after);
    if (is) {
      batch.events.push_back(
          event_of(was ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded, event.after));
    } else if (was) {
      // Out of sight: what was seen last, with the revision of the change.
      batch.events.push_back(
          event_of(WatchEvent::Type::kDeleted,
                   event.deleted ? event.after : *event.before.next(event.revision)));
    }
  }
  watcher.idle = true;
  watcher.after = std::max(watcher.after, published_);
  if (std::exchange(watcher.bookmark, false))
    batch.events.push_back(bookmark_at(watcher.after, false));
}

void Store::expire(Watcher& watcher, WatchBatch& batch) {
  WatchEvent event;
  event.type = WatchEvent::Type::kError;
  event.error = Error{.reason = Reason::kExpired,
                      .message = fmt::format("too old resource version: {} ({})", watcher.after,
                                             watcher.table->watch_floor()),
                      .code = 410};
  batch.events.push_back(std::move(event));
  batch.more = false;
  batch.end = true;
  watcher.over = true;
  watcher.idle = false;
}

void Store::bookmark(WatchId id) {
  const auto found = watchers_.find(static_cast<std::uint64_t>(id));
  if (found == watchers_.end() || found->second->over) return;
  Watcher& watcher = *found->second;
  watcher.bookmark = true;
  if (!watcher.idle) return;
  watcher.idle = false;
  watcher.place = watcher.table->end();
  watcher.sink->ready(id);
}

void Store::bookmark_later(kube::KindId kind) {
  WatchBuckets& all = buckets(table(kind));
  if (all.bookmarking) return;
  all.bookmarking = true;
  scope_.after(
      options_.bookmark_period,
      [this, kind] {
        WatchBuckets& due = buckets(table(kind));
        due.bookmarking = false;
        if (due.bookmarked.empty()) return;
        std::vector<WatchId> idle;
        for (const Watcher* watcher : due.bookmarked)
          if (watcher->idle) idle.push_back(watcher->id);
        for (const WatchId id : idle) bookmark(id);
        bookmark_later(kind);
      },
      Timer::kBackground);
}

void Store::wake(Table& table, const HistoryEvent& event, std::uint64_t place,
                 std::vector<WatchId>& woken) {
  const auto found = buckets_.find(&table);
  if (found == buckets_.end()) return;
  WatchBuckets& all = *found->second;
  const auto wake_all = [&](std::vector<Watcher*>& bucket) {
    for (Watcher* watcher : bucket) {
      if (!watcher->idle) continue;
      watcher->idle = false;
      watcher->place = place;
      woken.push_back(watcher->id);
    }
  };
  const auto wake_in = [&](ByText<std::vector<Watcher*>>& by, std::string_view value) {
    if (const auto bucket = by.find(value); bucket != by.end()) wake_all(bucket->second);
  };
  wake_all(all.all);
  if (!all.by_ns.empty()) wake_in(all.by_ns, event.entry->ns());
  if (!all.by_key.empty()) wake_in(all.by_key, event.entry->key);
  if (table.index_count() == 0) return;
  for (const kube::Revision revision : {event.revision - 1, event.revision}) {
    const Version* version = event.entry->versions.at(revision);
    if (version == nullptr || version->values == nullptr) continue;
    for (const auto& [index, value] : *version->values)
      if (!all.by_value[index].empty()) wake_in(all.by_value[index], value);
  }
}

}  // namespace berth::apiserver
