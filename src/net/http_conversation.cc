// SPDX-License-Identifier: Apache-2.0
#include "net/http_conversation.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::net {
namespace {

constexpr std::size_t kSlice = 256 << 10;
constexpr std::size_t kMostLingered = 4 << 20;
constexpr Duration kLinger = 2s;

Error peer_is_gone(const HttpPeer& peer) {
  return Error{.reason = Reason::kUnreachable,
               .message = fmt::format("{} has left", peer.address),
               .outcome = Outcome::kUnknown};
}

// The handler's end of a conversation. Thread-safe.
class PostedReply final : public HttpReply::Impl {
 public:
  PostedReply(Executor& loop, std::shared_ptr<Conversation> conversation, std::uint64_t request)
      : loop_(loop), conversation_(std::move(conversation)), request_(request) {}
  ~PostedReply() override {
    loop_.post([c = std::move(conversation_), id = request_] { c->abandon(id); });
  }
  void send(HttpResponse response, Gzip gzip) override {
    loop_.post([c = conversation_, id = request_, r = std::move(response), gzip]() mutable {
      c->send(id, std::move(r), gzip);
    });
  }
  void begin(int status, Headers headers) override {
    loop_.post([c = conversation_, id = request_, status, h = std::move(headers)]() mutable {
      c->begin(id, status, std::move(h));
    });
  }
  void write(std::string bytes, Done<Ok> taken) override {
    loop_.post([c = conversation_, id = request_, b = std::move(bytes),
                t = std::move(taken)]() mutable { c->write(id, std::move(b), std::move(t)); });
  }
  void end() override {
    loop_.post([c = conversation_, id = request_] { c->end(id); });
  }
  void upgrade(Headers headers, WebSocketLimits limits,
               Done<std::shared_ptr<WebSocket>> open) override {
    loop_.post(
        [c = conversation_, id = request_, h = std::move(headers), limits,
         o = std::move(open)]() mutable { c->upgrade(id, std::move(h), limits, std::move(o)); });
  }
  bool gone() const override { return conversation_->gone(); }
  void when_gone(Done<Ok> left) override {
    loop_.post([c = conversation_, id = request_, l = std::move(left)]() mutable {
      c->when_gone(id, std::move(l));
    });
  }

 private:
  Executor& loop_;
  std::shared_ptr<Conversation> conversation_;
  std::uint64_t request_;
};

HttpDecoder request_decoder(const HttpLimits& limits) {
  return {HttpSide::kRequest, limits, limits.request_body_bytes};
}

}  // namespace

Conversation::Conversation(ConversationHost& host, std::uint64_t id, std::unique_ptr<Stream> stream)
    : host_(&host),
      loop_(host.loop),
      id_(id),
      stream_(std::move(stream)),
      peer_{.address = stream_->peer_address()},
      decoder_(request_decoder(host.options.limits)) {}

void Conversation::start() {
  set_timer(host_->options.limits.header_timeout, &Conversation::close);
  stream_->handshake([this](const Result<Ok>& done) {
    if (!done) return close();
    peer_.identity = stream_->peer_identity();
    if (host_->options.tls && host_->options.tls->request_client_certificate)
      peer_.certificates = stream_->peer_certificates();
    next_request();
  });
}

void Conversation::turn_away() { refuse(503, "too many connections; try again later"); }

void Conversation::drain() {
  if (socket_) socket_->close(kCloseGoingAway, "the server ends");
  const bool idle = state_ == State::kReading && !decoder_.started();
  if (idle || state_ == State::kHandshake) close();
}

void Conversation::close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  stop_timer();
  if (write_timer_ != TimerId::kNone) loop_.cancel(write_timer_);
  write_timer_ = TimerId::kNone;
  peer_left();
  if (socket_) socket_->gone();
  for (const auto& out : std::exchange(out_, {})) out->taken(tl::unexpected(peer_is_gone(peer_)));
  stream_.reset();
  std::exchange(host_, nullptr)->ended(id_);
}

void Conversation::peer_left() {
  gone_ = true;
  for (Done<Ok>& watcher : std::exchange(gone_watchers_, {})) watcher(Ok{});
}

