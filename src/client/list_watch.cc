// SPDX-License-Identifier: Apache-2.0
#include "client/list_watch.h"

#include <algorithm>
#include <string_view>

namespace berth::client {

namespace {
using Type = kube::WatchEvent::Type;

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

constexpr unsigned kStreamAttempts = 3;      // then list, without blaming the server for it
constexpr unsigned kRefusedAttempts = 5;     // then the revision itself may be what is refused
constexpr std::int64_t kWatchSeconds = 300;  // to twice as many

// k8s 1.36: the storage layer answers 504 Timeout with this cause; older servers only with the
// text.
bool too_large(const Error& e) {
  for (const Cause& cause : e.causes)
    if (cause.reason == "ResourceVersionTooLarge") return true;
  return e.message.find("Too large resource version") != std::string::npos;
}
}  // namespace

Failure failure_of(const Error& e) {
  if (e.reason == Reason::kGone || e.reason == Reason::kExpired || e.code == 410)
    return Failure::kGone;
  if (too_large(e)) return Failure::kTooLarge;
  switch (e.reason) {
    case Reason::kTooManyRequests:
      return Failure::kThrottled;
    case Reason::kUnauthorized:
    case Reason::kForbidden:
      return Failure::kDenied;
    case Reason::kUnreachable:
    case Reason::kUntrusted:
    case Reason::kCancelled:
      return Failure::kUnreachable;
    case Reason::kTimeout:
    case Reason::kServerTimeout:
      return e.code == 0 ? Failure::kUnreachable : Failure::kServer;
    default:
      break;
  }
  const int code = e.code != 0 ? e.code : http_code_of(e.reason);
  if (code == 429) return Failure::kThrottled;
  if (code == 401 || code == 403) return Failure::kDenied;
  return code >= 400 && code < 500 ? Failure::kRefused : Failure::kServer;
}

ListWatch::Effects ListWatch::on(const Input& input) {
  const Instant now = input.now;
  return std::visit(
      Overload{[&](const Start&) { return on_start(); },
               [&](const Opened&) { return on_opened(now); },
               [&](const Page& page) { return on_page(page); },
               [&](const Event& event) { return on_event(now, event); },
               [&](const Ended&) { return on_ended(now); },
               [&](const Failed& failed) { return on_failed(now, failed); },
               [&](const Wake&) { return on_wake(); }, [&](const Quiet&) { return on_quiet(now); }},
      input.what);
}

ListWatch::Effects ListWatch::on_start() {
  if (state_ != State::kIdle) return {.ignored = true};
  return set_.stream ? stream() : list(Snapshot::kConsistent);
}

ListWatch::Effects ListWatch::on_opened(Instant now) {
  if (state_ != State::kStreaming && state_ != State::kWatching) return {.ignored = true};
  opened_ = now;
  refusals_ = 0;
  progress(now);
  return {};
}

ListWatch::Effects ListWatch::on_page(const Page& page) {
  if (state_ != State::kListing) return {.ignored = true};
  Effects out{.rewound = page.revision < highest_, .apply = true};
  highest_ = std::max(highest_, page.revision);
  if (!page.last) {
    out.next_page = true;
    return out;
  }
  last_ = highest_ = page.revision;
  out.commit = true;
  out.watch = watch().watch;
  return out;
}

ListWatch::Effects ListWatch::on_event(Instant now, const Event& event) {
  if (state_ != State::kStreaming && state_ != State::kWatching) return {.ignored = true};
  if (event.type == Type::kBookmark) return on_bookmark(now, event);
  if (event.type == Type::kError)
    return on_failed(now, {.failure = event.failure, .retry_after = event.retry_after});
  progress(now);
  silences_ = 0;
  highest_ = std::max(highest_, event.revision);
  if (state_ == State::kWatching) last_ = std::max(last_, event.revision);
  return {.apply = true};
}

ListWatch::Effects ListWatch::on_bookmark(Instant now, const Event& event) {
  progress(now);
  silences_ = 0;
  bookmarks_ = true;
  if (state_ == State::kWatching) {
    last_ = std::max(last_, event.revision);
    return {};
  }
  // A server that knows WatchList sends no other bookmark before the annotated one.
  if (!event.initial_events_end) return give_up_streaming();
  // Only a list says its revision before its items, and so can replace what is newer.
  if (event.revision < highest_) return list(Snapshot::kConsistent);
  state_ = State::kWatching;
  last_ = highest_ = event.revision;
  stream_failures_ = 0;
  progress(now);
  return {.commit = true};
}

ListWatch::Effects ListWatch::on_ended(Instant now) {
  if (state_ == State::kStreaming) return give_up_streaming();
  if (state_ != State::kWatching) return {.ignored = true};
  if (opened_ && now - *opened_ >= set_.short_watch) return watch();
  return wait(now, State::kWatching, {});
}

ListWatch::Effects ListWatch::on_failed(Instant now, const Failed& failed) {
  switch (state_) {
    case State::kStreaming:
      return streaming_failed(now, failed);
    case State::kListing:
      return listing_failed(now, failed);
    case State::kWatching:
      return watching_failed(now, failed);
    case State::kIdle:
    case State::kWaiting:
      break;
  }
  return {.ignored = true};
}

ListWatch::Effects ListWatch::streaming_failed(Instant now, const Failed& failed) {
  switch (failed.failure) {
    case Failure::kRefused:
      return give_up_streaming();
    case Failure::kDenied:  // perhaps only watching is denied
    case Failure::kGone:
    case Failure::kTooLarge:
      return list(Snapshot::kConsistent);
    case Failure::kThrottled:
    case Failure::kServer:
    case Failure::kUnreachable:
      break;
  }
  const bool again = ++stream_failures_ < kStreamAttempts;
  if (!again) stream_failures_ = 0;
  return wait(now, again ? State::kStreaming : State::kListing, failed.retry_after);
}

ListWatch::Effects ListWatch::listing_failed(Instant now, const Failed& failed) {
  const Snapshot tried = snapshot_;
  if (failed.failure == Failure::kGone && tried != Snapshot::kUnpaged)
    return list(tried == Snapshot::kSinceLast ? Snapshot::kConsistent : Snapshot::kUnpaged);
  if (failed.failure == Failure::kTooLarge && tried == Snapshot::kSinceLast)
    return list(Snapshot::kConsistent);
  if (tried == Snapshot::kUnpaged) snapshot_ = Snapshot::kConsistent;
  return wait(now, State::kListing, failed.retry_after);
}

ListWatch::Effects ListWatch::watching_failed(Instant now, const Failed& failed) {
  if (failed.failure == Failure::kGone) return list(Snapshot::kSinceLast);
  if (failed.failure == Failure::kTooLarge) return list(Snapshot::kConsistent);
  if (failed.failure == Failure::kRefused && ++refusals_ >= kRefusedAttempts) {
    refusals_ = 0;
    snapshot_ = Snapshot::kConsistent;
    return wait(now, State::kListing, failed.retry_after);
  }
  return wait(now, State::kWatching, failed.retry_after);
}

ListWatch::Effects ListWatch::on_wake() {
  if (state_ != State::kWaiting) return {.ignored = true};
  switch (next_) {
    case State::kStreaming:
      return stream();
    case State::kListing:
      return list(snapshot_);
    default:
      return watch();
  }
}

ListWatch::Effects ListWatch::on_quiet(Instant now) {
  if (!quiet_ || now < *quiet_) return {.ignored = true};
  if (state_ == State::kStreaming) return give_up_streaming();
  // A restored server accepts a watch from a revision it has not reached and then says nothing; a
  // list tells. One without bookmarks is merely quiet.
  if (++silences_ >= 2 && bookmarks_) {
    silences_ = 0;
    return list(Snapshot::kSinceLast);
  }
  return wait(now, State::kWatching, {});
}

ListWatch::Effects ListWatch::stream() {
  state_ = State::kStreaming;
  opened_ = quiet_ = std::nullopt;
  const auto seconds = kWatchSeconds + static_cast<std::int64_t>(random_.below(kWatchSeconds + 1));
  return {.drop = true,
          .begin = true,
          .watch = WatchRequest{.initial_events = true, .timeout_seconds = seconds}};
}

ListWatch::Effects ListWatch::list(Snapshot snapshot) {
  state_ = State::kListing;
  snapshot_ = last_ == 0 && snapshot == Snapshot::kSinceLast ? Snapshot::kConsistent : snapshot;
  opened_ = quiet_ = std::nullopt;
  ListRequest request{.paged = snapshot_ != Snapshot::kUnpaged};
  if (snapshot_ == Snapshot::kSinceLast) request.not_older_than = last_;
  return {.drop = true, .begin = true, .list = request};
}

ListWatch::Effects ListWatch::watch() {
  state_ = State::kWatching;
  opened_ = quiet_ = std::nullopt;
  const auto seconds = kWatchSeconds + static_cast<std::int64_t>(random_.below(kWatchSeconds + 1));
  return {.drop = true, .watch = WatchRequest{.from = last_, .timeout_seconds = seconds}};
}

// Waits lie between first_wait and most_wait: each drawn from [base, 2 * base), base doubling.
ListWatch::Effects ListWatch::wait(Instant now, State next, std::optional<Duration> at_least) {
  state_ = State::kWaiting;
  next_ = next;
  opened_ = quiet_ = std::nullopt;
  if (!last_failure_ || now - *last_failure_ > set_.forget_failures) next_wait_ = set_.first_wait;
  const Duration base = std::min(next_wait_, set_.most_wait / 2);
  next_wait_ = base * 2;
  const Duration drawn =
      base +
      Duration(static_cast<std::int64_t>(static_cast<double>(base.count()) * random_.unit()));
  const Duration chosen = std::max(drawn, at_least.value_or(Duration{}));
  last_failure_ = now + chosen;
  return {.drop = true, .wait = chosen};
}

ListWatch::Effects ListWatch::give_up_streaming() {
  set_.stream = false;
  Effects out = list(Snapshot::kConsistent);
  out.no_streaming = true;
  return out;
}

void ListWatch::progress(Instant now) {
  quiet_ = now + (state_ == State::kStreaming ? set_.stream_progress : 2 * set_.bookmark_interval);
}

}  // namespace berth::client
