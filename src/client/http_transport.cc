// SPDX-License-Identifier: Apache-2.0
#include "client/http_transport.h"

#include <algorithm>
#include <deque>
#include <future>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "client/credentials.h"
#include "client/http_reply.h"
#include "client/request_path.h"
#include "client/watch_lines.h"
#include "kube/watch_event.h"
#include "net/http_client.h"

namespace berth::client {
namespace {

using kube::ApiReply;
using kube::ApiRequest;
using kube::Verb;
using net::HttpStream;

constexpr std::size_t kMostErrorBody = std::size_t{1} << 20;
constexpr std::size_t kMostWarningsKept = 200;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

std::string full_user_agent(const std::string& product) {
  struct utsname system;
  const char* machine = ::uname(&system) == 0 ? system.machine : "unknown";
  const std::string_view go = machine == std::string_view("x86_64")    ? "amd64"
                              : machine == std::string_view("aarch64") ? "arm64"
                                                                       : machine;
  return fmt::format("{} (linux/{})", product.empty() ? "berth/" BERTH_VERSION : product, go);
}

Error cancelled(Outcome outcome) {
  return {.reason = Reason::kCancelled,
          .message = "the connection to the API server was closed",
          .outcome = outcome};
}

Error not_sent_in_time() {
  return {.reason = Reason::kTimeout,
          .message = "the request was not sent in time",
          .outcome = Outcome::kNotSent};
}

}  // namespace

// All but `client` is confined to the loop; `prefix` and `headers` never change.
struct HttpTransport::Core {
  Core(Runtime& runtime_in, Executor& loop_in, const Logger& log_in)
      : runtime(runtime_in), loop(loop_in), log(log_in), scope(loop_in, "http") {}
  Runtime& runtime;
  Executor& loop;
  const Logger& log;
  Scope scope;
  HttpTransportOptions options;
  std::string prefix;
  net::Headers headers;  // of every request
  std::unique_ptr<net::HttpClient> client;
  std::unique_ptr<Credentials> credentials;
  net::TlsClientOptions tls;  // what the client makes connections with
  std::set<std::string> warnings_seen;
  std::size_t in_flight = 0;
  std::deque<std::shared_ptr<Call>> queue;  // for a connection

  void enter(std::shared_ptr<Call>);
  void leave();
  void expire(const std::shared_ptr<Call>&);  // one that queued until its deadline

  // Connections are made anew only for material that changed, not for every token.
  Result<Ok> use(const net::TlsClientOptions& now) {
    if (now.ca_pem == tls.ca_pem && now.certificate_pem == tls.certificate_pem &&
        now.key_pem == tls.key_pem)
      return Ok{};
    tls = now;
    return client->replace_tls(now);
  }

  // The server repeats itself with every request; the log need not.
  void log_warnings(const std::vector<std::string>& warnings) {
    for (const std::string& text : warnings) {
      if (warnings_seen.size() >= kMostWarningsKept) warnings_seen.clear();
      if (warnings_seen.insert(text).second) log.warn("the API server warns", {{"warning", text}});
    }
  }
};

// A running watch: reads bytes only when events are asked for.
class HttpTransport::Watch final : public kube::WatchStream {
 public:
  Watch(std::shared_ptr<Core> core, kube::KindId kind, std::unique_ptr<HttpStream> stream)
      : state_(std::make_shared<State>(std::move(core), kind, std::move(stream))) {}
  ~Watch() override {
    Executor& loop = state_->core->loop;
    loop.post([state = std::move(state_)] { state->stream.reset(); });
  }

  void read(Done<Batch> done) override {
    state_->core->loop.post([state = state_, d = std::move(done)]() mutable {
      state->want = std::move(d);
      state->pull();
    });
  }

 private:
  struct State : std::enable_shared_from_this<State> {
    State(std::shared_ptr<Core> core_in, kube::KindId kind_in,
          std::unique_ptr<HttpStream> stream_in)
        : core(std::move(core_in)),
          kind(kind_in),
          stream(std::move(stream_in)),
          lines(core->options.most_line) {}

