// SPDX-License-Identifier: Apache-2.0
#include "client/http_transport.h"

#include <deque>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/surroundings_fake.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace berth::client {
namespace {

using kube::ApiReply;
using kube::ApiRequest;
using kube::Verb;
using kube::WatchStream;
using testing::ElementsAre;
using testing::HasSubstr;

ApiRequest on(Verb verb, kube::KindId kind, std::string ns, std::string name) {
  return {.verb = verb, .kind = kind, .ns = std::move(ns), .name = std::move(name)};
}

std::string status(int code, std::string_view reason, std::string_view details = "{}") {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no: {}","reason":"{}",)"
      R"("details":{},"code":{}}})",
      reason, reason, details, code);
}

std::string added(std::string_view name, int revision) {
  return fmt::format(
      R"({{"type":"ADDED","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}",)"
      R"("namespace":"lab","resourceVersion":"{}"}}}}}})",
      name, revision);
}

// An API server that answers as it is told, and notes what it was asked.
class HttpTransportTest : public testing::Test, public net::HttpHandler {
 protected:
  using Answer = std::function<void(const net::HttpRequest&, net::HttpReply)>;

  ~HttpTransportTest() override {
    transport.reset();
    server.reset();
    wait<Ok>([this](Done<Ok> done) {
      auto shared = std::make_shared<Done<Ok>>(std::move(done));
      (*shared)(Ok{});
    });
    std::promise<void> closed;
    home.post([&] { scope->close(0s, [&] { closed.set_value(); }); });
    closed.get_future().wait();
  }

  void handle(net::HttpRequest request, const net::HttpPeer& peer, net::HttpReply reply) override {
    Answer answer;
    {
      const std::lock_guard lock(mutex);
      asked.push_back(request.method + " " + request.target);
      requests.push_back(request);
      identities.push_back(peer.identity ? peer.identity->common_name : "");
      if (!answers.empty()) {
        answer = std::move(answers.front());
        answers.pop_front();
      }
    }
    if (answer) return answer(request, std::move(reply));
    reply.send({.status = 500, .headers = {}, .body = "the script has ended"});
  }

  void answer(int code, std::string body, net::Headers headers = {}) {
    answers.push_back([=](const net::HttpRequest&, net::HttpReply reply) mutable {
      headers.set("Content-Type", "application/json");
      reply.send({.status = code, .headers = headers, .body = body});
    });
  }
  // A body in these pieces, each sent when the one before has left.
  void stream(std::vector<std::string> pieces, bool end = true) {
    answers.push_back([=, this](const net::HttpRequest&, net::HttpReply reply) {
      net::Headers headers;
      headers.add("Content-Type", "application/json");
      reply.begin(200, headers);
      send_piece(std::make_shared<net::HttpReply>(std::move(reply)), pieces, 0, end);
    });
  }
  void send_piece(std::shared_ptr<net::HttpReply> reply, std::vector<std::string> pieces,
                  std::size_t index, bool end) {
    if (index == pieces.size()) {
      if (end)
        reply->end();
      else
        open_reply = reply;
      return;
    }
    home.post([=, this] {
      reply->write(pieces[index], scope->done<Ok>(30s, [=, this](Result<Ok> sent) {
        if (sent) send_piece(reply, pieces, index + 1, end);
      }));
    });
  }

  void serve(std::optional<net::TlsServerOptions> tls = {}) {
    server = net::HttpServer::start(runtime.loop("server"), {.tls = std::move(tls)}, *this).value();
    config.origin = "test";
    config.url.origin = {.tls = false, .host = "127.0.0.1", .port = server->port()};
  }
  void serve_tls() {
    authority = net::make_authority("test authority").value();
    net::CertificateRequest request;
    request.common_name = "server";
    request.ip_addresses = {"127.0.0.1"};
    const net::KeyPair pair = net::issue_certificate(authority, request).value();
    net::TlsServerOptions tls;
    tls.certificate_pem = pair.certificate_pem;
    tls.key_pem = pair.key_pem;
    tls.client_ca_pem = authority.certificate_pem;
    serve(tls);
    config.url.origin.tls = true;
    config.ca.data = authority.certificate_pem;
  }
  void connect(HttpTransportOptions options = {}) {
    Result<std::unique_ptr<HttpTransport>> made =
        HttpTransport::create(runtime, config, log, options, here.get());
    ASSERT_TRUE(made) << made.error().message;
    transport = std::move(*made);
  }