void Conversation::next_request() {
  if (host_->draining()) return close();
  state_ = State::kReading;
  const HttpLimits& limits = host_->options.limits;
  decoder_ = request_decoder(limits);
  body_ = {};
  head_seen_ = false;
  set_timer(request_ == 0 ? limits.header_timeout : limits.idle_timeout, &Conversation::close);
  const std::string ahead = std::exchange(ahead_, {});
  feed(ahead);
}

void Conversation::read() {
  if (std::exchange(reading_, true)) return;
  stream_->read([this](Stream::Bytes bytes) {
    reading_ = false;
    on_bytes(std::move(bytes));
  });
}

void Conversation::on_bytes(Stream::Bytes bytes) {
  if (!bytes) return close();
  if (!bytes->empty()) {
    if (state_ == State::kReading) return feed(*bytes);
    if (state_ == State::kUpgraded) return socket_->on_bytes(*bytes);
    if (state_ != State::kLingering) {
      ahead_.append(*bytes);  // and nothing more is read before its turn
      return;
    }
    lingered_ += bytes->size();
    return lingered_ > kMostLingered ? close() : read();
  }
  // The end of what the peer says. It may still listen for the reply to a request that it has
  // completed, but not for a stream without end.
  if (state_ == State::kHandling || state_ == State::kEnding) {
    keep_alive_ = false;
    return peer_left();
  }
  if (state_ == State::kReading && decoder_.started())
    return refuse(decoder_.end_of_input().error());
  close();
}

void Conversation::feed(std::string_view in) {
  while (!in.empty()) {
    if (!decoder_.started())
      set_timer(host_->options.limits.header_timeout, &Conversation::out_of_time);
    const auto step = decoder_.step(in, body_);
    if (!step) return refuse(step.error());
    if (*step == HttpDecoder::Step::kHead) {
      on_head();
      if (state_ != State::kReading) return;
      if (in.empty() && same_token(decoder_.head().headers.get("Expect"), "100-continue")) {
        Outgoing go_on;
        go_on.pieces.emplace_back("HTTP/1.1 100 Continue\r\n\r\n");
        enqueue(std::move(go_on));
      }
    } else if (*step == HttpDecoder::Step::kEnd) {
      if (!head_seen_) on_head();
      if (state_ == State::kReading) dispatch(in);
      return;
    }
  }
  read();
}

void Conversation::on_head() {
  head_seen_ = true;
  const HttpHead& head = decoder_.head();
  ++request_;
  keep_alive_ = head.keep_alive;
  is_head_ = head.method == "HEAD";
  chunked_ = head.version >= 11;
  gzip_ = chunked_ && accepts_gzip(head.headers);
  const std::string_view expect = head.headers.get("Expect");
  if (!expect.empty() && !same_token(expect, "100-continue"))
    return refuse(417, "only 100-continue may be expected");
  set_timer(host_->options.limits.body_timeout, &Conversation::out_of_time);
}

void Conversation::dispatch(std::string_view ahead) {
  stop_timer();
  state_ = State::kHandling;
  ahead_ = ahead;
  HttpHead& head = decoder_.head();
  HttpRequest request{.method = std::move(head.method),
                      .target = std::move(head.target),
                      .headers = std::move(head.headers),
                      .body = std::move(body_)};
  // Watches for the peer's end while the handler works.
  if (ahead_.empty()) read();
  host_->requested(std::move(request), peer_,
                   HttpReply(std::make_shared<PostedReply>(loop_, shared_from_this(), request_)));
}

void Conversation::refuse(const HttpFault& fault) { refuse(fault.status, fault.message); }

void Conversation::refuse(int status, std::string_view message) {
  ++request_;  // no reply of a handler will follow
  keep_alive_ = false;
  is_head_ = false;
  state_ = State::kHandling;
  HttpResponse response{.status = status, .headers = {}, .body = fmt::format("{}\n", message)};
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  if (host_->options.refusal) response = host_->options.refusal(status, message);
  send(request_, std::move(response), Gzip::kNever);
}

void Conversation::out_of_time() {
  refuse(408, head_seen_ ? "the body took too long" : "the header took too long");
}

bool Conversation::is_current(std::uint64_t request) const {
  return request == request_ && (state_ == State::kHandling || state_ == State::kStreaming);
}

