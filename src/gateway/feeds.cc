// SPDX-License-Identifier: Apache-2.0
#include "gateway/feeds.h"

#include <algorithm>

#include "controllers/slot_sight.h"

namespace berth::gateway {
namespace {

constexpr std::size_t kMostTexts = 4096;

}  // namespace

Feeds::Feeds(Scope& scope, client::Transport& transport, Random random, Metrics& metrics,
             FeedsOptions options)
    : scope_(scope),
      options_(std::move(options)),
      ring_(options_.ring),
      resets_(metrics.counter("berth_gateway_resets_total",
                              "Listeners that had to begin again with a snapshot")),
      events_(metrics.counter("berth_gateway_delivered_total", "Events told to listeners")),
      bytes_(metrics.counter("berth_gateway_delivered_bytes_total", "Of events told to listeners")),
      changes_(metrics.counters("berth_gateway_changes_total", "Changes seen, by kind", {"kind"})),
      behind_(metrics.gauge("berth_gateway_behind_events",
                            "Changes that the slowest listener has not been told")) {
  for (const Topic topic : kTopics) {
    client::InformerOptions informer;
    informer.feed.kind = kind_of(topic);
    informer.feed.ns = options_.ns;
    informer.feed.metrics = &metrics;
    informers_[index(topic)] = std::make_unique<client::Informer<>>(
        scope_, transport, random.fork(name_of(topic)), std::move(informer));
    if (topic == Topic::kSchedulings) {
      informers_[index(topic)]->add_index(std::string(controllers::kByTestbed),
                                          &controllers::testbed_of_scheduling);
      informers_[index(topic)]->add_index(std::string(controllers::kByJob),
                                          &controllers::jobs_of_scheduling);
    }
    if (topic == Topic::kJobs) {
      informers_[index(topic)]->add_index(std::string(controllers::kByOrder),
                                          &controllers::order_of_job);
      informers_[index(topic)]->add_index(std::string(controllers::kByClaim),
                                          &controllers::claim_of_job);
    }
    follow(topic);
  }
}

Feeds::~Feeds() = default;

void Feeds::follow(Topic topic) {
  client::Informer<>& informer = *informers_[index(topic)];
  informer.add_handler(
      {.added = [this, topic](
                    const kube::Object& o) { on_change(topic, ObjectChange::Action::kAdded, o); },
       .updated =
           [this, topic](const kube::Object&, const kube::Object& o) {
             on_change(topic, ObjectChange::Action::kModified, o);
           },
       .deleted =
           [this, topic](const kube::Object& o) {
             on_change(topic, ObjectChange::Action::kDeleted, o);
           }});
  informer.on_advanced([this, topic, &informer] {
    if (!begun_[index(topic)]) return;
    const std::uint64_t relists = informer.stats().relists;
    if (std::exchange(relists_[index(topic)], relists) != relists)
      ring_.gap(topic, informer.seen());
    else
      ring_.advance(topic, informer.seen());
  });
  informer.on_synced([this, topic, &informer] {
    begun_[index(topic)] = true;
    relists_[index(topic)] = informer.stats().relists;
    ring_.begin(topic, informer.seen());
    if (!synced()) return;
    for (Task& task : std::exchange(waiting_, {})) scope_.post(std::move(task));
  });
}

void Feeds::start() {
  for (const auto& informer : informers_) informer->start();
}

bool Feeds::synced() const {
  return std::all_of(begun_.begin(), begun_.end(), [](bool begun) { return begun; });
}

void Feeds::on_synced(Task then) {
  if (synced()) return scope_.post(std::move(then));
  waiting_.push_back(std::move(then));
}

void Feeds::on_change(Topic topic, ObjectChange::Action action, const kube::Object& object) {
  if (!begun_[index(topic)]) return;  // the snapshot will show it
  ring_.push(topic, action, object);
  changes_.with({name_of(topic)}).add();
  if (std::exchange(armed_, true)) return;
  scope_.after(options_.pause, [this] {
    armed_ = false;
    tell();
  });
}

void Feeds::tell() {
  const std::vector<Listener*> all(listeners_.begin(), listeners_.end());
  for (Listener* listener : all)
    if (listeners_.count(listener) > 0) listener->changed();
  std::uint64_t most = 0;
  for (const Listener* listener : listeners_) most = std::max(most, listener->behind());
  behind_.set(static_cast<double>(most));
}

void Feeds::add(Listener& listener) { listeners_.insert(&listener); }
void Feeds::remove(Listener& listener) { listeners_.erase(&listener); }

Feeds::Text Feeds::encoded(const ObjectChange& change, const std::string& form,
                           const std::function<std::string(const ObjectChange&)>& make) {
  const auto at = texts_.find({change.place, form});
  if (at != texts_.end()) return at->second;
  // Those of the oldest changes go first: whoever still needs them is behind the others anyway.
  while (texts_.size() >= kMostTexts) texts_.erase(texts_.begin());
  return texts_
      .emplace(std::pair(change.place, form), std::make_shared<const std::string>(make(change)))
      .first->second;
}

bool Reader::wants(Topic topic, const kube::Object& object) const {
  return std::any_of(filters_.begin(), filters_.end(),
                     [&](const Filter& filter) { return filter.wants(topic, object); });
}

void Reader::take_snapshot() {
  snapshot_.clear();
  told_ = 0;
  for (const Topic topic : kTopics)
    for (const kube::Object* object : feeds_->of(topic).list())
      if (wants(topic, *object)) snapshot_.emplace_back(topic, *object);
  snapshot_cursor_ = feeds_->ring().now();
  place_ = feeds_->ring().end();
  seen_ = {};
  synced_due_ = true;
}

void Reader::from_snapshot() { take_snapshot(); }

void Reader::resume(const Cursor& cursor) {
  const auto place = feeds_->ring().resume(cursor);
  seen_ = cursor;
  if (place)
    place_ = *place;
  else
    reset_due_ = true;
}

std::optional<Reader::Item> Reader::next() {
  const ChangeRing& ring = feeds_->ring();
  if (reset_due_ || place_ < ring.first()) {
    reset_due_ = false;
    ++resets_;
    feeds_->resets().add();
    take_snapshot();
    return Item{.what = Item::What::kReset};
  }
  if (told_ < snapshot_.size()) {
    const auto& [topic, object] = snapshot_[told_++];
    return Item{.what = Item::What::kObject, .topic = topic, .object = &object};
  }
  if (std::exchange(synced_due_, false))
    return Item{.what = Item::What::kSynced, .cursor = snapshot_cursor_};
  while (place_ < ring.end()) {
    const ObjectChange& change = ring.at(place_++);
    if (change.seq <= seen_.of(change.topic) || !wants(change.topic, change.object)) continue;
    return Item{.what = Item::What::kChange,
                .topic = change.topic,
                .change = &change,
                .cursor = change.cursor};
  }
  snapshot_.clear();
  told_ = 0;
  return std::nullopt;
}

}  // namespace berth::gateway