  template <class T>
  std::future<Result<T>> start(Fn<void(Done<T>)> begin) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    home.post([this, promise, b = std::move(begin)]() mutable {
      b(scope->done<T>(30s, [promise](Result<T> r) { promise->set_value(std::move(r)); }));
    });
    return promise->get_future();
  }
  template <class T>
  Result<T> wait(Fn<void(Done<T>)> begin) {
    return start<T>(std::move(begin)).get();
  }
  // One connection, and the first request's reply is held once it has arrived.
  void serve_one_at_a_time() {
    serve();
    HttpTransportOptions options;
    options.connections = 1;
    connect(options);
    answers.push_back([this](const net::HttpRequest&, net::HttpReply reply) {
      held = std::make_shared<net::HttpReply>(std::move(reply));
      arrived.set_value();
    });
  }
  std::future<Result<ApiReply>> begin_call(ApiRequest request, Duration limit = 20s) {
    const Instant deadline = home.clock().now() + limit;
    return start<ApiReply>([this, r = std::move(request), deadline](Done<ApiReply> done) mutable {
      transport->call(std::move(r), deadline, std::move(done));
    });
  }
  Result<ApiReply> call(ApiRequest request, Duration limit = 20s) {
    return begin_call(std::move(request), limit).get();
  }
  Result<WatchStream::Batch> read(WatchStream& watch) {
    return wait<WatchStream::Batch>(
        [&](Done<WatchStream::Batch> done) { watch.read(std::move(done)); });
  }
  // Every event until the end or an error, which comes last.
  std::vector<std::string> read_all(WatchStream& watch) {
    std::vector<std::string> out;
    for (;;) {
      Result<WatchStream::Batch> batch = read(watch);
      if (!batch) {
        out.push_back(std::string(name_of(batch.error().reason)));
        return out;
      }
      for (const kube::WatchEvent& event : batch->events)
        out.push_back(event.object.valid() ? std::string(event.object.name())
                                           : std::to_string(event.revision));
      if (!batch->end) continue;
      out.emplace_back("end");
      return out;
    }
  }
  std::unique_ptr<WatchStream> open_watch() {
    Result<ApiReply> reply = call(on(Verb::kWatch, kube::kPod, "lab", ""));
    EXPECT_TRUE(reply) << reply.error().message;
    return reply ? std::move(std::get<std::unique_ptr<WatchStream>>(reply->body)) : nullptr;
  }

  net::RealRuntime runtime;
  Executor& home = runtime.loop("test");
  std::unique_ptr<Scope> scope = std::make_unique<Scope>(home, "test");
  StringSink sink;
  Logger log{sink, home.clock()};
  FakeSurroundings here;
  std::mutex mutex;  // guards what the server's loop shares with the test
  std::deque<Answer> answers;
  std::vector<std::string> asked, identities;
  std::vector<net::HttpRequest> requests;
  std::shared_ptr<net::HttpReply> open_reply;
  std::shared_ptr<net::HttpReply> held;
  std::promise<void> arrived;
  net::KeyPair authority;
  ClusterConfig config;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<HttpTransport> transport;
};

constexpr char kPodJson[] =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"lab","uid":"u1",)"
    R"("resourceVersion":"7"},"spec":{"unknown":1}})";

