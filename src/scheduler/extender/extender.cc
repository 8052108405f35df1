// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender.h"

#include <array>
#include <deque>

#include <fmt/format.h>

#include "client/one_line.h"
#include "kube/pod_view.h"
#include "net/http_client.h"

namespace berth::scheduler {
namespace {

enum class Verb : std::uint8_t { kFilter, kPrioritize, kPreempt, kBind };
constexpr std::size_t kVerbs = 4;
constexpr int kMostRedirects = 10;

std::size_t bytes_of(const kube::Object& object) { return object.valid() ? object.bytes() : 0; }

std::size_t bytes_of(const ExtenderArgs& args) {
  std::size_t bytes = bytes_of(args.pod);
  for (const kube::Object& node : args.nodes) bytes += bytes_of(node);
  for (const std::string& name : *args.names) bytes += name.size() + 3;
  return bytes;
}

std::size_t bytes_of(const ExtenderPreemptArgs& args) {
  std::size_t bytes = bytes_of(args.pod);
  for (const auto& [node, victims] : args.victims) {
    bytes += node.size() + victims.uids.size() * 50;
    for (const kube::Object& pod : victims.pods) bytes += bytes_of(pod);
  }
  return bytes;
}

bool has_any(json::Slice resources, const std::set<std::string, std::less<>>& names) {
  for (const auto [name, amount] : resources.members())
    if (names.contains(name)) return true;
  return false;
}

bool same_origin(const net::Origin& a, const net::Origin& b) {
  return a.tls == b.tls && net::same_token(a.host, b.host) && a.port == b.port;
}

// Where a 307 or 308 leads, as a path below the extender's own origin; "" when it leads elsewhere.
std::string redirected(const net::Origin& origin, std::string_view location) {
  if (location.starts_with('/') && !location.starts_with("//")) return std::string(location);
  const std::size_t scheme = location.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::size_t path = std::min(location.find('/', scheme + 3), location.size());
  const auto url = net::parse_url(location.substr(0, path));
  if (!url || !same_origin(url->origin, origin)) return {};
  return path == location.size() ? "/" : std::string(location.substr(path));
}

}  // namespace

struct Extender::Call {
  Verb verb{};
  std::string verb_text;  // as configured
  std::size_t bytes = 0;  // what the request will weigh, about
  Fn<std::string()> encode;
  Fn<void(Result<std::string_view>)> answer;  // takes the reply's body
  // Once it runs.
  std::string target = {};
  Instant deadline = {};
  int redirects = 0;
};

// The loop's half. Loop-confined.
struct Extender::Core : std::enable_shared_from_this<Core> {
  Core(Scope& s, const ExtenderConfig& config, std::unique_ptr<ExtenderTransport> t,
       ExtenderLimits l)
      : scope(s), transport(std::move(t)), limits(l), url(config.url_prefix) {
    while (url.ends_with('/')) url.pop_back();
    timeout = config.http_timeout == Duration{} ? kDefaultExtenderTimeout : config.http_timeout;
    if (auto parsed = net::parse_url(config.url_prefix)) base = std::move(*parsed);
  }

  void enter(std::unique_ptr<Call> call) {
    if (waiting >= limits.waiting)
      return fail(*call, {.reason = Reason::kTooManyRequests,
                          .message = "too many calls wait for it",
                          .outcome = Outcome::kNotSent});
    ++waiting;
    lines[static_cast<std::size_t>(call->verb)].push_back(std::move(call));
    pump();
  }

  // The verbs take turns, so that binds do not wait for a crowd of filters.
  void pump() {
    for (std::size_t empty = 0; empty < kVerbs && in_flight < limits.concurrency;) {
      auto& line = lines[next];
      if (line.empty()) {
        next = (next + 1) % kVerbs;
        ++empty;
        continue;
      }
      if (in_flight > 0 && bytes + line.front()->bytes > limits.bytes) return;
      std::shared_ptr<Call> call = std::move(line.front());
      line.pop_front();
      next = (next + 1) % kVerbs;
      empty = 0;
      --waiting;
      ++in_flight;
      bytes += call->bytes;
      call->deadline = scope.executor().clock().now() + timeout;
      call->target = fmt::format("{}/{}", base.prefix, call->verb_text);
      send(call);
    }
  }

