// SPDX-License-Identifier: Apache-2.0
#include "client/event_recorder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/api.h"
#include "kube/time.h"

namespace berth::client {

namespace {

constexpr std::size_t kNoteBytes = 1024;
constexpr std::size_t kNameBytes = 253;

// Cuts between characters, never within one.
std::string cut(std::string text) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= kNoteBytes) return text;
  std::size_t end = kNoteBytes - kMore.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text.append(kMore);
}

bool good_name(std::string_view name) {
  return name.size() <= kNameBytes && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

void write_ref(json::Writer& w, const ObjectRef& ref, const std::string& revision) {
  w.object();
  const auto field = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) w.member(name).string(value);
  };
  field("kind", ref.kind);
  field("namespace", ref.ns);
  field("name", ref.name);
  field("uid", ref.uid);
  field("apiVersion", ref.api_version);
  field("resourceVersion", revision);
  w.end();
}

void write_series(json::Writer& w, std::int64_t count, WallTime last) {
  w.member("series").object().member("count").integer(count);
  w.member("lastObservedTime").string(kube::micro_time_text(last)).end();
}

std::string namespace_of(const ObjectRef& regarding) {
  return regarding.ns.empty() ? "default" : regarding.ns;
}

}  // namespace

ObjectRef ref_of(const kube::Object& object) {
  const kube::Kind& kind = kube::kind_of(object.kind());
  return {.api_version = kind.api_version(),
          .kind = kind.kind,
          .ns = std::string(object.ns()),
          .name = std::string(object.name()),
          .uid = std::string(object.uid()),
          .revision = object.revision() == 0 ? "" : std::to_string(object.revision())};
}

EventRecorder::EventRecorder(Scope& parent, Api& api, Random random, EventRecorderOptions options)
    : scope_(parent.child("events")), api_(api), random_(random), options_(std::move(options)) {
  if (options_.metrics != nullptr)
    outcomes_ = options_.metrics->counters(
        "berth_events_total", "Events told to the recorder, by what became of them.", {"outcome"});
  scope_.on_close([this] { flush(); });
}

void EventRecorder::tally(std::uint64_t EventStats::*outcome, std::uint64_t by) {
  stats_.*outcome += by;
  if (!outcomes_) return;
  const std::string_view name = outcome == &EventStats::written      ? "written"
                                : outcome == &EventStats::aggregated ? "aggregated"
                                : outcome == &EventStats::spam       ? "spam"
                                                                     : "dropped";
  outcomes_->with({name}).add(static_cast<double>(by));
}

void EventRecorder::event(const ObjectRef& regarding, EventNote note, const ObjectRef* related) {
  if (closing_) {
    tally(&EventStats::dropped);
    return;
  }
  note.note = cut(std::move(note.note));
  Key key{regarding, related != nullptr ? *related : ObjectRef{}, std::move(note)};
  // Where it happened at another revision, it is still the same thing happening.
  key.regarding.revision.clear();
  key.related.revision.clear();
  if (!admit(key.regarding)) {
    tally(&EventStats::spam);
    return;
  }
  const WallTime wall = scope_.executor().clock().wall();
  auto at = all_.find(key);
  if (at != all_.end() && at->second.work == Work::kNone &&
      now() - at->second.seen >= options_.series_end) {
    recent_.erase(at->second.recent);
    all_.erase(at);
    at = all_.end();
  }
  if (at != all_.end()) {
    Series& series = at->second;
    ++series.count;
    tally(&EventStats::aggregated);
    series.last = wall;
    series.seen = now();
    recent_.splice(recent_.end(), recent_, series.recent);
    if (series.work == Work::kNone) due(at);
    return;
  }
  if (pending_ >= options_.pending || !room()) {
    tally(&EventStats::dropped);
    return;
  }
  at = all_.emplace(std::move(key), Series{}).first;
  Series& series = at->second;
  series.name = new_name(regarding.name);
  series.revision = regarding.revision;
  series.first = series.last = wall;
  series.seen = now();
  series.recent = recent_.insert(recent_.end(), &at->first);
  ++pending_;
  queue(at);
}

// A bucket of tokens for each object; a full one is the same as none.
bool EventRecorder::admit(const ObjectRef& regarding) {
  const auto [at, fresh] = buckets_.try_emplace(regarding);
  Bucket& bucket = at->second;
  if (fresh) {
    bucket.tokens = options_.burst;
    bucket.recent = recent_objects_.insert(recent_objects_.end(), &at->first);
    if (buckets_.size() > options_.remembered) {
      const auto oldest = buckets_.find(*recent_objects_.front());
      recent_objects_.pop_front();
      buckets_.erase(oldest);
    }
  } else {
    recent_objects_.splice(recent_objects_.end(), recent_objects_, bucket.recent);
    const std::chrono::duration<double> passed = now() - bucket.filled;
    const std::chrono::duration<double> period = options_.refill;
    bucket.tokens = std::min(options_.burst, bucket.tokens + passed / period);
  }
  bucket.filled = now();
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

bool EventRecorder::room() {
  if (all_.size() < options_.remembered) return true;
  const auto idle = std::find_if(recent_.begin(), recent_.end(), [&](const Key* key) {
    return all_.find(*key)->second.work == Work::kNone;
  });
  if (idle == recent_.end()) return false;
  all_.erase(all_.find(**idle));
  recent_.erase(idle);
  return true;
}

// k8s 1.36: "<object>.<nanoseconds in hex>"; an object whose own name does not fit gives a UUID.
std::string EventRecorder::new_name(const std::string& object) {
  last_stamp_ = std::max(last_stamp_ + 1, scope_.executor().clock().wall().unix_nanos);
  std::string name = fmt::format("{}.{:x}", object, last_stamp_);
  if (good_name(name)) return name;
  const std::uint64_t a = random_.next(), b = random_.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffff'ffff'ffff);
}

