// SPDX-License-Identifier: Apache-2.0
#include "controllers/admission/door.h"

namespace berth::controllers {
namespace {

// An object of 1.5 MiB, and the one before it.
constexpr std::size_t kMostBody = std::size_t{8} << 20;

net::HttpResponse reply(int status, std::string text, std::string type) {
  net::HttpResponse response{.status = status, .body = std::move(text)};
  response.headers.add("Content-Type", std::move(type));
  return response;
}
net::HttpResponse plain(int status, std::string text) {
  return reply(status, std::move(text), "text/plain; charset=utf-8");
}

}  // namespace

struct AdmissionDoor::Core {
  Core(Look how, Metrics& metrics)
      : look(std::move(how)),
        reviews(metrics.counters("berth_admission_reviews_total",
                                 "What API servers asked about, and the verdict",
                                 {"path", "verdict"})) {}

  net::HttpResponse answer(const net::HttpRequest& request) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path == "/healthz") return plain(200, "ok");
    if (request.method != "POST") {
      net::HttpResponse refused = plain(405, "405 method not allowed\n");
      refused.headers.add("Allow", "POST");
      return refused;
    }
    const Result<std::string> said = admission::answer(path, request.body, look());
    if (!said) {
      if (said.error().reason != Reason::kNotFound) reviews.with({path, "bad"}).add();
      return plain(http_code_of(said.error().reason), said.error().message + "\n");
    }
    const bool allowed = json::Slice(*said)["response"]["allowed"].boolean();
    reviews.with({path, allowed ? "allowed" : "refused"}).add();
    return reply(200, *said, "application/json");
  }

  Look look;
  Labelled<Counter> reviews;
};

AdmissionDoor::AdmissionDoor(Executor& home, Look look, Metrics& metrics)
    : home_(home), core_(std::make_shared<Core>(std::move(look), metrics)) {}
AdmissionDoor::~AdmissionDoor() = default;

net::HttpServerOptions AdmissionDoor::server_options() {
  net::HttpServerOptions options;
  options.limits.request_body_bytes = kMostBody;
  return options;
}

void AdmissionDoor::handle(net::HttpRequest request, const net::HttpPeer&, net::HttpReply reply) {
  home_.post([core = core_, request = std::move(request), reply = std::move(reply)]() mutable {
    reply.send(core->answer(request));
  });
}

}  // namespace berth::controllers
