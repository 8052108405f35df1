// SPDX-License-Identifier: Apache-2.0
// Where the time goes: nested spans with wall and CPU time, kept in a bounded buffer and exported
// for chrome://tracing and Perfetto. Off, a span is one branch on a pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth {

class Tracer;

// CPU time of the calling thread so far. Virtual runs pass a function of their own.
using CpuTime = Duration (*)();
Duration thread_cpu_time();

// One line of the picture: what a loop does, one thing inside another. Loop-confined.
class Track {
 private:
  friend class Span;
  friend class Tracer;
  Track(Tracer& tracer, int id) : tracer_(tracer), id_(id) {}
  Tracer& tracer_;
  int id_;
  int depth_ = 0;
};

// From its making to its end. With a null track nothing happens.
class Span {
 public:
  // `name` outlives the tracer: a literal. The first bytes of `detail` are kept.
  Span(Track* track, const char* name, std::string_view detail = {}) : track_(track) {
    if (track_ != nullptr) [[unlikely]]
      begin(name, detail);
  }
  ~Span() {
    if (track_ != nullptr) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  friend class Tracer;
  static constexpr std::size_t kDetail = 48;

  void begin(const char* name, std::string_view detail);
  void end();

  Track* track_;
  // Left alone when off.
  const char* name_;
  Instant start_;
  Duration cpu_;
  std::uint8_t detail_size_;
  char detail_[kDetail];
};

// Thread-safe. Keeps the newest `capacity` spans.
class Tracer {
 public:
  Tracer(const Clock& clock, std::size_t capacity, CpuTime cpu_time = thread_cpu_time);
  ~Tracer();

  Track* track(std::string_view name);  // valid as long as the tracer; the same for the same name
  std::uint64_t dropped() const;        // spans that made room for newer ones
  std::string chrome_json() const;      // in order of time, the outer span first

 private:
  friend class Span;
  struct Impl;
  void record(const Span&, int depth);
  const Clock& clock_;
  const CpuTime cpu_time_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
