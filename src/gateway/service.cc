// SPDX-License-Identifier: Apache-2.0
#include "gateway/service.h"

#include "gateway/openapi.h"
#include "gateway/replies.h"
#include "gateway/sse.h"
#include "gateway/stomp_session.h"

namespace berth::gateway {
namespace {

void mount_metrics(Routes& routes, const Metrics& metrics) {
  routes.add({.path = "/metrics",
              .rights = {{.verb = "get", .path = "/metrics"}},
              .handle =
                  [&metrics](const Request&, const kube::User&, Done<Reply> done) {
                    done(Reply{.body = metrics.exposition(),
                               .content_type = "text/plain; version=0.0.4; charset=utf-8"});
                  },
              .doc = {.summary = "Counters and gauges in Prometheus' text"}});
}

void mount_health(Routes& routes, const Feeds& feeds) {
  const auto text = [](std::string word, int code = 200) {
    return Reply{.code = code, .body = std::move(word), .content_type = "text/plain"};
  };
  routes.add(
      {.path = "/healthz",
       .entry = Entry::kOpen,
       .handle = [text](const Request&, const kube::User&, Done<Reply> done) { done(text("ok")); },
       .doc = {.summary = "Whether it runs"}});
  routes.add({.path = "/readyz",
              .entry = Entry::kOpen,
              .handle =
                  [text, &feeds](const Request&, const kube::User&, Done<Reply> done) {
                    done(feeds.synced() ? text("ok") : text("the cluster is not seen yet", 503));
                  },
              .doc = {.summary = "Whether it has seen the cluster"}});
}

}  // namespace

Service::Service(Scope& scope, client::Transport& transport, Metrics& metrics, const Logger& log,
                 const Random& random, ServiceOptions options)
    : gateway_(scope, transport, metrics, log, std::move(options.gateway)),
      api_(scope, transport, random.fork("writes")),
      feeds_(scope, transport, random.fork("feeds"), metrics, std::move(options.feeds)),
      slots_(scope, transport, random.fork("slots"), metrics, feeds_),
      timelines_(scope, feeds_, slots_, options.runtime),
      rest_(scope, api_, feeds_, gateway_.auth(), timelines_,
            {.ns = options.ns, .strict_status = options.strict_status}) {
  Routes& routes = gateway_.routes();
  rest_.mount(routes);
  mount_events(routes, feeds_, options.ns);
  mount_stomp(routes, {.gateway = gateway_,
                       .feeds = feeds_,
                       .options = {.ns = options.ns, .submit = rest_.submit()}});
  mount_openapi(routes);
  mount_health(routes, feeds_);
  mount_metrics(routes, metrics);
}

Service::~Service() = default;

void Service::start() {
  feeds_.start();
  slots_.start();
}

}  // namespace berth::gateway
