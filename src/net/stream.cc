// SPDX-License-Identifier: Apache-2.0
// TCP.
#include "net/stream.h"

#include <algorithm>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <netinet/tcp.h>

#include "base/check.h"
#include "net/asio_loop.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kFirstRead = 8 << 10;
constexpr std::size_t kLargestRead = 256 << 10;

Error unreachable(std::string message, Outcome outcome) {
  return Error{.reason = Reason::kUnreachable, .message = std::move(message), .outcome = outcome};
}

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

// Small messages leave at once; a peer that vanished is noticed within a minute.
void tune(tcp::socket& socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

// Shared by the stream and the operations under way; the stream's end empties it.
struct Connection final : LoopResource, std::enable_shared_from_this<Connection> {
  Connection(AsioLoop& on, tcp::socket&& s) : loop(on), socket(std::move(s)) {
    ErrorCode error;
    const tcp::endpoint endpoint = socket->remote_endpoint(error);
    peer = error ? "?" : to_text(endpoint);
    tune(*socket);
    loop.attach(*this);
  }
  ~Connection() { loop.detach(*this); }

  void abandon() override {
    socket.reset();
    // What the callbacks own may end up here again.
    const auto reading = std::move(on_read);
    const auto writing = std::move(on_write);
    const auto kept = std::move(keep);
  }

  void read() {
    // A peer that fills it gets a larger one, so that lists come in few pieces and thousands of
    // quiet connections cost little.
    if (std::exchange(grow, false)) {
      capacity = std::min(capacity * 4, kLargestRead);
      buffer.reset();
    }
    if (!buffer) buffer.reset(new char[capacity]);
    socket->async_read_some(asio::buffer(buffer.get(), capacity),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
                              self->did_read(error, size);
                            });
  }

  void did_read(const ErrorCode& error, std::size_t size) {
    if (!on_read) return;
    auto report = std::move(on_read);
    if (error == asio::error::eof) return report(std::string_view{});
    if (error)
      return report(tl::unexpected(
          unreachable(fmt::format("{}: {}", peer, error.message()), Outcome::kUnknown)));
    grow = size == capacity && capacity < kLargestRead;
    report(std::string_view(buffer.get(), size));
  }

  void did_write(const ErrorCode& error, std::size_t size) {
    keep.reset();
    if (!on_write) return;
    auto report = std::move(on_write);
    if (!error) return report(Ok{});
    report(tl::unexpected(unreachable(fmt::format("{}: {}", peer, error.message()),
                                      size == 0 ? Outcome::kNotSent : Outcome::kUnknown)));
  }

  AsioLoop& loop;
  std::optional<tcp::socket> socket;
  std::string peer;
  std::unique_ptr<char[]> buffer;
  std::size_t capacity = kFirstRead;
  bool grow = false;
  Fn<void(Stream::Bytes)> on_read;
  Fn<void(Result<Ok>)> on_write;
  std::shared_ptr<const void> keep;
};

class TcpStream final : public Stream {
 public:
  TcpStream(AsioLoop& loop, tcp::socket&& socket)
      : connection_(std::make_shared<Connection>(loop, std::move(socket))) {}
  ~TcpStream() override { connection_->abandon(); }

  void handshake(Fn<void(Result<Ok>)> report) override {
    connection_->on_write = std::move(report);
    connection_->loop.post([c = connection_] { c->did_write({}, 0); });
  }

  void read(Fn<void(Bytes)> report) override {
    BERTH_CHECK(!connection_->on_read, "two reads at a time");
    connection_->on_read = std::move(report);
    if (connection_->socket) connection_->read();
  }

  void write(std::vector<std::string_view> pieces, std::shared_ptr<const void> keep,
             Fn<void(Result<Ok>)> report) override {
    BERTH_CHECK(!connection_->on_write, "two writes at a time");
    connection_->on_write = std::move(report);
    connection_->keep = std::move(keep);
    if (!connection_->socket) return;
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(pieces.size());
    for (const std::string_view piece : pieces) buffers.emplace_back(piece.data(), piece.size());
    asio::async_write(
        *connection_->socket, buffers,
        [c = connection_](const ErrorCode& error, std::size_t size) { c->did_write(error, size); });
  }

  void end_writing() override {
    ErrorCode ignored;
    if (connection_->socket) connection_->socket->shutdown(tcp::socket::shutdown_send, ignored);
  }

  std::string peer_address() const override { return connection_->peer; }

 private:
  std::shared_ptr<Connection> connection_;
};

struct Dialling final : LoopResource, std::enable_shared_from_this<Dialling> {
  Dialling(AsioLoop& on, std::string where) : loop(on), target(std::move(where)) {
    loop.attach(*this);
  }
  ~Dialling() { loop.detach(*this); }

  void abandon() override {
    resolver.reset();
    socket.reset();
    const auto dropped = std::move(report);
  }