    void pull() {
      if (failure) return want(tl::unexpected(*failure));
      if (core->scope.closing() || !stream)
        return want(tl::unexpected(cancelled(Outcome::kUnknown)));
      stream->read(core->scope.done<HttpStream::Chunk>(
          kNoLimit, [self = shared_from_this()](Result<HttpStream::Chunk> chunk) {
            self->on_chunk(std::move(chunk));
          }));
    }

    void on_chunk(Result<HttpStream::Chunk> chunk) {
      if (!chunk) return want(tl::unexpected(std::move(chunk.error())));
      Batch batch;
      std::string problem = "a watch event is too long";
      const bool good = lines.feed(chunk->bytes, [&](std::string_view line) {
        Result<kube::WatchEvent> event = kube::parse_watch_event(kind, line);
        if (event)
          batch.events.push_back(std::move(*event));
        else
          problem = "a watch event is not readable: " + event.error().message;
        return event.has_value();
      });
      if (!good) {
        failure = Error{.reason = Reason::kInternalError, .message = std::move(problem)};
        stream.reset();
      } else if (chunk->end && !lines.between_lines()) {
        failure = Error{.reason = Reason::kUnreachable,
                        .message = "the watch ended in the middle of an event",
                        .outcome = Outcome::kUnknown};
      } else {
        batch.end = chunk->end;
      }
      // What came before a failure is good and goes first.
      if (batch.events.empty() && !batch.end) return pull();
      want(std::move(batch));
    }