bool Conversation::body_forbidden(int status) const {
  return is_head_ || status == 204 || status == 304;
}

std::string Conversation::reply_head(int status, Headers headers, bool chunked) {
  keep_alive_ = keep_alive_ && !host_->draining() && !gone_;
  if (!headers.has("Date")) headers.add("Date", http_date(loop_.clock().wall()));
  headers.remove("Connection");
  if (!keep_alive_)
    headers.add("Connection", "close");
  else if (!chunked_)
    headers.add("Connection", "keep-alive");
  if (chunked) headers.set("Transfer-Encoding", "chunked");
  return encode_head(status, headers);
}

void Conversation::send(std::uint64_t request, HttpResponse response, Gzip gzip) {
  if (!is_current(request) || state_ != State::kHandling) return;
  stop_timer();
  state_ = State::kEnding;
  Outgoing out;
  out.ends_reply = true;
  Headers& headers = response.headers;
  headers.remove("Transfer-Encoding");
  const bool compress = gzip == Gzip::kIfLarge && gzip_ && !body_forbidden(response.status) &&
                        response.body.size() >= host_->options.gzip_from &&
                        !headers.has("Content-Encoding");
  if (compress) {
    headers.remove("Content-Length");
    headers.add("Content-Encoding", "gzip");
    out.compressor = std::make_unique<Compressor>();
    out.source = std::move(response.body);
  } else if (response.status == 204 || response.status == 304) {
    headers.remove("Content-Length");
  } else if (!is_head_ || !headers.has("Content-Length")) {
    headers.set("Content-Length", std::to_string(response.body.size()));
  }
  out.pieces.push_back(reply_head(response.status, std::move(headers), compress));
  if (!compress && !body_forbidden(response.status)) out.pieces.push_back(std::move(response.body));
  enqueue(std::move(out));
}

void Conversation::begin(std::uint64_t request, int status, Headers headers) {
  if (!is_current(request) || state_ != State::kHandling) return;
  state_ = State::kStreaming;
  headers.remove("Content-Length");
  headers.remove("Transfer-Encoding");
  if (!chunked_) keep_alive_ = false;  // the end of the connection is the end of the body
  Outgoing out;
  out.pieces.push_back(
      reply_head(status, std::move(headers), chunked_ && status != 204 && status != 304));
  if (body_forbidden(status)) chunked_ = false;
  is_head_ = body_forbidden(status);
  enqueue(std::move(out));
  if (gone_) close();
}

void Conversation::write(std::uint64_t request, std::string bytes, Done<Ok> taken) {
  if (!is_current(request) || state_ != State::kStreaming)
    return taken(tl::unexpected(peer_is_gone(peer_)));
  if (bytes.empty() || is_head_) return taken(Ok{});
  Outgoing out;
  if (chunked_) out.pieces.push_back(chunk_head(bytes.size()));
  out.pieces.push_back(std::move(bytes));
  if (chunked_) out.pieces.emplace_back(kChunkEnd);
  out.taken = std::move(taken);
  enqueue(std::move(out));
}

void Conversation::end(std::uint64_t request) {
  if (!is_current(request) || state_ != State::kStreaming) return;
  state_ = State::kEnding;
  Outgoing out;
  if (chunked_) out.pieces.emplace_back(kLastChunk);
  out.ends_reply = true;
  enqueue(std::move(out));
}

void Conversation::upgrade(std::uint64_t request, Headers headers, WebSocketLimits limits,
                           Done<std::shared_ptr<WebSocket>> open) {
  if (!is_current(request) || state_ != State::kHandling || gone_)
    return open(tl::unexpected(peer_is_gone(peer_)));
  stop_timer();
  state_ = State::kUpgraded;
  keep_alive_ = false;
  headers.add("Date", http_date(loop_.clock().wall()));
  Outgoing out;
  out.pieces.push_back(encode_head(101, headers));
  enqueue(std::move(out));
  WebSocketWire& wire = *this;
  socket_ = std::make_unique<WebSocketSession>(loop_, wire, limits);
  if (const std::string ahead = std::exchange(ahead_, {}); !ahead.empty()) socket_->on_bytes(ahead);
  open(posted_socket(loop_, shared_from_this()));
}