  void send(const std::shared_ptr<Call>& call) {
    const Duration left = call->deadline - scope.executor().clock().now();
    std::string body = call->encode();
    const std::size_t most = limits.reply_bytes + 2 * body.size();
    transport->post(call->target, std::move(body), most, call->deadline,
                    scope.done<ExtenderReply>(
                        left, [self = shared_from_this(), call](Result<ExtenderReply> reply) {
                          self->on_reply(call, std::move(reply));
                        }));
  }

  void on_reply(const std::shared_ptr<Call>& call, Result<ExtenderReply> reply) {
    if (reply && (reply->status == 307 || reply->status == 308) &&
        call->redirects < kMostRedirects) {
      const std::string target = redirected(base.origin, reply->location);
      if (!target.empty() && call->deadline > scope.executor().clock().now()) {
        ++call->redirects;
        call->target = target;
        return send(call);
      }
    }
    --in_flight;
    bytes -= call->bytes;
    if (!reply)
      fail(*call, std::move(reply.error()));
    else if (reply->status != 200)
      call->answer(tl::unexpected(refusal(*call, *reply)));
    else
      call->answer(reply->body);
    if (!closed) pump();
  }

  std::string url_of(const Call& call) const { return fmt::format("{}/{}", url, call.verb_text); }

  Error refusal(const Call& call, const ExtenderReply& reply) const {
    std::string message = fmt::format("failed {} with extender at URL {}, code {}", call.verb_text,
                                      url_of(call), reply.status);
    if (reply.status / 100 == 3 && !reply.location.empty())
      message += fmt::format(", which leads to {}; configure that URL if it is right",
                             client::one_line(reply.location, 200));
    return {.reason = reason_of_http_code(reply.status),
            .message = std::move(message),
            .code = reply.status};
  }

  void fail(Call& call, Error error) const {
    error.message = fmt::format("failed {} with extender at URL {}: {}", call.verb_text,
                                url_of(call), error.message);
    call.answer(tl::unexpected(std::move(error)));
  }

  void close() {
    closed = true;
    for (auto& line : lines) line.clear();  // drops their Dones
    transport.reset();
  }

