// SPDX-License-Identifier: Apache-2.0
#include "visitor.h"

#include <fmt/format.h>

#include "client/local_transport.h"
#include "gateway/service.h"
#include "kube/ours/ours.h"

namespace berth::controllers::stories {
namespace {

constexpr Duration kPause = 1s, kPatience = 10s;

// Everybody is somebody, and may do everything: rights are told of elsewhere.
class Reviews final : public client::Transport {
 public:
  Reviews(client::Transport& inner, const faults::FakeServer& server, GatewayFault fault)
      : inner_(inner), server_(server), fault_(fault) {}
  void call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) override {
    if (fault_ == GatewayFault::kStoresNothing && request.verb == kube::Verb::kCreate &&
        request.kind == kube::thesis_kinds().scheduling) {
      kube::ApiReply reply;
      reply.body = *Object::parse(request.kind, *request.body.bytes);
      return done(std::move(reply));
    }
    const bool token = request.kind == kube::kTokenReview;
    if (!token && request.kind != kube::kSubjectAccessReview)
      return inner_.call(std::move(request), deadline, std::move(done));
    if (server_.away()) return done(fail(Reason::kUnreachable, "connection refused"));
    kube::ApiReply reply;
    reply.code = 201;
    reply.body = *Object::parse(
        request.kind, token ? R"({"status":{"authenticated":true,"user":{"username":"alice"}}})"
                            : R"({"status":{"allowed":true}})");
    done(std::move(reply));
  }

 private:
  client::Transport& inner_;
  const faults::FakeServer& server_;
  GatewayFault fault_;
};

struct Gateway final : Component {
  Gateway(Lab& lab, Env& env, GatewayFault fault)
      : scope(env.runtime.loop("gateway"), "gateway"),
        wire(lab.world.loop("api"), lab.server, {}),
        reviews(wire, lab.server, fault),
        service(scope, reviews, env.metrics, env.log, env.random, {}) {
    service.start();
  }
  Scope scope;
  client::LocalTransport wire;
  Reviews reviews;
  gateway::Service service;
};

}  // namespace

std::size_t spawn_gateway(Lab& lab, GatewayFault fault) {
  return lab.spawn("gateway", [&lab, fault](Env& env) -> std::unique_ptr<Component> {
    return std::make_unique<Gateway>(lab, env, fault);
  });
}

Visitor::Visitor(Lab& lab, std::size_t gateway) : lab_(lab), gateway_(gateway) {
  lab_.world.loop("visitor").post([this] { tick(); });
}

void Visitor::submit(const std::string& name, std::string_view jobs) {
  std::string queue;
  for (const char job : jobs) queue += fmt::format("{}\"{}\"", queue.empty() ? "" : ",", job);
  wishes_[name].body = fmt::format(R"({{"name":"{}","testBed":"tb","queue":[{}]}})", name, queue);
  open_.insert(name);
}
void Visitor::erase(const std::string& name) {
  wishes_[name].unwanted = true;
  open_.erase(name);
}
std::set<std::string> Visitor::completed() const {
  std::set<std::string> names;
  for (const auto& [name, wish] : wishes_)
    if (wish.complete && !wish.unwanted) names.insert(name);
  return names;
}

void Visitor::tick() {
  for (auto at = wishes_.begin(); at != wishes_.end();) {
    Wish& wish = at->second;
    if (wish.client && !understood(at->first, wish)) {
      at = wishes_.erase(at);
      continue;
    }
    if (!wish.client && (!wish.complete || wish.unwanted)) ask(at->first, wish);
    ++at;
  }
  Executor& loop = lab_.world.loop("visitor");
  loop.at(
      loop.clock().now() + kPause, [this] { tick(); }, Timer::kBackground);
}

bool Visitor::understood(const std::string& name, Wish& wish) {
  const bool late = lab_.world.clock().now() - wish.since > kPatience;
  if (!wish.client->sent) {
    if (!wish.client->abandoned && !late) return true;
    ++unanswered;
    wish.client = nullptr;
    return true;
  }
  const net::HttpResponse reply = *wish.client->sent;
  wish.client = nullptr;
  const bool good = reply.status / 100 == 2;
  const bool later = reply.status >= 500 || reply.status == 429;
  if (later) {
    ++unanswered;
    return true;
  }
  ++answers;
  if (wish.unwanted) {
    if (!good && reply.status != 404)
      wrongs.push_back(fmt::format("{} is not erased: {} {}", name, reply.status, reply.body));
    // One who did not hear of the first deletion hears of nothing the second time.
    return !good && reply.status != 404;
  }
  if (!wish.stored) {
    // It may have been stored when it was asked for before.
    wish.stored = good || reply.status == 409;
    if (!wish.stored)
      wrongs.push_back(fmt::format("{} is refused: {} {}", name, reply.status, reply.body));
    else if (!lab_.get(kube::thesis_kinds().scheduling, {"default", name}).valid())
      wrongs.push_back(fmt::format("{} was accepted and is not there", name));
    return true;
  }
  wish.complete = good && json::Slice(std::string_view(reply.body))["state"].equals("Completed");
  return true;
}

void Visitor::ask(const std::string& name, Wish& wish) {
  berth::Process& process = lab_.process(gateway_);
  if (!process.alive()) return;
  net::HttpRequest request{.target = "/external/v1/schedulings"};
  if (wish.stored || wish.unwanted) request.target += "/" + name;
  if (wish.unwanted) {
    request.method = "DELETE";
  } else if (!wish.stored) {
    request.method = "POST";
    request.body = wish.body;
  }
  request.headers.add("Host", "127.0.0.1:8080");
  request.headers.add("Authorization", "Bearer alices");
  wish.client = std::make_shared<net::FakeClient>();
  wish.since = lab_.world.clock().now();
  process.loop("gateway").post(
      [&process, client = wish.client, request = std::move(request)]() mutable {
        process.get<Gateway>().service.gateway().door().handle(
            std::move(request), {.address = "127.0.0.1:1000", .identity = {}, .certificates = {}},
            net::HttpReply(std::make_shared<net::FakeReply>(client)));
      });
}

}  // namespace berth::controllers::stories