    std::shared_ptr<Core> core;
    kube::KindId kind;
    std::unique_ptr<HttpStream> stream;
    WatchLines lines;
    std::optional<Error> failure;
    Done<Batch> want;
  };
  std::shared_ptr<State> state_;
};

// One request: credentials, exchange, perhaps once more after a 401, decoding.
class HttpTransport::Call : public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<Core> core, ApiRequest request, net::HttpRequest http, Instant deadline,
       Done<ApiReply> done)
      : core_(std::move(core)),
        request_(std::move(request)),
        http_(std::move(http)),
        deadline_(deadline),
        done_(std::move(done)) {}

  bool is_watch() const { return request_.verb == Verb::kWatch; }
  // A lease is renewed in time or lost: it does not wait behind a burst of other writes.
  bool is_urgent() const { return request_.verb != Verb::kRaw && request_.kind == kube::kLease; }

  Instant deadline() const { return deadline_; }

  // While it queues.
  void cancel() { done_(tl::unexpected(cancelled(Outcome::kNotSent))); }
  void give_up() { done_(tl::unexpected(not_sent_in_time())); }

  void start() {
    if (core_->scope.closing()) return finish(tl::unexpected(cancelled(Outcome::kNotSent)));
    const Duration left = deadline_ - core_->loop.clock().now();
    if (left <= Duration{}) return too_late();
    core_->credentials->get(core_->scope.done<std::shared_ptr<const Secrets>>(
        left, [self = shared_from_this()](Result<std::shared_ptr<const Secrets>> secrets) {
          self->on_secrets(std::move(secrets));
        }));
  }

 private:
  void finish(Result<ApiReply> reply) {
    done_(std::move(reply));
    if (!is_watch()) core_->leave();
  }

  void too_late() { finish(tl::unexpected(not_sent_in_time())); }

  void on_secrets(Result<std::shared_ptr<const Secrets>> secrets) {
    if (!secrets && secrets.error().reason == Reason::kTimeout) return too_late();
    if (!secrets) return finish(tl::unexpected(std::move(secrets.error())));
    if (shown_ == *secrets)  // nothing better to show: the refusal stands
      return finish(tl::unexpected(std::move(refusal_)));
    shown_ = std::move(*secrets);
    if (Result<Ok> r = core_->use(shown_->tls); !r) {
      r.error().outcome = Outcome::kNotSent;
      return finish(tl::unexpected(std::move(r.error())));
    }
    send();
  }

  void send() {
    net::HttpRequest http = http_;
    const bool picky = http.headers.has("Accept");
    for (const auto& [name, value] : core_->headers.items())
      if (!picky || name != "Accept") http.headers.add(name, value);
    if (!shown_->authorization.empty()) http.headers.add("Authorization", shown_->authorization);
    if (request_.verb == Verb::kWatch)
      return core_->client->open(
          std::move(http), deadline_,
          core_->scope.done<std::unique_ptr<HttpStream>>(
              kNoLimit, [self = shared_from_this()](Result<std::unique_ptr<HttpStream>> r) {
                self->on_stream(std::move(r));
              }));
    core_->client->call(std::move(http), deadline_,
                        core_->scope.done<net::HttpResponse>(
                            kNoLimit, [self = shared_from_this()](Result<net::HttpResponse> r) {
                              self->on_response(std::move(r));
                            }));
  }

  // 401: once more with other credentials, if there are any.
  bool again(Error& error) {
    if (error.code != 401 || retried_ || !core_->credentials->rejected(shown_)) return false;
    retried_ = true;
    refusal_ = std::move(error);
    start();
    return true;
  }

  void on_response(Result<net::HttpResponse> response) {
    if (!response) return finish(tl::unexpected(std::move(response.error())));
    core_->log_warnings(read_warnings(response->headers));
    if (response->body.size() >= core_->options.offload_from) {
      core_->leave();
      core_->runtime.offload(
          core_->loop,
          [request = std::move(request_), r = std::move(*response),
           d = std::move(done_)]() mutable { d(read_reply(request, std::move(r))); },
          [] {});
      return;
    }
    Result<ApiReply> reply = read_reply(request_, std::move(*response));
    if (!reply && again(reply.error())) return;
    finish(std::move(reply));
  }

  void on_stream(Result<std::unique_ptr<HttpStream>> stream) {
    if (!stream) return finish(tl::unexpected(std::move(stream.error())));
    core_->log_warnings(read_warnings((*stream)->headers()));
    if ((*stream)->status() != 200) {
      refused_stream_ = std::move(*stream);
      return read_refusal();
    }
    ApiReply reply;
    reply.warnings = read_warnings((*stream)->headers());
    reply.body = std::make_unique<Watch>(core_, request_.kind, std::move(*stream));
    finish(std::move(reply));
  }

  void read_refusal() {
    refused_stream_->read(core_->scope.done<HttpStream::Chunk>(
        10s, [self = shared_from_this()](Result<HttpStream::Chunk> chunk) {
          self->on_refusal(std::move(chunk));
        }));
  }

  void on_refusal(Result<HttpStream::Chunk> chunk) {
    if (chunk) refusal_body_ += chunk->bytes;
    if (chunk && !chunk->end && refusal_body_.size() < kMostErrorBody) return read_refusal();
    Error error =
        read_error(request_, refused_stream_->status(), refused_stream_->headers(), refusal_body_);
    refused_stream_.reset();
    refusal_body_.clear();
    if (!again(error)) finish(tl::unexpected(std::move(error)));
  }

  std::shared_ptr<Core> core_;
  ApiRequest request_;
  net::HttpRequest http_;
  Instant deadline_;
  Done<ApiReply> done_;
  std::shared_ptr<const Secrets> shown_;
  bool retried_ = false;
  Error refusal_;
  std::unique_ptr<HttpStream> refused_stream_;
  std::string refusal_body_;
};

void HttpTransport::Core::enter(std::shared_ptr<Call> call) {
  if (call->is_watch()) return call->start();
  if (in_flight < options.connections) {
    ++in_flight;
    return call->start();
  }
  if (call->deadline().since_start != kNoLimit)
    scope.after(
        call->deadline() - loop.clock().now(),
        [this, waiting = std::weak_ptr<Call>(call)] { expire(waiting.lock()); },
        Timer::kBackground);
  queue.insert(call->is_urgent() ? queue.begin() : queue.end(), std::move(call));
}