TEST_F(HttpTransportTest, FetchesAnObject) {
  serve();
  connect();
  answer(200, kPodJson);
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_TRUE(reply) << reply.error().message;
  const auto& pod = std::get<kube::Object>(reply->body);
  EXPECT_EQ(pod.name(), "web");
  EXPECT_EQ(pod.revision(), 7u);
  EXPECT_THAT(asked, ElementsAre("GET /api/v1/namespaces/lab/pods/web"));
  EXPECT_EQ(requests[0].headers.get("accept"), "application/json");
  EXPECT_THAT(std::string(requests[0].headers.get("user-agent")),
              testing::MatchesRegex("berth/[0-9.]+ \\(linux/[a-z0-9_]+\\)"));
  EXPECT_EQ(requests[0].headers.get("authorization"), "");
  // On one machine compressing costs more than sending.
  EXPECT_THAT(std::string(requests[0].headers.get("accept-encoding")),
              testing::Not(HasSubstr("gzip")));
}

TEST_F(HttpTransportTest, SendsBodies) {
  serve();
  connect();
  answer(201, kPodJson);
  ApiRequest create = on(Verb::kCreate, kube::kPod, "lab", "");
  create.body.bytes = std::make_shared<const std::string>("{\"kind\":\"Pod\"}");
  Result<ApiReply> reply = call(std::move(create));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->code, 201);
  EXPECT_EQ(requests[0].body, "{\"kind\":\"Pod\"}");
  EXPECT_EQ(requests[0].headers.get("content-type"), "application/json");
}

TEST_F(HttpTransportTest, ReadsStatusTextAndOtherKinds) {
  serve();
  connect();
  answer(201, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  answer(200, "ok");
  answer(200, R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"}})");
  ApiRequest bind = on(Verb::kCreate, kube::kPod, "lab", "web");
  bind.subresource = "binding";
  bind.body.bytes = std::make_shared<const std::string>("{}");
  ApiRequest raw;
  raw.verb = Verb::kRaw;
  raw.raw_method = "GET";
  raw.raw_path = "/readyz";
  ApiRequest scale = on(Verb::kGet, kube::kDeployment, "lab", "web");
  scale.subresource = "scale";
  EXPECT_THAT(std::get<std::string>(call(std::move(bind))->body), HasSubstr("Success"));
  EXPECT_EQ(std::get<std::string>(call(std::move(raw))->body), "ok");
  Result<ApiReply> reply = call(std::move(scale));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(kube::kind_of(std::get<kube::Object>(reply->body).kind()).kind, "Scale");
}

TEST_F(HttpTransportTest, ReadsListsLargeAndSmall) {
  serve();
  HttpTransportOptions options;
  options.offload_from = 4000;
  connect(options);
  for (const int count : {2, 1000}) {
    std::string items;
    for (int i = 0; i < count; ++i)
      items += fmt::format(R"({}{{"metadata":{{"name":"p{}","resourceVersion":"{}"}}}})",
                           i == 0 ? "" : ",", i, i + 1);
    answer(200, R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"99",)"
                R"("continue":"more"},"items":[)" +
                    items + "]}");
    Result<ApiReply> reply = call(on(Verb::kList, kube::kPod, "", ""));
    ASSERT_TRUE(reply) << reply.error().message;
    const auto& list = std::get<kube::ObjectList>(reply->body);
    EXPECT_EQ(list.items.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(list.revision, 99u);
    EXPECT_EQ(list.continue_token, "more");
  }
}

TEST_F(HttpTransportTest, TypesErrorsFromTheStatus) {
  serve();
  connect();
  net::Headers later;
  later.add("Retry-After", "3");
  answer(404, status(404, "NotFound"));
  answer(429, status(429, "TooManyRequests"), later);
  answer(422, status(422, "Invalid",
                     R"({"causes":[{"reason":"FieldValueInvalid","message":"m","field":"f"}]})"));
  answer(503, "<html>", later);
  answer(409, status(409, "AlreadyExists"));
  const auto error = [&] {
    Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
    EXPECT_FALSE(reply);
    return reply ? Error{} : reply.error();
  };
  const Error missing = error();
  EXPECT_EQ(missing.reason, Reason::kNotFound);
  EXPECT_EQ(missing.message, "no: NotFound");
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.outcome, Outcome::kRefused);
  const Error throttled = error();
  EXPECT_EQ(throttled.reason, Reason::kTooManyRequests);
  EXPECT_EQ(throttled.retry_after, Duration(3s));
  const Error bad = error();
  EXPECT_EQ(bad.reason, Reason::kInvalid);
  ASSERT_EQ(bad.causes.size(), 1u);
  EXPECT_EQ(bad.causes[0].field, "f");
  const Error away = error();
  EXPECT_EQ(away.reason, Reason::kServiceUnavailable);
  EXPECT_EQ(away.retry_after, Duration(3s));
  EXPECT_EQ(error().reason, Reason::kAlreadyExists);
}