void EventRecorder::due(All::iterator at) {
  at->second.work = Work::kDue;
  ++pending_;
  due_.emplace_back(now() + options_.series_interval, at);
  if (due_.size() == 1) arm();
}

void EventRecorder::arm() {
  scope_.after(due_.front().first - now(), [this] {
    while (!due_.empty() && due_.front().first <= now()) {
      const All::iterator at = due_.front().second;
      due_.pop_front();
      queue(at);
    }
    if (!due_.empty()) arm();
  });
}

void EventRecorder::queue(All::iterator at) {
  at->second.work = Work::kQueued;
  at->second.tries = 0;
  queue_.push_back(at);
  send_more();
}

void EventRecorder::send_more() {
  while (sending_ < options_.in_flight && !queue_.empty()) {
    const All::iterator at = queue_.front();
    queue_.pop_front();
    ++sending_;
    at->second.work = Work::kSending;
    send(at);
  }
}

void EventRecorder::send(All::iterator at) {
  const auto& [key, series] = *at;
  const bool create = series.written == 0;
  kube::ApiRequest request;
  request.kind = kube::kEvent;
  request.ns = namespace_of(key.regarding);
  request.name = create ? "" : series.name;
  request.verb = create ? kube::Verb::kCreate : kube::Verb::kPatch;
  if (create) {
    request.body.bytes = std::make_shared<const std::string>(document(key, series));
  } else {
    request.options.patch_type = kube::PatchType::kStrategic;
    json::Writer w;
    w.object();
    write_series(w, series.count, series.last);
    w.end();
    request.body.bytes = std::make_shared<const std::string>(w.take());
    request.body.media_type = "application/strategic-merge-patch+json";
  }
  ++at->second.tries;
  api_.call(
      std::move(request), Urgency::kEvent,
      scope_.done<kube::ApiReply>(kNoLimit, [this, at, count = series.count, create](auto reply) {
        on_reply(at, count, create, std::move(reply));
      }));
}

void EventRecorder::on_reply(All::iterator at, std::int64_t count, bool created,
                             Result<kube::ApiReply> reply) {
  Series& series = at->second;
  const Reason reason = reply ? Reason::kUnknown : reply.error().reason;
  // Ours alone by its name: it exists because an earlier reply was lost.
  if (reply || (created && reason == Reason::kAlreadyExists)) {
    if (reply) tally(&EventStats::written);
    series.written = reply ? count : 1;
    return settle(at, true);
  }
  const Error& error = reply.error();
  const bool gone = !created && reason == Reason::kNotFound;  // its time to live was over
  const bool passing = gone || error.code >= 500 || error.retry_after.has_value() ||
                       reason == Reason::kUnreachable || reason == Reason::kTimeout ||
                       reason == Reason::kTooManyRequests || reason == Reason::kConflict;
  if (!passing || series.tries >= options_.attempts || closing_) return settle(at, false);
  if (gone) {
    series.written = 0;
    series.name = new_name(at->first.regarding.name);
    return send(at);
  }
  const double stretch = 1 + 0.25 * random_.unit();
  const Duration wait(
      static_cast<std::int64_t>(static_cast<double>(options_.retry.count()) * stretch));
  ++retrying_;
  scope_.after(std::max(wait, error.retry_after.value_or(Duration{})), [this, at] {
    --retrying_;
    send(at);
  });
}

void EventRecorder::settle(All::iterator at, bool ok) {
  Series& series = at->second;
  --sending_;
  --pending_;
  series.work = Work::kNone;
  if (!ok) {
    tally(&EventStats::dropped);
    recent_.erase(series.recent);
    all_.erase(at);
  } else if (series.count > series.written) {
    if (closing_) {
      ++pending_;
      queue(at);
    } else {
      due(at);
    }
  }
  send_more();
}

// Closing: series that wait are written now; what waits to be tried again is lost.
void EventRecorder::flush() {
  closing_ = true;
  tally(&EventStats::dropped, std::exchange(retrying_, 0));
  for (auto& [when, at] : std::exchange(due_, {})) queue(at);
}

std::string EventRecorder::document(const Key& key, const Series& series) const {
  json::Writer w;
  w.object().member("apiVersion").string("events.k8s.io/v1").member("kind").string("Event");
  w.member("metadata").object().member("name").string(series.name);
  w.member("namespace").string(namespace_of(key.regarding));
  if (!key.note.annotations.empty()) {
    w.member("annotations").object();
    for (const auto& [name, value] : key.note.annotations) w.member(name).string(value);
    w.end();
  }
  w.end();
  w.member("eventTime").string(kube::micro_time_text(series.first));
  if (series.count > 1) write_series(w, series.count, series.last);
  w.member("reportingController").string(options_.controller);
  w.member("reportingInstance").string(options_.instance);
  w.member("action").string(key.note.action);
  w.member("reason").string(key.note.reason);
  w.member("regarding");
  write_ref(w, key.regarding, series.revision);
  if (key.related != ObjectRef{}) {
    w.member("related");
    write_ref(w, key.related, "");
  }
  w.member("note").string(key.note.note);
  w.member("type").string(key.note.type == EventType::kNormal ? "Normal" : "Warning");
  w.end();
  return w.take();
}

}  // namespace berth::client
