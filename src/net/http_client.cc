// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>

#include "net/http_body.h"
#include "net/http_codec.h"
#include "net/http_wire.h"

namespace berth::net {
namespace {

using Step = ResponseDecoder::Step;

std::string authority_of(const Origin& origin) {
  const bool bracket = origin.host.find(':') != std::string::npos;
  const std::string host = bracket ? "[" + origin.host + "]" : origin.host;
  return origin.port == (origin.tls ? 443 : 80) ? host : fmt::format("{}:{}", host, origin.port);
}

// What an exchange needs of its client. Loop-confined.
struct Shared {
  Shared(Executor& on, HttpClientOptions o, TlsContext c)
      : loop(on),
        options(std::move(o)),
        peer(authority_of(options.origin)),
        context(std::move(c)),
        pool(std::make_shared<WirePool>(on, options.idle_connections,
                                        options.limits.idle_timeout)) {}
  Executor& loop;
  HttpClientOptions options;
  std::string peer;
  TlsContext context;
  std::shared_ptr<WirePool> pool;
};

struct Outgoing {
  std::string head;
  std::string body;
};

using Answer = std::variant<Done<HttpResponse>, Done<std::unique_ptr<HttpStream>>>;

// One request and its reply: connect or reuse, send, read. Loop-confined; owned by the client until
// `finished` is called, which happens once. Operations refer to it by raw pointer because they end
// with the wire or attempt that it owns.
class Exchange {
 public:
  Exchange(Shared& shared, HttpRequest request, std::string head, Instant deadline, Answer answer,
           Task finished)
      : shared_(shared),
        method_(std::move(request.method)),
        outgoing_(std::make_shared<Outgoing>(Outgoing{std::move(head), std::move(request.body)})),
        deadline_(deadline),
        answer_(std::move(answer)),
        finished_(std::move(finished)) {}
  ~Exchange() { stop_timers(); }

  void start() {
    if (deadline_ <= shared_.loop.clock().now()) return time_out();
    if (deadline_.since_start != kNoLimit)
      deadline_timer_ = shared_.loop.at(deadline_, [this] { time_out(); });
    wire_ = shared_.pool->take();
    if (wire_)
      send();
    else
      dial();
  }

  void cancel() {
    fail_with({.reason = Reason::kCancelled,
               .message = fmt::format("the client of {} was closed", shared_.peer),
               .outcome = outcome()});
  }

 private:
  bool is_call() const { return std::holds_alternative<Done<HttpResponse>>(answer_); }
  Outcome outcome() const { return wire_ ? Outcome::kUnknown : Outcome::kNotSent; }

  void time_out() {
    fail_with({.reason = Reason::kTimeout,
               .message = fmt::format("no reply from {} in time", shared_.peer),
               .outcome = outcome()});
  }

  void dial() {
    connect_timer_ = shared_.loop.at(
        shared_.loop.clock().now() + shared_.options.limits.connect_timeout, [this] {
          fail_with({.reason = Reason::kUnreachable,
                     .message = fmt::format("cannot connect to {} in time", shared_.peer),
                     .outcome = Outcome::kNotSent});
        });
    const Origin& origin = shared_.options.origin;
    attempt_ = connect(shared_.loop, origin.host, origin.port,
                       [this](Result<std::unique_ptr<Stream>> stream) {
                         if (!stream) return fail_with(std::move(stream.error()));
                         on_connected(std::move(*stream));
                       });
  }

  void on_connected(std::unique_ptr<Stream> stream) {
    attempt_.reset();
    new_stream_ = std::move(stream);
    if (shared_.options.origin.tls) {
      const TlsClientOptions& tls = shared_.options.tls;
      new_stream_ =
          tls_client(shared_.loop, std::move(new_stream_), shared_.context,
                     tls.server_name.empty() ? shared_.options.origin.host : tls.server_name,
                     !tls.insecure_skip_verify);
    }
    new_stream_->handshake([this](Result<Ok> done) {
      if (!done) {
        done.error().outcome = Outcome::kNotSent;
        return fail_with(std::move(done.error()));
      }
      if (connect_timer_ != TimerId::kNone) shared_.loop.cancel(connect_timer_);
      connect_timer_ = TimerId::kNone;
      wire_ = std::make_unique<Wire>(std::move(new_stream_));
      send();
    });
  }

  void send() {
    const HttpLimits& limits = shared_.options.limits;
    decoder_ = std::make_unique<ResponseDecoder>(
        limits, is_call() ? limits.response_body_bytes : std::numeric_limits<std::size_t>::max(),
        method_ == "HEAD");
    wire_->write({outgoing_->head, outgoing_->body}, outgoing_, [this](Result<Ok> sent) {
      // Otherwise the read will tell; a server may well answer before it has read everything.
      if (!sent && sent.error().outcome == Outcome::kNotSent) on_lost(std::move(sent.error()));
    });
    read();
  }

  void read() {
    wire_->read([this](Stream::Bytes bytes) {
      if (!bytes) return on_lost(std::move(bytes.error()));
      if (bytes->empty()) return on_end();
      on_bytes(*bytes);
    });
  }

  void on_bytes(std::string_view in) {
    while (!in.empty()) {
      const auto step = decoder_->step(in, response_.body);
      if (!step) return fail_with(broken_reply(shared_.peer, step.error().message));
      if (*step == Step::kMore) continue;
      if (!is_call()) return deliver_stream(in, *step == Step::kEnd);
      if (*step == Step::kEnd) return deliver_response(in.empty());
      // Not more than this on the word of a peer that has yet to send it.
      constexpr std::uint64_t kMostReserved = 16 << 20;
      response_.body.reserve(
          static_cast<std::size_t>(std::min(decoder_->head().length.value_or(0), kMostReserved)));
    }
    read();
  }