  void resolve(const std::string& host, std::uint16_t port) {
    resolver.emplace(loop.io());
    resolver->async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                            [self = shared_from_this()](const ErrorCode& error, const auto& found) {
                              if (!self->report) return;
                              if (error) return self->finish(error);
                              std::vector<tcp::endpoint> endpoints;
                              for (const auto& entry : found) endpoints.push_back(entry.endpoint());
                              self->dial(std::move(endpoints));
                            });
  }

  void dial(std::vector<tcp::endpoint> endpoints) {
    addresses = std::move(endpoints);
    socket.emplace(loop.io());
    asio::async_connect(*socket, addresses,
                        [self = shared_from_this()](const ErrorCode& error, const tcp::endpoint&) {
                          if (self->report) self->finish(error);
                        });
  }

  void finish(const ErrorCode& error) {
    auto done = std::move(report);
    if (error)
      return done(tl::unexpected(unreachable(
          fmt::format("cannot connect to {}: {}", target, error.message()), Outcome::kNotSent)));
    std::unique_ptr<Stream> stream = std::make_unique<TcpStream>(loop, std::move(*socket));
    socket.reset();
    done(std::move(stream));
  }

  AsioLoop& loop;
  std::string target;
  std::optional<tcp::resolver> resolver;
  std::optional<tcp::socket> socket;
  std::vector<tcp::endpoint> addresses;
  Fn<void(Result<std::unique_ptr<Stream>>)> report;
};

struct TcpAttempt final : Attempt {
  explicit TcpAttempt(std::shared_ptr<Dialling> d) : dialling(std::move(d)) {}
  ~TcpAttempt() override { dialling->abandon(); }
  std::shared_ptr<Dialling> dialling;
};

struct Accepting final : LoopResource, std::enable_shared_from_this<Accepting> {
  explicit Accepting(AsioLoop& on) : loop(on), acceptor(std::in_place, on.io()) {}

  void abandon() override {
    acceptor.reset();
    const auto dropped = std::move(accepted);
  }

  void next() {
    acceptor->async_accept([self = shared_from_this()](const ErrorCode& error, tcp::socket peer) {
      if (!self->acceptor) return;
      if (!error) {
        self->accepted(std::make_unique<TcpStream>(self->loop, std::move(peer)));
        if (self->acceptor) self->next();
        return;
      }
      // Out of file descriptors, most likely: trying again at once would only spin.
      self->loop.at(
          self->loop.clock().now() + 50ms,
          [self] {
            if (self->acceptor) self->next();
          },
          Timer::kBackground);
    });
  }

  AsioLoop& loop;
  std::optional<tcp::acceptor> acceptor;
  Fn<void(std::unique_ptr<Stream>)> accepted;
};

class TcpListener final : public Listener {
 public:
  TcpListener(std::shared_ptr<Accepting> accepting, std::uint16_t port)
      : accepting_(std::move(accepting)), port_(port) {}
  ~TcpListener() override {
    if (started_) accepting_->loop.detach(*accepting_);
    accepting_->abandon();
  }
  std::uint16_t port() const override { return port_; }
  void start(Fn<void(std::unique_ptr<Stream>)> accepted) override {
    started_ = true;
    accepting_->accepted = std::move(accepted);
    accepting_->loop.attach(*accepting_);
    accepting_->next();
  }

 private:
  std::shared_ptr<Accepting> accepting_;
  std::uint16_t port_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Attempt> connect(Executor& executor, const std::string& host, std::uint16_t port,
                                 Fn<void(Result<std::unique_ptr<Stream>>)> report) {
  AsioLoop& loop = asio_loop(executor);
  ErrorCode not_literal;
  const auto address = asio::ip::make_address(host, not_literal);
  const bool bracket = !not_literal && address.is_v6();
  auto dialling = std::make_shared<Dialling>(
      loop, fmt::format("{}{}{}:{}", bracket ? "[" : "", host, bracket ? "]" : "", port));
  dialling->report = std::move(report);
  if (not_literal)
    dialling->resolve(host, port);
  else
    dialling->dial({tcp::endpoint(address, port)});
  return std::make_unique<TcpAttempt>(std::move(dialling));
}

Result<std::unique_ptr<Listener>> listen(Executor& executor, const std::string& address,
                                         std::uint16_t port) {
  ErrorCode error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) return invalid(fmt::format("cannot listen on '{}': it is not an IP address", address));
  const tcp::endpoint endpoint(ip, port);
  auto accepting = std::make_shared<Accepting>(asio_loop(executor));
  tcp::acceptor& acceptor = *accepting->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return fail(Reason::kUnreachable,
                fmt::format("cannot listen on {}: {}", to_text(endpoint), error.message()));
  const std::uint16_t bound = acceptor.local_endpoint().port();
  return std::make_unique<TcpListener>(std::move(accepting), bound);
}

}  // namespace berth::net
