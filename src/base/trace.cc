// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/escape.h"

namespace berth {
namespace {

struct Recorded {
  const char* name = nullptr;
  Instant start;
  Duration wall{};
  Duration cpu_start{};
  Duration cpu{};
  int track = 0;
  int depth = 0;
  std::uint8_t detail_size = 0;
  char detail[48];
};

std::string micros(Duration d) {
  return fmt::format("{}.{:03}", d.count() / 1000, d.count() % 1000);
}

}  // namespace

struct Tracer::Impl {
  mutable std::mutex mutex;
  std::vector<Recorded> ring;  // room for all from the start: recording never allocates
  std::uint64_t recorded = 0;
  std::vector<std::pair<std::string, std::unique_ptr<Track>>> tracks;
};

void Span::begin(const char* name, std::string_view detail) {
  name_ = name;
  std::size_t size = std::min(detail.size(), kDetail);
  if (size < detail.size())  // not in the middle of a character
    while (size > 0 && (static_cast<unsigned char>(detail[size]) & 0xc0) == 0x80) --size;
  detail_size_ = static_cast<std::uint8_t>(size);
  if (size > 0) std::memcpy(detail_, detail.data(), size);
  ++track_->depth_;
  start_ = track_->tracer_.clock_.now();
  cpu_ = track_->tracer_.cpu_time_();  // last: our own work above is not the span's
}

void Span::end() {
  --track_->depth_;
  track_->tracer_.record(*this, track_->depth_);
}

Tracer::Tracer(const Clock& clock, std::size_t capacity, CpuTime cpu_time)
    : clock_(clock), cpu_time_(cpu_time), impl_(std::make_unique<Impl>()) {
  BERTH_CHECK(capacity > 0);
  impl_->ring.resize(capacity);
}

Tracer::~Tracer() = default;

Track* Tracer::track(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [known, track] : impl_->tracks)
    if (known == name) return track.get();
  const int id = static_cast<int>(impl_->tracks.size()) + 1;
  impl_->tracks.emplace_back(name, std::unique_ptr<Track>(new Track(*this, id)));
  return impl_->tracks.back().second.get();
}

void Tracer::record(const Span& span, int depth) {
  Recorded done{.name = span.name_,
                .start = span.start_,
                .wall = {},
                .cpu_start = span.cpu_,
                .cpu = cpu_time_() - span.cpu_,
                .track = span.track_->id_,
                .depth = depth,
                .detail_size = span.detail_size_,
                .detail = {}};
  done.wall = clock_.now() - span.start_;
  static_assert(sizeof done.detail == Span::kDetail);
  std::memcpy(done.detail, span.detail_, span.detail_size_);
  const std::lock_guard lock(impl_->mutex);
  impl_->ring[impl_->recorded++ % impl_->ring.size()] = done;
}

std::uint64_t Tracer::dropped() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->recorded - std::min<std::uint64_t>(impl_->recorded, impl_->ring.size());
}

std::string Tracer::chrome_json() const {
  std::vector<Recorded> spans;
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const auto separate = [&out] {
    if (out.back() == '}') out += ',';
    out += '\n';
  };
  {
    const std::lock_guard lock(impl_->mutex);
    const std::size_t kept = std::min<std::uint64_t>(impl_->recorded, impl_->ring.size());
    spans.assign(impl_->ring.begin(), impl_->ring.begin() + static_cast<std::ptrdiff_t>(kept));
    for (const auto& [name, track] : impl_->tracks) {
      separate();
      fmt::format_to(std::back_inserter(out),
                     R"({{"ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":")",
                     track->id_);
      append_escaped(out, name, Quotes::kEscape);
      out += "\"}}";
    }
  }
  // Viewers nest spans that start together in the order in which they stand here.
  std::stable_sort(spans.begin(), spans.end(), [](const Recorded& a, const Recorded& b) {
    return std::tie(a.start, a.track, a.depth) < std::tie(b.start, b.track, b.depth);
  });
  for (const Recorded& span : spans) {
    separate();
    out += R"({"ph":"X","name":")";
    append_escaped(out, span.name, Quotes::kEscape);
    fmt::format_to(std::back_inserter(out),
                   R"(","pid":1,"tid":{},"ts":{},"dur":{},"tts":{},"tdur":{})", span.track,
                   micros(span.start.since_start), micros(span.wall), micros(span.cpu_start),
                   micros(span.cpu));
    if (span.detail_size > 0) {
      out += R"(,"args":{"detail":")";
      append_escaped(out, {span.detail, span.detail_size}, Quotes::kEscape);
      out += "\"}";
    }
    out += '}';
  }
  out += "\n]}\n";
  return out;
}

}  // namespace berth
