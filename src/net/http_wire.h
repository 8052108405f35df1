// SPDX-License-Identifier: Apache-2.0
// A client's connection while it changes hands: from the pool to an exchange, to a streamed body,
// and back.
#pragma once

#include <memory>
#include <utility>

#include "net/stream.h"

namespace berth::net {

// Loop-confined. Whoever holds it may replace the handlers of operations that are under way; a
// handler may destroy the wire.
class Wire {
 public:
  explicit Wire(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Takes over a read that somebody else began.
  void read(Fn<void(Stream::Bytes)> handler) {
    on_read_ = std::move(handler);
    if (std::exchange(reading_, true)) return;
    stream_->read([this](Stream::Bytes bytes) {
      reading_ = false;
      auto report = std::move(on_read_);
      if (report) report(std::move(bytes));
    });
  }

  void write(std::vector<std::string_view> pieces, std::shared_ptr<const void> keep,
             Fn<void(Result<Ok>)> handler) {
    on_written_ = std::move(handler);
    writing_ = true;
    stream_->write(std::move(pieces), std::move(keep), [this](Result<Ok> result) {
      writing_ = !result;  // what was cut off stays cut off
      auto report = std::move(on_written_);
      if (report) report(std::move(result));
    });
  }

  void forget_handlers() {
    on_read_ = nullptr;
    on_written_ = nullptr;
  }

  bool writing() const { return writing_; }
  bool reused = false;

 private:
  std::unique_ptr<Stream> stream_;
  Fn<void(Stream::Bytes)> on_read_;
  Fn<void(Result<Ok>)> on_written_;
  bool reading_ = false;
  bool writing_ = false;
};

// Where wires rest between requests. Loop-confined. Held by shared_ptr, so that a body that is
// still being read can find out that its client is gone.
class WirePool : public std::enable_shared_from_this<WirePool> {
 public:
  WirePool(Executor& loop, std::size_t size, Duration idle_timeout)
      : loop_(loop), size_(size), idle_timeout_(idle_timeout) {}
  ~WirePool() { clear(); }

  std::unique_ptr<Wire> take();  // the one used last; null when there is none
  void put(std::unique_ptr<Wire>);
  void clear();

 private:
  struct Resting {
    std::unique_ptr<Wire> wire;
    TimerId expiry;
  };
  void drop(const Wire*);

  Executor& loop_;
  std::size_t size_;
  Duration idle_timeout_;
  std::vector<Resting> resting_;
};

}  // namespace berth::net
