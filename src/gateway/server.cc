// SPDX-License-Identifier: Apache-2.0
#include "gateway/server.h"

#include <algorithm>

#include "gateway/replies.h"
#include "net/address.h"
#include "net/query.h"

namespace berth::gateway {

class Gateway::Door final : public net::HttpHandler {
 public:
  Door(State& state, bool compat) : state_(state), compat_(compat) {}
  void handle(net::HttpRequest, const net::HttpPeer&, net::HttpReply) override;

 private:
  State& state_;
  bool compat_;
};

struct Gateway::State {
  State(Scope& home, client::Transport& transport, Metrics& metrics, Logger to,
        GatewayOptions given)
      : scope(home),
        log(std::move(to)),
        options(std::move(given)),
        auth(home, transport, metrics, options.auth),
        limits(options.limits),
        seats(options.limits.streams_per_user, metrics),
        requests(metrics.counters("berth_gateway_requests_total",
                                  "Requests answered, by method and code", {"method", "code"})),
        seconds(metrics.histogram("berth_gateway_request_seconds",
                                  "From a request's arrival to its answer; of a stream, to its "
                                  "beginning",
                                  exponential_buckets(0.001, 2, 13))),
        door(*this, false),
        compat(*this, true) {}

  Scope& scope;
  Logger log;
  GatewayOptions options;
  Auth auth;
  Routes routes;
  RequestLimits limits;
  Seats seats;
  Labelled<Counter> requests;
  Histogram seconds;
  Door door, compat;
};

// One request, from its arrival until its answer is given. Kept by what it waits for.
class Gateway::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(State& state, const net::HttpPeer& peer, net::HttpReply reply)
      : state_(state),
        reply_(std::move(reply)),
        began_(now()),
        address_(net::address_of(peer.address)) {}

  void begin(net::HttpRequest http, const net::HttpPeer& peer, bool compat) {
    const std::string_view target = http.target;
    const std::size_t mark = target.find('?');
    method_ = http.method;
    path_ = target.substr(0, mark);
    if (const auto wait = state_.limits.take(address_, now()))
      return refuse({.reason = Reason::kTooManyRequests,
                     .message = "too many requests from this address; try again later",
                     .retry_after = *wait});
    if (Result<Ok> good = check_origin(state_.options.origin, http.headers); !good)
      return refuse(good.error());
    allow_origin(state_.options.origin, http.headers, cors_);
    if (compat && !net::is_loopback(address_))
      return refuse({.reason = Reason::kForbidden,
                     .message = "forbidden: this listener is for programs on its own machine"});
    auto found = state_.routes.find(method_, path_);
    if (found.route == nullptr) return no_route(found.methods, http.headers);
    route_ = found.route;
    if (mark != target.npos) request_.query = net::query_pairs(target.substr(mark + 1));
    request_.method = method_;
    request_.path = path_;
    request_.address = address_;
    request_.values = std::move(found.values);
    request_.body = std::move(http.body);
    proof_ = proof_of(http.headers, peer);
    request_.headers = std::move(http.headers);
    request_.headers.remove("Authorization");  // nobody behind has use for it
    if (route_->entry == Entry::kOpen) return answer();
    if (route_->entry == Entry::kOffered && proof_.empty() && !compat) return answer();
    if (compat && proof_.empty()) {
      const std::string& name = state_.options.compat_user;
      return known(Identity{.user = {.name = name, .groups = {"system:authenticated"}},
                            .key = "compat:" + name});
    }
    state_.auth.who(proof_, state_.scope.done<Identity>(
                                kNoLimit, [self = shared_from_this()](Result<Identity> who) {
                                  if (!who) return self->refuse(who.error());
                                  self->known(*std::move(who));
                                }));
  }

 private:
  Instant now() const { return state_.scope.executor().clock().now(); }

  void no_route(const std::vector<std::string>& methods, const net::Headers& headers) {
    if (methods.empty())
      return refuse({.reason = Reason::kNotFound,
                     .message = "the server could not find the requested resource"});
    std::string allowed;
    for (const std::string& method : methods) allowed += (allowed.empty() ? "" : ", ") + method;
    // A browser asks before it lets a page of another origin call.
    if (method_ == "OPTIONS" && cors_.has("Access-Control-Allow-Origin") &&
        headers.has("Access-Control-Request-Method"))
      return send({.code = 204});
    Reply reply = status_reply(
        {.reason = Reason::kMethodNotAllowed,
         .message = "the server does not allow this method on the requested resource"});
    reply.headers.add("Allow", allowed);
    send(std::move(reply));
  }

  void known(Identity identity) {
    identity_ = std::move(identity);
    known_ = true;
    if (route_->rights_of) {
      auto rights = route_->rights_of(request_);
      if (!rights) return refuse(rights.error());
      rights_ = *std::move(rights);
    }
    for (const Access& right : route_->rights) rights_.push_back(resolved(right, request_.values));
    state_.auth.may(
        identity_, rights_,
        state_.scope.done<Ok>(kNoLimit, [self = shared_from_this()](const Result<Ok>& allowed) {
          if (!allowed) return self->refuse(allowed.error());
          self->answer();
        }));
  }