TEST_F(HttpTransportTest, A2xxThatIsNotJsonLeavesAWriteInDoubt) {
  serve();
  connect();
  answer(200, "<html>captive portal</html>");
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().outcome, Outcome::kUnknown);
  EXPECT_THAT(reply.error().message,
              HasSubstr("pods \"web\": the server's answer is not readable"));
}

TEST_F(HttpTransportTest, CollectsAndLogsWarningsOnce) {
  serve();
  connect();
  net::Headers headers;
  headers.add("Warning", R"(299 - "old \"v1beta1\"", 299 - "second")");
  headers.add("Warning", R"(299 - "third")");
  for (int i = 0; i < 2; ++i) {
    answer(200, kPodJson, headers);
    Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_THAT(reply->warnings, ElementsAre("old \"v1beta1\"", "second", "third"));
  }
  const std::string logged = sink.text();
  EXPECT_THAT(logged, HasSubstr("third"));
  EXPECT_EQ(logged.find("third"), logged.rfind("third"));
}

TEST_F(HttpTransportTest, ImpersonatesWhomItIsTold) {
  serve();
  config.as = {.user = "boss", .uid = "7", .groups = {"a", "b"}, .extra = {{"x/y", {"1", "2"}}}};
  connect();
  answer(200, kPodJson);
  ASSERT_TRUE(call(on(Verb::kGet, kube::kPod, "lab", "web")));
  const net::Headers& headers = requests[0].headers;
  EXPECT_EQ(headers.get("impersonate-user"), "boss");
  EXPECT_EQ(headers.get("impersonate-uid"), "7");
  EXPECT_THAT(headers.all("impersonate-group"), ElementsAre("a", "b"));
  EXPECT_THAT(headers.all("impersonate-extra-x%2Fy"), ElementsAre("1", "2"));
}

TEST_F(HttpTransportTest, StreamsAWatchWhereverItsBytesAreCut) {
  serve();
  connect();
  const std::string text = added("a", 1) + "\n" + added("b", 2) + "\n" + added("c", 3) + "\n";
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{100}, text.size()}) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    stream(pieces);
    std::unique_ptr<WatchStream> watch = open_watch();
    ASSERT_TRUE(watch);
    EXPECT_THAT(read_all(*watch), ElementsAre("a", "b", "c", "end")) << size;
  }
  EXPECT_EQ(asked[0], "GET /api/v1/namespaces/lab/pods?watch=true");
}

TEST_F(HttpTransportTest, TellsABrokenWatchFromAnEndedOne) {
  serve();
  connect();
  stream({added("a", 1) + "\n" + added("b", 2).substr(0, 20)});
  std::unique_ptr<WatchStream> watch = open_watch();
  ASSERT_TRUE(watch);
  EXPECT_THAT(read_all(*watch), ElementsAre("a", "Unreachable"));
  stream({added("a", 1) + "\n"}, false);
  watch = open_watch();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(read(*watch));
  server.reset();
  EXPECT_THAT(read_all(*watch), ElementsAre("Unreachable"));
}

