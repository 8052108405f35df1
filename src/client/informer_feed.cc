// SPDX-License-Identifier: Apache-2.0
#include "client/informer_feed.h"

#include <utility>

namespace berth::client {

using kube::Verb;

namespace {
ListWatchSettings settings_for(const FeedOptions& options) {
  ListWatchSettings settings = options.settings;
  if (options.server && options.server->no_streaming.load()) settings.stream = false;
  return settings;
}
}  // namespace

Feed::Feed(Scope& scope, Transport& transport, Random random, FeedOptions options, FeedSink& sink)
    : scope_(scope),
      transport_(transport),
      options_(std::move(options)),
      sink_(sink),
      machine_(settings_for(options_), random) {
  if (options_.metrics == nullptr) return;
  const auto counter = [&](std::string_view name, std::string_view help) {
    return options_.metrics->counters(name, help, {"resource"})
        .with({kube::kind_of(options_.kind).plural});
  };
  relists_ = counter("berth_informer_relists_total", "Snapshots taken after the first.");
  watch_restarts_ = counter("berth_informer_watch_restarts_total", "Watches opened again.");
  stale_ = counter("berth_informer_stale_events_total", "Events that told nothing new.");
}

void Feed::count(std::uint64_t& stat, const std::optional<Counter>& metric) {
  ++stat;
  if (metric) metric->add();
}

void Feed::start() { perform(tell(ListWatch::Start{})); }

void Feed::stop() {
  ++turn_;
  stream_.reset();
  scope_.cancel(std::exchange(quiet_timer_, TimerId::kNone));
}

ListWatch::Effects Feed::tell(const ListWatch::What& what) {
  return machine_.on({.now = scope_.executor().clock().now(), .what = what});
}

// Objects were put into the cache by the caller, when the effects said so.
void Feed::perform(const ListWatch::Effects& effects) {
  if (effects.commit) {
    sink_.commit();
    synced_ = true;
    withheld_ = false;
    if (snapshots_++ > 0) count(stats_.relists, relists_);
    sink_.advanced();
  }
  if (scope_.closing()) return;
  if (effects.drop) stop();
  if (effects.no_streaming && options_.server) options_.server->no_streaming.store(true);
  if (effects.begin) sink_.begin();
  if (effects.list) ask_list(*effects.list);
  if (effects.next_page) ask_page();
  if (effects.watch) ask_watch(*effects.watch);
  if (effects.wait)
    scope_.after(*effects.wait, [this, turn = turn_] {
      if (turn == turn_) perform(tell(ListWatch::Wake{}));
    });
}

kube::ApiRequest Feed::request(Verb verb) const {
  kube::ApiRequest request;
  request.verb = verb;
  request.kind = options_.kind;
  request.ns = options_.ns;
  request.options.label_selector = options_.label_selector;
  request.options.field_selector = options_.field_selector;
  return request;
}

void Feed::ask_list(const ListWatch::ListRequest& list) {
  list_ = list;
  continue_.clear();
  ask_page();
}

void Feed::ask_page() {
  kube::ApiRequest page = request(Verb::kList);
  if (list_.paged) page.options.limit = options_.page;
  page.options.continue_token = continue_;
  if (continue_.empty() && list_.not_older_than) {
    page.options.resource_version = std::to_string(*list_.not_older_than);
    page.options.version_match = kube::VersionMatch::kNotOlderThan;
  }
  ++stats_.requests;
  transport_.call(
      std::move(page), scope_.executor().clock().now() + options_.call_limit,
      scope_.done<kube::ApiReply>(options_.call_limit + 1s, [this, turn = turn_](auto reply) {
        if (turn != turn_) return;
        if (!reply) return fail_with(reply.error());
        if (auto* items = std::get_if<kube::ObjectList>(&reply->body))
          return on_page(std::move(*items));
        fail_with({.reason = Reason::kInternalError, .message = "a list was asked for"});
      }));
}

void Feed::on_page(kube::ObjectList page) {
  const bool last = page.continue_token.empty();
  const ListWatch::Effects effects = tell(ListWatch::Page{.revision = page.revision, .last = last});
  continue_ = std::move(page.continue_token);
  for (const kube::Object& item : page.items) {
    if (scope_.closing()) return;
    sink_.put(trimmed(item), 0, effects.rewound);
  }
  perform(effects);
}

void Feed::ask_watch(const ListWatch::WatchRequest& watch) {
  kube::ApiRequest open = request(Verb::kWatch);
  open.options.bookmarks = true;
  open.options.timeout_seconds = watch.timeout_seconds;
  if (watch.initial_events) {
    open.options.send_initial_events = true;
    open.options.resource_version = "";
    open.options.version_match = kube::VersionMatch::kNotOlderThan;
  } else {
    open.options.resource_version = std::to_string(watch.from);
  }
  ++stats_.requests;
  if (watches_++ > 0) count(stats_.watch_restarts, watch_restarts_);
  stop();
  transport_.call(
      std::move(open), scope_.executor().clock().now() + options_.call_limit,
      scope_.done<kube::ApiReply>(options_.call_limit + 1s, [this, turn = turn_](auto reply) {
        if (turn != turn_) return;
        if (!reply) return fail_with(reply.error());
        auto* stream = std::get_if<std::unique_ptr<kube::WatchStream>>(&reply->body);
        if (stream == nullptr || *stream == nullptr)
          return fail_with({.reason = Reason::kInternalError, .message = "a watch was asked for"});
        stream_ = std::move(*stream);
        withheld_ = false;
        perform(tell(ListWatch::Opened{}));
        arm_quiet();
        read();
      }));
}

void Feed::read() {
  stream_->read(scope_.done<kube::WatchStream::Batch>(kNoLimit, [this, turn = turn_](auto batch) {
    if (turn != turn_) return;
    if (!batch) return fail_with(batch.error());
    on_batch(*batch);
  }));
}

void Feed::on_batch(const kube::WatchStream::Batch& batch) {
  const std::uint64_t turn = turn_;
  for (const kube::WatchEvent& event : batch.events) {
    on_event(event);
    if (turn != turn_ || scope_.closing()) return;  // the rest is of a watch already given up
  }
  if (batch.end) return perform(tell(ListWatch::Ended{}));
  read();
}

void Feed::on_event(const kube::WatchEvent& event) {
  using Type = kube::WatchEvent::Type;
  ListWatch::Event input{.type = event.type,
                         .revision = event.revision,
                         .initial_events_end = event.initial_events_end};
  if (event.type == Type::kError) {
    const Error error = event.error.value_or(Error{Reason::kInternalError, "an ERROR event"});
    input.failure = failure_of(error);
    input.retry_after = error.retry_after;
  }
  const bool watching = machine_.state() == ListWatch::State::kWatching;
  const kube::Revision floor = watching ? machine_.seen() : 0;
  const ListWatch::Effects effects = tell(input);
  if (effects.apply) {
    kube::Object object = trimmed(event.object);
    const bool fresh = event.type == Type::kDeleted ? sink_.erase(std::move(object))
                                                    : sink_.put(std::move(object), floor, false);
    if (!fresh) count(stats_.stale, stale_);
  }
  if (watching && !effects.ignored) sink_.advanced();
  perform(effects);
}

void Feed::fail_with(const Error& error) {
  const bool withheld = error.reason == Reason::kNotFound || error.reason == Reason::kForbidden;
  if (withheld && !std::exchange(withheld_, true)) sink_.withheld_now();
  perform(tell(ListWatch::Failed{.failure = failure_of(error), .retry_after = error.retry_after}));
}

// One lazy timer: it is not moved with every event, but looks at the deadline when it fires.
void Feed::arm_quiet() {
  scope_.cancel(quiet_timer_);
  const std::optional<Instant> deadline = machine_.quiet_deadline();
  if (!deadline) return;
  const Duration left = *deadline - scope_.executor().clock().now();
  quiet_timer_ = scope_.after(
      left,
      [this] {
        quiet_timer_ = TimerId::kNone;
        const ListWatch::Effects effects = tell(ListWatch::Quiet{});
        if (effects.ignored) return arm_quiet();
        perform(effects);
      },
      Timer::kBackground);
}

kube::Object Feed::trimmed(const kube::Object& object) const {
  return options_.managed_fields ? object : object.without_managed_fields();
}

}  // namespace berth::client
