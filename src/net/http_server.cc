// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <future>
#include <unordered_map>

#include "net/http_conversation.h"
#include "net/stream.h"

namespace berth::net {
namespace {

// How many connections above the limit are told so; the rest are just closed.
constexpr std::size_t kTurnedAway = 64;

// The loop's half of a server. Loop-confined.
class Engine final : public ConversationHost {
 public:
  Engine(Executor& on, HttpServerOptions o, TlsContext context, std::unique_ptr<Listener> listener,
         HttpHandler& handler)
      : ConversationHost(on, std::move(o)),
        context_(std::move(context)),
        listener_(std::move(listener)),
        handler_(handler) {}

  void start() {
    if (!listener_) return;  // closed before it began
    listener_->start([this](std::unique_ptr<Stream> stream) { accept(std::move(stream)); });
  }

  void drain(Done<Ok> drained) {
    listener_.reset();
    draining_ = true;
    drained_.push_back(std::move(drained));
    for_each([](Conversation& c) { c.drain(); });
    check_drained();
  }

  void use(TlsContext context) { context_ = std::move(context); }

  void close() {
    listener_.reset();
    for_each([](Conversation& c) { c.close(); });
  }

  void requested(HttpRequest request, const HttpPeer& peer, HttpReply reply) override {
    handler_.handle(std::move(request), peer, std::move(reply));
  }
  void ended(std::uint64_t id) override {
    conversations_.erase(id);
    check_drained();
  }
  bool draining() const override { return draining_; }

 private:
  void accept(std::unique_ptr<Stream> stream) {
    const std::size_t limit = options.limits.connections;
    const bool full = conversations_.size() >= limit;
    // With TLS, saying so would cost more than a connection does.
    if (full && (context_ || conversations_.size() >= limit + kTurnedAway)) return;
    if (context_) stream = tls_server(loop, std::move(stream), context_);
    const std::uint64_t id = ++last_id_;
    const auto conversation = std::make_shared<Conversation>(*this, id, std::move(stream));
    conversations_.emplace(id, conversation);
    if (full)
      conversation->turn_away();
    else
      conversation->start();
  }

  // The callback may end conversations.
  template <class F>
  void for_each(F f) {
    std::vector<std::shared_ptr<Conversation>> all;
    for (const auto& [id, conversation] : conversations_) all.push_back(conversation);
    for (const auto& conversation : all) f(*conversation);
  }

  void check_drained() {
    if (!draining_ || !conversations_.empty()) return;
    for (Done<Ok>& drained : std::exchange(drained_, {})) drained(Ok{});
  }

  TlsContext context_;
  std::unique_ptr<Listener> listener_;
  HttpHandler& handler_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Conversation>> conversations_;
  std::uint64_t last_id_ = 0;
  bool draining_ = false;
  std::vector<Done<Ok>> drained_;
};

class LoopServer final : public HttpServer {
 public:
  LoopServer(Executor& loop, std::uint16_t port, std::shared_ptr<Engine> engine)
      : loop_(loop), port_(port), engine_(std::move(engine)) {
    loop_.post([e = engine_] { e->start(); });
  }
  ~LoopServer() override {
    if (loop_.here()) {
      engine_->close();
      return;
    }
    // A loop that has ended drops the task, and the promise with it.
    auto closed = std::make_shared<std::promise<void>>();
    const auto waited = closed->get_future();
    loop_.post([e = std::move(engine_), c = std::move(closed)] {
      e->close();
      c->set_value();
    });
    waited.wait();
  }
  std::uint16_t port() const override { return port_; }
  void drain(Done<Ok> drained) override {
    loop_.post([e = engine_, d = std::move(drained)]() mutable { e->drain(std::move(d)); });
  }
  Result<Ok> use(const TlsServerOptions& options) override {
    auto made = make_context(options);
    if (!made) return tl::unexpected(std::move(made.error()));
    loop_.post([e = engine_, context = std::move(*made)]() mutable { e->use(std::move(context)); });
    return Ok{};
  }

 private:
  Executor& loop_;
  std::uint16_t port_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(Executor& loop, HttpServerOptions options,
                                                      HttpHandler& handler) {
  TlsContext context;
  if (options.tls) {
    auto made = make_context(*options.tls);
    if (!made) return tl::unexpected(std::move(made.error()));
    context = std::move(*made);
  }
  auto listener = listen(loop, options.address, options.port);
  if (!listener) return tl::unexpected(std::move(listener.error()));
  const std::uint16_t port = (*listener)->port();
  auto engine = std::make_shared<Engine>(loop, std::move(options), std::move(context),
                                         std::move(*listener), handler);
  return std::make_unique<LoopServer>(loop, port, std::move(engine));
}

}  // namespace berth::net
