// SPDX-License-Identifier: Apache-2.0
#include "net/http_body.h"

#include <fmt/format.h>

namespace berth::net {
namespace {

// Enough for one delivery; a reader that wants more asks again.
constexpr std::size_t kEnough = 256 << 10;

// Loop-confined.
class BodyReader {
 public:
  BodyReader(std::unique_ptr<Wire> wire, std::unique_ptr<ResponseDecoder> decoder,
             std::string_view rest, bool complete, std::weak_ptr<WirePool> pool, std::string peer)
      : wire_(std::move(wire)),
        decoder_(std::move(decoder)),
        rest_(rest),
        pool_(std::move(pool)),
        peer_(std::move(peer)) {
    if (complete) finish(true);
  }

  void read(Done<HttpStream::Chunk> taken) {
    waiting_ = std::move(taken);
    advance();
  }

  void close() {
    wire_.reset();
    waiting_ = {};
  }

 private:
  void advance() {
    std::string out;
    while (!ended_ && !failed_ && !rest_.empty() && out.size() < kEnough) {
      const auto step = decoder_->step(rest_, out);
      if (!step)
        fail_with(broken_reply(peer_, step.error().message));
      else if (*step == ResponseDecoder::Step::kEnd)
        finish(true);
    }
    // What came before a failure is still good.
    if (!out.empty() || ended_) return waiting_(HttpStream::Chunk{std::move(out), ended_});
    if (failed_) return waiting_(tl::unexpected(*failed_));
    wire_->read([this](Stream::Bytes bytes) { on_bytes(std::move(bytes)); });
  }

  void on_bytes(Stream::Bytes bytes) {
    if (!bytes) {
      fail_with(broken_reply(peer_, bytes.error().message));
    } else if (bytes->empty()) {
      const auto step = decoder_->end_of_input();
      if (!step)
        fail_with(broken_reply(peer_, step.error().message));
      else
        finish(false);
    } else {
      rest_ = *bytes;
    }
    advance();
  }

  void finish(bool wire_is_open) {
    ended_ = true;
    const auto pool = pool_.lock();
    if (pool && wire_is_open && decoder_->head().keep_alive && rest_.empty() && !wire_->writing())
      pool->put(std::move(wire_));
    let_go();
  }

  void fail_with(Error error) {
    failed_ = std::move(error);
    let_go();
  }

  void let_go() {
    rest_ = {};  // it points into the wire
    wire_.reset();
  }

  std::unique_ptr<Wire> wire_;
  std::unique_ptr<ResponseDecoder> decoder_;
  std::string_view rest_;
  std::weak_ptr<WirePool> pool_;
  std::string peer_;
  bool ended_ = false;
  std::optional<Error> failed_;
  Done<HttpStream::Chunk> waiting_;
};

class PulledStream final : public HttpStream {
 public:
  PulledStream(Executor& loop, int status, Headers headers, std::shared_ptr<BodyReader> reader)
      : loop_(loop), status_(status), headers_(std::move(headers)), reader_(std::move(reader)) {}
  ~PulledStream() override {
    loop_.post([reader = std::move(reader_)] { reader->close(); });
  }

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }
  void read(Done<Chunk> taken) override {
    loop_.post(
        [reader = reader_, taken = std::move(taken)]() mutable { reader->read(std::move(taken)); });
  }

 private:
  Executor& loop_;
  int status_;
  Headers headers_;
  std::shared_ptr<BodyReader> reader_;
};

}  // namespace

std::unique_ptr<HttpStream> make_stream(Executor& loop, std::unique_ptr<Wire> wire,
                                        std::unique_ptr<ResponseDecoder> decoder,
                                        std::string_view rest, bool complete,
                                        std::weak_ptr<WirePool> pool, std::string peer) {
  const int status = decoder->head().status;
  Headers headers = std::move(decoder->head().headers);
  return std::make_unique<PulledStream>(
      loop, status, std::move(headers),
      std::make_shared<BodyReader>(std::move(wire), std::move(decoder), rest, complete,
                                   std::move(pool), std::move(peer)));
}

Error broken_reply(std::string_view peer, std::string_view why) {
  return Error{.reason = Reason::kUnreachable,
               .message = fmt::format("the reply of {} is unusable: {}", peer, why),
               .outcome = Outcome::kUnknown};
}

}  // namespace berth::net