  void answer() {
    if (route_->stream) return open_stream();
    if (route_->socket) return open_socket();
    route_->handle(
        std::move(request_), identity_.user,
        state_.scope.done<Reply>(kNoLimit, [self = shared_from_this()](Result<Reply> reply) {
          if (!reply) return self->refuse(reply.error());
          self->send(*std::move(reply));
        }));
  }

  void open_stream() {
    auto taken = state_.seats.take(identity_.user.name);
    if (!taken) return refuse(taken.error());
    audit(200);
    auto stream = std::make_shared<Stream>(state_.scope, std::move(reply_), std::move(cors_));
    auto guard = state_.auth.guard(proof_, identity_, rights_,
                                   [weak = std::weak_ptr<Stream>(stream)](const Error&) {
                                     if (const auto still = weak.lock()) still->end();
                                   });
    stream->when_over([seat = *std::move(taken), guard = std::move(guard)]() mutable {
      guard.reset();
      seat.reset();
    });
    route_->stream(std::move(request_), identity_.user, std::move(stream));
  }

  void open_socket() {
    std::string protocol;
    for (const std::string& known : route_->protocols) {
      if (!protocol.empty()) break;
      for (const std::string_view offered : request_.headers.all("Sec-WebSocket-Protocol"))
        if (net::lists_token(offered, known)) protocol = known;
    }
    auto head = net::accept_websocket(request_.headers, protocol);
    if (!head) {
      Reply reply = status_reply(head.error());
      if (reply.code == 426) reply.headers.add("Sec-WebSocket-Version", "13");
      return send(std::move(reply));
    }
    audit(101);
    reply_.upgrade(*std::move(head), {.message_bytes = state_.options.limits.frame_bytes},
                   state_.scope.done<std::shared_ptr<net::WebSocket>>(
                       kNoLimit, [self = shared_from_this()](auto socket) {
                         if (!socket) return;
                         Visitor visitor{.proof = std::move(self->proof_)};
                         if (self->known_) visitor.identity = std::move(self->identity_);
                         self->route_->socket(std::move(self->request_), std::move(visitor),
                                              *std::move(socket));
                       }));
  }

  void refuse(const Error& error) { send(status_reply(error)); }

  void send(Reply reply) {
    audit(reply.code);
    for (const auto& [name, value] : cors_.items()) reply.headers.add(name, value);
    reply_.send(http_of(std::move(reply)), net::Gzip::kIfLarge);
  }

  void audit(int code) {
    constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    const bool known =
        std::find(std::begin(kMethods), std::end(kMethods), method_) != std::end(kMethods);
    state_.requests.with({known ? std::string_view(method_) : "other", std::to_string(code)}).add();
    state_.seconds.observe(std::chrono::duration<double>(now() - began_).count());
    state_.log.info("request", {{"user", identity_.user.name},
                                {"method", method_},
                                {"path", path_},
                                {"code", code},
                                {"address", address_},
                                {"took", now() - began_}});
  }

  State& state_;
  net::HttpReply reply_;
  Instant began_;
  std::string method_, path_, address_;
  const Route* route_ = nullptr;
  Request request_;
  Proof proof_;
  Identity identity_;
  bool known_ = false;
  std::vector<Access> rights_;
  net::Headers cors_;
};

void Gateway::Door::handle(net::HttpRequest request, const net::HttpPeer& peer,
                           net::HttpReply reply) {
  std::make_shared<Exchange>(state_, peer, std::move(reply))
      ->begin(std::move(request), peer, compat_);
}

Gateway::Gateway(Scope& scope, client::Transport& transport, Metrics& metrics, Logger log,
                 GatewayOptions options)
    : state_(
          std::make_shared<State>(scope, transport, metrics, std::move(log), std::move(options))) {}
Gateway::~Gateway() = default;

Routes& Gateway::routes() { return state_->routes; }
Auth& Gateway::auth() { return state_->auth; }
Scope& Gateway::scope() { return state_->scope; }
const GatewayOptions& Gateway::options() const { return state_->options; }
net::HttpHandler& Gateway::door() { return state_->door; }
net::HttpHandler* Gateway::compat_door() {
  return state_->options.compat_user.empty() ? nullptr : &state_->compat;
}
Seats& Gateway::seats() { return state_->seats; }
const Logger& Gateway::log() const { return state_->log; }

net::HttpServerOptions Gateway::server_options() const {
  net::HttpServerOptions options;
  options.limits.request_body_bytes = state_->options.limits.body_bytes;
  options.limits.connections = state_->options.limits.connections;
  options.gzip_from = 4 << 10;
  return options;
}

}  // namespace berth::gateway