void HttpTransport::Core::expire(const std::shared_ptr<Call>& call) {
  const auto at = std::find(queue.begin(), queue.end(), call);
  if (at == queue.end()) return;  // it had its turn
  queue.erase(at);
  call->give_up();
}

void HttpTransport::Core::leave() {
  --in_flight;
  if (queue.empty() || in_flight >= options.connections) return;
  // Posted: a long queue of calls that are too late must not become a deep stack.
  ++in_flight;
  loop.post([call = std::move(queue.front())] { call->start(); });
  queue.pop_front();
}

Result<std::unique_ptr<HttpTransport>> HttpTransport::create(Runtime& runtime, ClusterConfig config,
                                                             const Logger& log,
                                                             HttpTransportOptions options,
                                                             Surroundings surroundings) {
  Result<net::TlsClientOptions> tls = tls_of(config, surroundings);
  if (!tls) return tl::unexpected(tls.error());
  Executor& loop = runtime.loop(options.loop);
  auto core = std::make_shared<Core>(runtime, loop, log);
  core->prefix = config.url.prefix;
  core->headers.add("Accept", "application/json");
  core->headers.add("User-Agent", full_user_agent(options.user_agent));
  if (!config.as.user.empty()) core->headers.add("Impersonate-User", config.as.user);
  if (!config.as.uid.empty()) core->headers.add("Impersonate-Uid", config.as.uid);
  for (const std::string& group : config.as.groups) core->headers.add("Impersonate-Group", group);
  for (const auto& [key, values] : config.as.extra)
    for (const std::string& value : values)
      core->headers.add("Impersonate-Extra-" + net::percent_encode(key), value);

  net::HttpClientOptions http{
      .origin = config.url.origin,
      .tls = *tls,
      .limits = options.limits,
      .idle_connections = options.connections,
      // On one machine compressing costs more than sending.
      .accept_gzip = !config.disable_compression && !is_loopback(config.url.origin.host)};
  Result<std::unique_ptr<net::HttpClient>> client = net::HttpClient::create(loop, std::move(http));
  if (!client) return invalid(fmt::format("{}: {}", config.origin, client.error().message));
  core->client = std::move(*client);
  core->tls = *tls;
  core->options = std::move(options);
  core->credentials = std::make_unique<Credentials>(runtime, core->scope, std::move(config),
                                                    std::move(*tls), std::move(surroundings), log);
  return std::unique_ptr<HttpTransport>(new HttpTransport(std::move(core)));
}

HttpTransport::HttpTransport(std::shared_ptr<Core> core) : core_(std::move(core)) {}

HttpTransport::~HttpTransport() {
  Executor& loop = core_->loop;
  std::promise<void> promise;
  const std::future<void> closed = promise.get_future();
  loop.post([core = std::move(core_), p = std::move(promise)]() mutable {
    Scope& scope = core->scope;
    const auto queue = std::exchange(core->queue, {});
    scope.close(0s, [core = std::move(core), p = std::move(p)]() mutable { p.set_value(); });
    for (const auto& call : queue) call->cancel();
  });
  // A loop that has ended drops the task and with it the promise, which ends the wait too.
  if (!loop.here()) closed.wait();
}

void HttpTransport::call(ApiRequest request, Instant deadline, Done<ApiReply> done) {
  Result<net::HttpRequest> http = to_http(request, core_->prefix);
  if (!http) return done(tl::unexpected(std::move(http.error())));
  // The body went into the HTTP form; nothing below looks at it.
  request.body = {};
  auto call = std::make_shared<Call>(core_, std::move(request), std::move(*http), deadline,
                                     std::move(done));
  core_->loop.post([core = core_.get(), call = std::move(call)] { core->enter(call); });
}

}  // namespace berth::client