  void on_end() {
    if (!decoder_->started())
      return on_lost(broken_reply(shared_.peer, "the connection ended before it began"));
    const auto step = decoder_->end_of_input();
    if (!step) return fail_with(broken_reply(shared_.peer, step.error().message));
    deliver_response(false);
  }

  // A resting connection may be closed by the server just as a request leaves on it. Then it is
  // sent again on a new one, if that cannot do anything twice.
  void on_lost(Error error) {
    const bool not_sent = error.outcome == Outcome::kNotSent;
    const bool harmless = method_ == "GET" || method_ == "HEAD";
    if (wire_->reused && !decoder_->started() && (not_sent || harmless)) {
      wire_.reset();
      return dial();
    }
    fail_with(std::move(error));
  }

  void deliver_response(bool wire_is_open) {
    HttpHead& head = decoder_->head();
    response_.status = head.status;
    response_.headers = std::move(head.headers);
    if (wire_is_open && head.keep_alive && !wire_->writing()) {
      wire_->forget_handlers();
      shared_.pool->put(std::move(wire_));
    }
    auto answer = std::move(std::get<Done<HttpResponse>>(answer_));
    answer(std::move(response_));
    end();
  }

  void deliver_stream(std::string_view rest, bool complete) {
    wire_->forget_handlers();
    auto answer = std::move(std::get<Done<std::unique_ptr<HttpStream>>>(answer_));
    answer(make_stream(shared_.loop, std::move(wire_), std::move(decoder_), rest, complete,
                       shared_.pool, shared_.peer));
    end();
  }

  void fail_with(Error error) {
    std::visit([&](auto& answer) { answer(tl::unexpected(std::move(error))); }, answer_);
    end();
  }

  void stop_timers() {
    if (deadline_timer_ != TimerId::kNone) shared_.loop.cancel(deadline_timer_);
    if (connect_timer_ != TimerId::kNone) shared_.loop.cancel(connect_timer_);
    deadline_timer_ = connect_timer_ = TimerId::kNone;
  }

  // Destroys this.
  void end() {
    Task finished = std::move(finished_);
    finished();
  }

  Shared& shared_;
  std::string method_;
  std::shared_ptr<const Outgoing> outgoing_;
  Instant deadline_;
  Answer answer_;
  Task finished_;
  TimerId deadline_timer_ = TimerId::kNone;
  TimerId connect_timer_ = TimerId::kNone;
  std::unique_ptr<Attempt> attempt_;
  std::unique_ptr<Stream> new_stream_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<ResponseDecoder> decoder_;
  HttpResponse response_;
};

// The loop's half of a client. Loop-confined.
class Engine {
 public:
  Engine(Executor& loop, HttpClientOptions options, TlsContext context)
      : shared_(loop, std::move(options), std::move(context)) {}

  void begin(HttpRequest request, Instant deadline, Answer answer) {
    auto head = encode_head(request, shared_.peer, shared_.options.accept_gzip);
    if (!head) {
      std::visit([&](auto& a) { a(tl::unexpected(std::move(head.error()))); }, answer);
      return;
    }
    const std::uint64_t id = ++last_id_;
    auto exchange =
        std::make_unique<Exchange>(shared_, std::move(request), std::move(*head), deadline,
                                   std::move(answer), [this, id] { running_.erase(id); });
    Exchange& started = *exchange;
    running_.emplace(id, std::move(exchange));
    started.start();
  }

  void replace_tls(TlsClientOptions options, TlsContext context) {
    shared_.options.tls = std::move(options);
    shared_.context = std::move(context);
    shared_.pool->clear();
  }

  void close() {
    while (!running_.empty()) running_.begin()->second->cancel();
    shared_.pool->clear();
  }

 private:
  Shared shared_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Exchange>> running_;
  std::uint64_t last_id_ = 0;
};

class PooledClient final : public HttpClient {
 public:
  PooledClient(Executor& loop, HttpClientOptions options, TlsContext context)
      : loop_(loop),
        tls_(options.origin.tls),
        engine_(std::make_shared<Engine>(loop, std::move(options), std::move(context))) {}
  ~PooledClient() override {
    loop_.post([engine = std::move(engine_)] { engine->close(); });
  }

  void call(HttpRequest request, Instant deadline, Done<HttpResponse> done) override {
    begin(std::move(request), deadline, std::move(done));
  }
  void open(HttpRequest request, Instant deadline,
            Done<std::unique_ptr<HttpStream>> done) override {
    begin(std::move(request), deadline, std::move(done));
  }
  Result<Ok> replace_tls(TlsClientOptions options) override {
    if (!tls_) return Ok{};
    auto context = make_context(options);
    if (!context) return tl::unexpected(std::move(context.error()));
    loop_.post([engine = engine_, o = std::move(options), c = std::move(*context)]() mutable {
      engine->replace_tls(std::move(o), std::move(c));
    });
    return Ok{};
  }

 private:
  void begin(HttpRequest request, Instant deadline, Answer answer) {
    loop_.post(
        [engine = engine_, r = std::move(request), deadline, a = std::move(answer)]() mutable {
          engine->begin(std::move(r), deadline, std::move(a));
        });
  }

  Executor& loop_;
  bool tls_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(Executor& loop, HttpClientOptions options) {
  TlsContext context;
  if (options.origin.tls) {
    auto made = make_context(options.tls);
    if (!made) return tl::unexpected(std::move(made.error()));
    context = std::move(*made);
  }
  return std::make_unique<PooledClient>(loop, std::move(options), std::move(context));
}

}  // namespace berth::net