TEST_F(HttpTransportTest, HandsErrorEventsAndBookmarksOn) {
  serve();
  connect();
  stream({R"({"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":)"
          R"({"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}})"
          "\n",
          R"({"type":"ERROR","object":)" + status(410, "Expired") + "}\n"});
  std::unique_ptr<WatchStream> watch = open_watch();
  ASSERT_TRUE(watch);
  std::vector<kube::WatchEvent> events;
  for (bool end = false; !end;) {
    Result<WatchStream::Batch> batch = read(*watch);
    ASSERT_TRUE(batch) << batch.error().message;
    std::move(batch->events.begin(), batch->events.end(), std::back_inserter(events));
    end = batch->end;
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, kube::WatchEvent::Type::kBookmark);
  EXPECT_EQ(events[0].revision, 12u);
  EXPECT_TRUE(events[0].initial_events_end);
  ASSERT_TRUE(events[1].error);
  EXPECT_EQ(events[1].error->reason, Reason::kExpired);
}

TEST_F(HttpTransportTest, AWatchEventThatCannotBeReadEndsTheWatch) {
  serve();
  HttpTransportOptions options;
  options.most_line = 500;
  connect(options);
  stream({added("a", 1) + "\n{\"type\":\n"});
  std::unique_ptr<WatchStream> watch = open_watch();
  ASSERT_TRUE(watch);
  EXPECT_THAT(read_all(*watch), ElementsAre("a", "InternalError"));
  stream({std::string(501, 'x')});
  watch = open_watch();
  ASSERT_TRUE(watch);
  EXPECT_THAT(read_all(*watch), ElementsAre("InternalError"));
}

TEST_F(HttpTransportTest, ARefusedWatchIsTyped) {
  serve();
  connect();
  answer(410, status(410, "Expired"));
  Result<ApiReply> reply = call(on(Verb::kWatch, kube::kPod, "lab", ""));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kExpired);
  EXPECT_EQ(reply.error().code, 410);
}

TEST_F(HttpTransportTest, ShowsACertificateAndAToken) {
  serve_tls();
  net::CertificateRequest me;
  me.common_name = "me";
  const net::KeyPair pair = net::issue_certificate(authority, me).value();
  config.certificate.data = pair.certificate_pem;
  config.key.data = pair.key_pem;
  config.token.data = "secret";
  connect();
  answer(200, kPodJson);
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(requests[0].headers.get("authorization"), "Bearer secret");
  EXPECT_THAT(identities, ElementsAre("me"));
}

TEST_F(HttpTransportTest, TriesOnceMoreWithANewTokenAfterA401) {
  serve_tls();
  config.token.file = "/token";
  here.file("/token", "one");
  connect();
  answers.push_back([this](const net::HttpRequest&, net::HttpReply reply) {
    here.file("/token", "two");
    reply.send({.status = 401, .headers = {}, .body = status(401, "Unauthorized")});
  });
  answer(200, kPodJson);
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].headers.get("authorization"), "Bearer one");
  EXPECT_EQ(requests[1].headers.get("authorization"), "Bearer two");
  // Refused again, and the file is the same: the refusal stands.
  answer(401, status(401, "Unauthorized"));
  reply = call(on(Verb::kWatch, kube::kPod, "lab", ""));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kUnauthorized);
  EXPECT_EQ(requests.size(), 3u);
}

TEST_F(HttpTransportTest, ARotatedCertificateIsUsed) {
  serve_tls();
  const auto issue = [&](const char* name) {
    net::CertificateRequest request;
    request.common_name = name;
    const net::KeyPair pair = net::issue_certificate(authority, request).value();
    here.file("/crt", pair.certificate_pem).file("/key", pair.key_pem);
  };
  issue("before");
  config.certificate.file = "/crt";
  config.key.file = "/key";
  connect();
  answers.push_back([&](const net::HttpRequest&, net::HttpReply reply) {
    issue("after");
    reply.send({.status = 401, .headers = {}, .body = status(401, "Unauthorized")});
  });
  answer(200, kPodJson);
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(identities, ElementsAre("before", "after"));
}

