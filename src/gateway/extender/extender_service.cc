// SPDX-License-Identifier: Apache-2.0
#include "gateway/extender/extender_service.h"

#include <fmt/format.h>

#include "scheduler/plugins/registry.h"

namespace berth::gateway {
namespace {

// A scheduler that sends whole nodes sends ten thousand of them at times.
constexpr std::size_t kMostBody = std::size_t{64} << 20;
constexpr Duration kAnswerLimit = 10s;

net::HttpResponse text_reply(int status, std::string text,
                             std::string type = "text/plain; charset=utf-8") {
  net::HttpResponse response{.status = status, .body = std::move(text)};
  response.headers.add("Content-Type", std::move(type));
  return response;
}
net::HttpResponse json_reply(std::string body) {
  return text_reply(200, std::move(body), "application/json");
}

}  // namespace

ExtenderService::ExtenderService(Scope& scope, client::Transport& transport, Metrics& metrics,
                                 Logger log, const Random& random)
    : scope_(scope),
      log_(std::move(log)),
      metrics_(metrics),
      api_(scope, transport, random.fork("api")),
      events_(scope, api_, random.fork("events"),
              {.controller = "berth-extender", .instance = "berth-extender", .metrics = &metrics}),
      feeds_(scope, transport, random.fork("feeds"), &metrics),
      door_(scope, api_, feeds_.board(), &events_, metrics),
      scavengers_(scope, transport, api_, metrics_, log_, random.fork("scavengers"),
                  scheduler::default_profile()),
      requests_(metrics.counters("berth_extender_requests_total",
                                 "What schedulers asked the extender, and how it ended",
                                 {"verb", "result"})),
      seconds_(metrics.histograms("berth_extender_seconds", "How long an answer took", {"verb"},
                                  {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2})) {}
ExtenderService::~ExtenderService() = default;

void ExtenderService::start() {
  feeds_.start();
  scavengers_.start();
}

net::HttpServerOptions ExtenderService::server_options() {
  net::HttpServerOptions options;
  options.limits.request_body_bytes = kMostBody;
  return options;
}

void ExtenderService::handle(net::HttpRequest request, const net::HttpPeer&, net::HttpReply reply) {
  answer(std::move(request), [reply = std::move(reply)](net::HttpResponse response) mutable {
    reply.send(std::move(response));
  });
}

void ExtenderService::answer(net::HttpRequest request, Send send) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const bool verb =
      path == "/slots/filter" || path == "/slots/preempt" || path == "/scavengers/preempt";
  const bool page =
      path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/metrics";
  if (!verb && !page) return send(text_reply(404, "404 page not found\n"));
  if (request.method != (verb ? "POST" : "GET")) {
    net::HttpResponse refused = text_reply(405, "405 method not allowed\n");
    refused.headers.add("Allow", verb ? "POST" : "GET");
    return send(std::move(refused));
  }
  if (path == "/slots/filter") return filter(request.body, measured("filter", std::move(send)));
  if (path == "/slots/preempt") return preempt(request.body, measured("preempt", std::move(send)));
  if (path == "/scavengers/preempt")
    return interrupt(request.body, measured("interrupt", std::move(send)));
  if (path == "/metrics")
    return send(text_reply(200, metrics_.exposition(), "text/plain; version=0.0.4"));
  if (path == "/readyz" && !ready())
    return send(text_reply(503, "what the cluster holds is not known yet\n"));
  send(text_reply(200, "ok"));
}

ExtenderService::Send ExtenderService::measured(std::string verb, Send send) {
  return [this, verb = std::move(verb), send = std::move(send),
          since = scope_.executor().clock().now()](net::HttpResponse response) {
    seconds_.with({verb}).observe(
        std::chrono::duration<double>(scope_.executor().clock().now() - since).count());
    requests_.with({verb, response.status == 200 ? "ok" : "bad"}).add();
    send(std::move(response));
  };
}

void ExtenderService::filter(const std::string& body, Send send) {
  auto question = scheduler::read_filter_request(body);
  if (!question) return send(text_reply(400, question.error().message + "\n"));
  const bool names_only = question->names_only;
  const std::string pod = question->args.pod.key().text();
  door_.filter(std::move(question->args),
               scope_.done<scheduler::ExtenderFilterResult>(
                   kAnswerLimit, [this, send = std::move(send), names_only,
                                  pod](Result<scheduler::ExtenderFilterResult> result) {
                     if (!result)  // no node: it is asked again
                       return send(json_reply(scheduler::filter_reply({}, names_only)));
                     log_.debug("filtered", {{"pod", pod}, {"kept", result->kept.size()}});
                     send(json_reply(scheduler::filter_reply(*result, names_only)));
                   }));
}

void ExtenderService::preempt(const std::string& body, Send send) {
  auto args = scheduler::read_preempt_request(body);
  if (!args) return send(text_reply(400, args.error().message + "\n"));
  const std::string pod = args->pod.key().text();
  door_.preempt(*std::move(args),
                scope_.done<scheduler::VictimsByNode>(
                    kAnswerLimit,
                    [this, send = std::move(send), pod](Result<scheduler::VictimsByNode> result) {
                      if (!result) return send(json_reply(scheduler::preempt_reply({})));
                      log_.debug("preempts", {{"pod", pod}, {"nodes", result->size()}});
                      send(json_reply(scheduler::preempt_reply(*result)));
                    }));
}

void ExtenderService::interrupt(const std::string& body, const Send& send) {
  auto args = scheduler::read_preempt_request(body);
  if (!args) return send(text_reply(400, args.error().message + "\n"));
  send(json_reply(scheduler::preempt_reply(scavengers_.preempt(*std::move(args)))));
}

}  // namespace berth::gateway