  Scope& scope;
  std::unique_ptr<ExtenderTransport> transport;
  const ExtenderLimits limits;
  std::string url;  // without trailing slashes
  net::Url base;
  Duration timeout{};
  std::array<std::deque<std::unique_ptr<Call>>, kVerbs> lines;
  std::size_t next = 0, waiting = 0, in_flight = 0, bytes = 0;
  bool closed = false;
};

Extender::Extender(Scope& scope, ExtenderConfig config,
                   std::unique_ptr<ExtenderTransport> transport, ExtenderLimits limits)
    : config_(std::move(config)),
      loop_(scope.executor()),
      core_(std::make_shared<Core>(scope, config_, std::move(transport), limits)) {
  for (const ManagedResource& resource : config_.managed_resources) managed_.insert(resource.name);
}

Extender::~Extender() {
  loop_.post([core = std::move(core_)] { core->close(); });
}

bool Extender::interested(const kube::Object& pod) const {
  if (managed_.empty()) return true;
  const kube::PodView view(pod);
  for (const json::Slice list : {view.containers(), view.init_containers()})
    for (const json::Slice container : list.elements()) {
      const json::Slice resources = container["resources"];
      if (has_any(resources["requests"], managed_) || has_any(resources["limits"], managed_))
        return true;
    }
  return false;
}

void Extender::enter(std::unique_ptr<Call> call) {
  loop_.post([core = core_, c = std::move(call)]() mutable {
    if (!core->closed) core->enter(std::move(c));
  });
}

namespace {

// What a reply that cannot be used is answered with.
tl::unexpected<Error> unreadable(const std::string& url, std::string_view verb, Error error) {
  // k8s 1.36: what an extender says itself is passed on word by word.
  if (error.reason != Reason::kInvalid) return tl::unexpected(std::move(error));
  return tl::unexpected(
      Error{.reason = Reason::kInternalError,
            .message = fmt::format("extender {}: the reply to {} cannot be used: {}", url, verb,
                                   client::one_line(error.message)),
            .outcome = Outcome::kUnknown});
}

}  // namespace

void Extender::filter(ExtenderArgs args, Done<ExtenderFilterResult> done) {
  if (!filters()) {
    ExtenderFilterResult all;
    for (const std::string& name : *args.names) all.kept.push_back({name, {}});
    return done(std::move(all));
  }
  const bool names_only = config_.node_cache_capable;
  auto shared = std::make_shared<const ExtenderArgs>(std::move(args));
  enter(std::unique_ptr<Call>(
      new Call{.verb = Verb::kFilter,
               .verb_text = config_.filter_verb,
               .bytes = bytes_of(*shared),
               .encode = [shared, names_only] { return extender_request(*shared, names_only); },
               .answer =
                   [shared, names_only, url = name(), verb = config_.filter_verb,
                    d = std::move(done)](Result<std::string_view> body) mutable {
                     if (!body) return d(tl::unexpected(std::move(body.error())));
                     auto result = read_filter_reply(*body, *shared, names_only, url);
                     if (!result) return d(unreadable(url, verb, std::move(result.error())));
                     d(std::move(*result));
                   }}));
}

void Extender::prioritize(ExtenderArgs args, Done<HostScores> done) {
  if (!prioritizes()) {
    HostScores none;
    for (const std::string& name : *args.names) none.hosts.push_back({name, 0});
    return done(std::move(none));
  }
  const bool names_only = config_.node_cache_capable;
  auto shared = std::make_shared<const ExtenderArgs>(std::move(args));
  enter(std::unique_ptr<Call>(
      new Call{.verb = Verb::kPrioritize,
               .verb_text = config_.prioritize_verb,
               .bytes = bytes_of(*shared),
               .encode = [shared, names_only] { return extender_request(*shared, names_only); },
               .answer =
                   [url = name(), verb = config_.prioritize_verb, weight = config_.weight,
                    d = std::move(done)](Result<std::string_view> body) mutable {
                     if (!body) return d(tl::unexpected(std::move(body.error())));
                     auto hosts = read_prioritize_reply(*body);
                     if (!hosts) return d(unreadable(url, verb, std::move(hosts.error())));
                     d(HostScores{std::move(*hosts), weight});
                   }}));
}

void Extender::preempt(ExtenderPreemptArgs args, Done<VictimsByNode> done) {
  if (!preempts())
    return done(
        fail(Reason::kMethodNotAllowed, fmt::format("extender {} has no preempt verb", name())));
  const bool uids_only = config_.node_cache_capable;
  auto shared = std::make_shared<const ExtenderPreemptArgs>(std::move(args));
  enter(std::unique_ptr<Call>(
      new Call{.verb = Verb::kPreempt,
               .verb_text = config_.preempt_verb,
               .bytes = bytes_of(*shared),
               .encode = [shared, uids_only] { return extender_request(*shared, uids_only); },
               .answer =
                   [url = name(), verb = config_.preempt_verb,
                    d = std::move(done)](Result<std::string_view> body) mutable {
                     if (!body) return d(tl::unexpected(std::move(body.error())));
                     auto victims = read_preempt_reply(*body);
                     if (!victims) return d(unreadable(url, verb, std::move(victims.error())));
                     d(std::move(*victims));
                   }}));
}

void Extender::bind(ExtenderBindArgs args, Done<Ok> done) {
  if (!binds())
    return done(
        fail(Reason::kMethodNotAllowed, fmt::format("extender {} has no bind verb", name())));
  enter(std::unique_ptr<Call>(
      new Call{.verb = Verb::kBind,
               .verb_text = config_.bind_verb,
               .bytes = 1024,
               .encode = [a = std::move(args)] { return extender_request(a); },
               .answer =
                   [url = name(), verb = config_.bind_verb,
                    d = std::move(done)](Result<std::string_view> body) mutable {
                     if (!body) return d(tl::unexpected(std::move(body.error())));
                     auto bound = read_bind_reply(*body);
                     if (!bound) return d(unreadable(url, verb, std::move(bound.error())));
                     d(Ok{});
                   }}));
}

Result<std::unique_ptr<Extender>> make_extender(Scope& scope, ExtenderConfig config,
                                                ExtenderLimits limits,
                                                const client::Surroundings& surroundings) {
  auto transport = connect_extender(scope, config, limits.concurrency, surroundings);
  if (!transport) return tl::unexpected(std::move(transport.error()));
  return std::make_unique<Extender>(scope, std::move(config), std::move(*transport), limits);
}

}  // namespace berth::scheduler