void Conversation::send_frame(std::vector<std::string> pieces, Done<Ok> taken, bool last) {
  Outgoing out;
  out.pieces = std::move(pieces);
  out.taken = std::move(taken);
  out.ends_reply = last;
  enqueue(std::move(out));
}

void Conversation::read_on() {
  if (state_ == State::kUpgraded) read();
}

// Not inline: what asks for it is in the middle of something.
void Conversation::cut() {
  loop_.post([self = shared_from_this()] { self->close(); });
}

void Conversation::abandon(std::uint64_t request) {
  if (!is_current(request)) return;
  if (state_ == State::kStreaming) return close();
  keep_alive_ = false;
  send(request, {.status = 500, .body = "the request was not answered\n"}, Gzip::kNever);
}

void Conversation::when_gone(std::uint64_t request, Done<Ok> left) {
  if (state_ == State::kClosed || gone_) return left(Ok{});
  if (is_current(request)) gone_watchers_.push_back(std::move(left));
}

void Conversation::enqueue(Outgoing out) {
  out_.push_back(std::make_shared<Outgoing>(std::move(out)));
  pump();
}

// Makes the next compressed chunk; false when everything has been made.
bool Conversation::refill(Outgoing& out) const {
  if (!out.compressor) return false;
  std::string packed;
  while (packed.empty()) {
    const std::string_view piece = std::string_view(out.source).substr(out.compressed, kSlice);
    out.compressed += piece.size();
    const bool last = out.compressed == out.source.size();
    out.compressor->add(piece, last, packed);
    if (!last) continue;
    out.compressor.reset();
    break;
  }
  out.pieces.clear();
  out.pieces.push_back(chunk_head(packed.size()));
  out.pieces.push_back(std::move(packed));
  out.pieces.emplace_back(kChunkEnd);
  if (!out.compressor) out.pieces.emplace_back(kLastChunk);
  out.piece = 0;
  out.offset = 0;
  return true;
}

void Conversation::pump() {
  while (!writing_ && !out_.empty()) {
    const auto out = out_.front();
    std::vector<std::string_view> slice;
    std::size_t size = 0;
    while (size < kSlice && out->piece < out->pieces.size()) {
      const std::string_view rest = std::string_view(out->pieces[out->piece]).substr(out->offset);
      const std::string_view taken = rest.substr(0, kSlice - size);
      size += taken.size();
      out->offset += taken.size();
      if (!taken.empty()) slice.push_back(taken);
      if (taken.size() == rest.size()) {
        ++out->piece;
        out->offset = 0;
      }
    }
    if (size > 0) {
      writing_ = true;
      // A peer that reads slowly is fine, one that does not read at all is not.
      write_timer_ =
          loop_.at(loop_.clock().now() + host_->options.limits.write_timeout, [this] { close(); });
      stream_->write(std::move(slice), out,
                     [this](const Result<Ok>& result) { on_written(result); });
      return;
    }
    if (refill(*out)) continue;
    out_.pop_front();
    out->taken(Ok{});
    if (out->ends_reply) return reply_done();
  }
}

void Conversation::on_written(const Result<Ok>& result) {
  writing_ = false;
  loop_.cancel(write_timer_);
  write_timer_ = TimerId::kNone;
  if (!result) return close();
  pump();
}

void Conversation::reply_done() {
  gone_watchers_.clear();
  if (!keep_alive_) return linger();
  next_request();
}

// Closing while the peer still sends would reset the connection, and the peer might never see the
// reply.
void Conversation::linger() {
  if (gone_) return close();
  state_ = State::kLingering;
  set_timer(kLinger, &Conversation::close);
  stream_->end_writing();
  read();
}

void Conversation::set_timer(Duration limit, void (Conversation::*then)()) {
  stop_timer();
  timer_ = loop_.at(loop_.clock().now() + limit, [this, then] {
    timer_ = TimerId::kNone;
    (this->*then)();
  });
}

void Conversation::stop_timer() {
  if (timer_ != TimerId::kNone) loop_.cancel(timer_);
  timer_ = TimerId::kNone;
}

}  // namespace berth::net