TEST_F(HttpTransportTest, SaysWhetherARequestMayHaveBeenCarriedOut) {
  serve();
  connect();
  answers.push_back([this](const net::HttpRequest&, net::HttpReply reply) {
    open_reply = std::make_shared<net::HttpReply>(std::move(reply));  // never answered
  });
  Result<ApiReply> reply = call(on(Verb::kGet, kube::kPod, "lab", "web"), 100ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kTimeout);
  EXPECT_EQ(reply.error().outcome, Outcome::kUnknown);
  reply = call(on(Verb::kGet, kube::kPod, "lab", "web"), -1ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kTimeout);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  server.reset();
  open_reply.reset();
  reply = call(on(Verb::kGet, kube::kPod, "lab", "web"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kUnreachable);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
}

TEST_F(HttpTransportTest, DestroyingItEndsWhatIsInProgress) {
  serve_one_at_a_time();
  stream({added("a", 1) + "\n"}, false);
  std::future<Result<ApiReply>> pending = begin_call(on(Verb::kGet, kube::kPod, "lab", "web"));
  arrived.get_future().wait();
  std::future<Result<ApiReply>> queued = begin_call(on(Verb::kGet, kube::kPod, "lab", "web"));
  std::unique_ptr<WatchStream> watch = open_watch();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(read(*watch));
  transport.reset();
  Result<ApiReply> reply = pending.get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kCancelled);
  reply = queued.get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kCancelled);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(read_all(*watch), ElementsAre("Cancelled"));
}

TEST_F(HttpTransportTest, QueuesForAConnectionLeasesFirst) {
  serve_one_at_a_time();
  answer(200, R"({"kind":"Lease","metadata":{"name":"l"}})");
  answer(200, kPodJson);
  auto first = begin_call(on(Verb::kGet, kube::kPod, "lab", "first"));
  arrived.get_future().wait();
  auto second = begin_call(on(Verb::kGet, kube::kPod, "lab", "second"));
  auto lease = begin_call(on(Verb::kGet, kube::kLease, "lab", "l"));
  // Calls are taken in order, so an answered watch shows that the others wait.
  stream({});
  {
    const std::lock_guard lock(mutex);
    std::rotate(answers.begin(), std::prev(answers.end()), answers.end());
  }
  ASSERT_TRUE(open_watch());
  held->send({.status = 200, .headers = {}, .body = kPodJson});
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(lease.get());
  EXPECT_TRUE(second.get());
  EXPECT_THAT(asked, ElementsAre("GET /api/v1/namespaces/lab/pods/first",
                                 "GET /api/v1/namespaces/lab/pods?watch=true",
                                 "GET /apis/coordination.k8s.io/v1/namespaces/lab/leases/l",
                                 "GET /api/v1/namespaces/lab/pods/second"));
}

TEST_F(HttpTransportTest, ACallThatQueuesPastItsDeadlineWasNeverSent) {
  serve_one_at_a_time();
  auto first = begin_call(on(Verb::kGet, kube::kPod, "lab", "first"));
  arrived.get_future().wait();
  const Result<ApiReply> late = call(on(Verb::kCreate, kube::kPod, "lab", ""), 20ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, Reason::kTimeout);
  EXPECT_EQ(late.error().outcome, Outcome::kNotSent);
  held->send({.status = 200, .headers = {}, .body = kPodJson});
  EXPECT_TRUE(first.get());
  EXPECT_THAT(asked, ElementsAre("GET /api/v1/namespaces/lab/pods/first"));
}

TEST_F(HttpTransportTest, RefusesBadMaterialBeforeAnythingIsSent) {
  serve_tls();
  config.ca = {.data = "PEM", .file = "", .place = "kubeconfig /k: cluster \"c\": ca"};
  Result<std::unique_ptr<HttpTransport>> made =
      HttpTransport::create(runtime, config, log, {}, here.get());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("kubeconfig /k: cluster \"c\": ca: "));
}

}  // namespace
}  // namespace berth::client
