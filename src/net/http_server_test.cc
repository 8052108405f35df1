// SPDX-License-Identifier: Apache-2.0
// The server against peers that say exactly what a test tells them to.
#include "net/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "net/test_lab.h"

namespace berth::net {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Answers with what was asked.
void echo(HttpRequest request, const HttpPeer&, HttpReply reply) {
  HttpResponse response;
  response.headers.add("Content-Type", "text/plain");
  response.body = fmt::format("{} {} {}", request.method, request.target, request.body);
  reply.send(std::move(response));
}

std::string body_of(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }

TEST(HttpServer, AnswersARequest) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  auto peer = RawSocket::to(server.port());
  peer.send(
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
  const std::string reply = peer.read_all();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Length: 17\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(reply, HasSubstr(" GMT\r\n"));
  EXPECT_EQ(body_of(reply), "POST /a?b=c hello");
}

TEST(HttpServer, ReadsChunkedRequestsHoweverTheyAreCut) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  auto peer = RawSocket::to(server.port());
  const std::string request =
      "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
  for (const char c : request) peer.send({&c, 1});
  EXPECT_THAT(peer.read_until("hello"), EndsWith("PUT /x hello"));
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderOneAtATime) {
  TestLab lab;
  int running = 0;
  // The first reply is given only after a round trip through another loop.
  const TestServer server = lab.serve([&](HttpRequest r, const HttpPeer&, HttpReply reply) {
    EXPECT_EQ(++running, 1) << "the second must wait";
    lab.home.post([&, target = r.target, reply = std::move(reply)]() mutable {
      lab.io.post([&, target, reply = std::move(reply)]() mutable {
        --running;
        reply.send({.body = target});
      });
    });
  });
  auto peer = RawSocket::to(server.port());
  peer.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string replies = peer.read_all();
  const auto one = replies.find("/1"), two = replies.find("/2"), three = replies.find("/3");
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
  EXPECT_NE(three, std::string::npos);
}

TEST(HttpServer, RefusesWhatIsWrongTooLargeOrAmbiguous) {
  HttpServerOptions options;
  options.limits.header_bytes = 4000;
  options.limits.header_count = 10;
  options.limits.target_bytes = 1000;
  options.limits.request_body_bytes = 100;
  std::string many;
  for (int i = 0; i < 11; ++i) many += fmt::format("A{}: b\r\n", i);
  struct Row {
    const char* name;
    std::string request;
    const char* status;
  };
  const Row rows[] = {
      {"garbage", "\x01\x02\x03", "400"},
      {"a TLS hello", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9), "400"},
      {"no version", "GET /\r\nHost: x\r\n\r\n", "400"},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
      {"space in the method", "G T / HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
      {"target is not a path", "GET x HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
      {"no host", "GET / HTTP/1.1\r\n\r\n", "400"},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400"},
      {"bare line feeds", "GET / HTTP/1.1\nHost: x\n\n", "400"},
      {"folded header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n", "400"},
      {"carriage return inside", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", "400"},
      {"zero byte", std::string("GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n", 29), "400"},
      {"length and chunked",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       "400"},
      {"chunked and length",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: "
       "5\r\n\r\n0\r\n\r\n",
       "400"},
      {"two equal lengths",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "400"},
      {"two lengths",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "400"},
      {"list of lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello", "400"},
      {"signed length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", "400"},
      {"other coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
      {"two codings", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
       "501"},
      {"hidden coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", "501"},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "501"},
      {"bad chunk", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
       "400"},
      {"chunk size overflows",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
       "400"},
      {"chunk without its end",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
       "400"},
      {"large body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", "413"},
      {"large body, refused before it is sent",
       "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n", "413"},
      {"large chunked body",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n" +
           std::string(50, 'x') + "\r\n33\r\n",
       "413"},
      {"long target", "GET /" + std::string(1000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
      {"endless target", "GET /" + std::string(2000, 'a'), "414"},
      {"large header", "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(4000, 'a'), "431"},
      {"many headers", "GET / HTTP/1.1\r\n" + many + "Host: x\r\n\r\n", "431"},
      {"endless trailer",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " +
           std::string(5000, 'x'),
       "431"},
      {"other expectation", "GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", "417"},
  };
  TestLab lab;
  const TestServer server = lab.serve(
      [](HttpRequest, const HttpPeer&, HttpReply) { FAIL() << "it got through"; }, options);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    auto peer = RawSocket::to(server.port());
    peer.send(row.request);
    const std::string reply = peer.read_all();
    EXPECT_THAT(reply, StartsWith(fmt::format("HTTP/1.1 {} ", row.status)));
    EXPECT_THAT(reply, HasSubstr("\r\nConnection: close\r\n"));
  }
}

TEST(HttpServer, ARequestThatEndsHalfwayNeverReachesTheHandler) {
  TestLab lab;
  const TestServer server =
      lab.serve([](HttpRequest, const HttpPeer&, HttpReply) { FAIL() << "it got through"; });
  for (const char* half :
       {"GET / HT", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"}) {
    auto peer = RawSocket::to(server.port());
    peer.send(half);
    peer.end_writing();
    EXPECT_THAT(peer.read_all(), StartsWith("HTTP/1.1 400 "));
  }
}

TEST(HttpServer, ReadsTheRestOfALargeRequestSoThatTheRefusalArrives) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  auto peer = RawSocket::to(server.port());
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
  peer.send(std::string(3'000'000, 'x'));
  EXPECT_THAT(peer.read_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, TimesOutPeersThatStopInTheMiddle) {
  HttpServerOptions options;
  options.limits.header_timeout = 20ms;
  options.limits.body_timeout = 20ms;
  options.limits.idle_timeout = 20ms;
  TestLab lab;
  const TestServer server = lab.serve(echo, options);
  auto no_word = RawSocket::to(server.port());
  EXPECT_EQ(no_word.read_all(), "");
  auto half_header = RawSocket::to(server.port());
  half_header.send("GET / HTTP/1.1\r\nHost");
  EXPECT_THAT(half_header.read_all(),
              ::testing::AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("the header took too long")));
  auto half_body = RawSocket::to(server.port());
  half_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_THAT(half_body.read_all(),
              ::testing::AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("the body took too long")));
  auto idle = RawSocket::to(server.port());
  idle.send("GET /once HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(idle.read_all(), EndsWith("GET /once ")) << "and then closed without a word";
}

TEST(HttpServer, AsksForTheBodyOnlyWhenThePeerWaits) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  auto peer = RawSocket::to(server.port());
  const std::string head =
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  peer.send(head);
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("hi");
  EXPECT_THAT(peer.read_until("hi"), StartsWith("HTTP/1.1 200 OK"));
  peer.send(head + "hi");
  EXPECT_THAT(peer.read_until("hi"), StartsWith("HTTP/1.1 200 OK")) << "the body was there already";
}

TEST(HttpServer, HeadAndEmptyStatusesHaveNoBody) {
  TestLab lab;
  const TestServer server = lab.serve([](HttpRequest r, const HttpPeer&, HttpReply reply) {
    if (r.target == "/stream") {
      reply.begin(200, {});
      reply.write("hello", {});
      return reply.end();
    }
    reply.send({.status = r.target == "/204" ? 204 : 200, .body = "hello"});
  });
  auto peer = RawSocket::to(server.port());
  peer.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string head = peer.read_until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  peer.send("GET /204 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string none = peer.read_until("\r\n\r\n");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(none, Not(HasSubstr("Content-Length")));
  peer.send("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.read_until("\r\n\r\n"), HasSubstr("chunked"));
  peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(peer.read_all(),
              ::testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nhello")));
}

TEST(HttpServer, StreamsInChunksOrToTheEndForOldPeers) {
  TestLab lab;
  const TestServer server = lab.serve([](HttpRequest, const HttpPeer&, HttpReply reply) {
    reply.begin(200, {});
    reply.write("hello", {});
    reply.write("", {});
    reply.write(" world", {});
    reply.end();
  });
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(peer.read_until("0\r\n\r\n")), "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
  auto old = RawSocket::to(server.port());
  old.send("GET / HTTP/1.0\r\n\r\n");
  const std::string reply = old.read_all();
  EXPECT_THAT(reply, Not(HasSubstr("chunked")));
  EXPECT_EQ(body_of(reply), "hello world");
}

TEST(HttpServer, AHandlerThatForgetsToAnswerGivesA500) {
  TestLab lab;
  const TestServer server = lab.serve([](HttpRequest, const HttpPeer&, HttpReply) {});
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.read_all(), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST(HttpServer, AStreamThatIsDroppedDoesNotLookComplete) {
  TestLab lab;
  const TestServer server =
      lab.serve([](HttpRequest, const HttpPeer&, HttpReply reply) { reply.begin(200, {}); });
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.read_all(), Not(HasSubstr("0\r\n\r\n")));
}

TEST(HttpServer, HeaderValuesCannotStartNewLines) {
  TestLab lab;
  const TestServer server = lab.serve([](HttpRequest, const HttpPeer&, HttpReply reply) {
    HttpResponse response;
    response.headers.add("Warning", "a\r\nSet-Cookie: b");
    reply.send(std::move(response));
  });
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(peer.read_all(), HasSubstr("\r\nWarning: a  Set-Cookie: b\r\n"));
}

TEST(HttpServer, TellsTheHandlerThatThePeerLeft) {
  TestLab lab;
  std::promise<HttpReply> given;
  const TestServer server = lab.serve([&](HttpRequest, const HttpPeer&, HttpReply reply) {
    reply.begin(200, {});
    given.set_value(std::move(reply));
  });
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  HttpReply reply = given.get_future().get();
  peer.read_until("\r\n\r\n");
  EXPECT_FALSE(reply.gone());
  auto gone = lab.ask<Ok>([&](Done<Ok> done) { reply.when_gone(std::move(done)); });
  peer.reset();
  EXPECT_TRUE(gone.get());
  EXPECT_TRUE(reply.gone());
  const auto written = lab.ask<Ok>([&](Done<Ok> done) { reply.write("x", std::move(done)); }).get();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, Reason::kUnreachable);
}

TEST(HttpServer, AnswersAPeerThatHasFinishedTalking) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  auto peer = RawSocket::to(server.port());
  peer.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.end_writing();
  EXPECT_THAT(peer.read_all(), EndsWith("GET /x "));
}

// Streams pieces for ever, each after the last was taken; counts them.
struct Fountain : std::enable_shared_from_this<Fountain> {
  Fountain(TestLab& l, HttpReply r) : lab(l), reply(std::move(r)) {}
  void start() {
    reply.begin(200, {});
    flow();
  }
  void flow() {
    lab.home.post([self = shared_from_this()] {
      self->reply.write(std::string(64 << 10, 'x'),
                        self->lab.scope().done<Ok>(kNoLimit, [self](const Result<Ok>& taken) {
                          if (taken) {
                            self->bytes += 64 << 10;
                            return self->flow();
                          }
                          self->ended.set_value();
                        }));
    });
  }
  TestLab& lab;
  HttpReply reply;
  std::size_t bytes = 0;
  std::promise<void> ended;
};

TEST(HttpServer, AReaderThatDoesNotReadStopsTheWriter) {
  HttpServerOptions options;
  options.limits.write_timeout = 100ms;
  TestLab lab;
  std::promise<std::shared_ptr<Fountain>> made;
  const TestServer server = lab.serve(
      [&](HttpRequest, const HttpPeer&, HttpReply reply) {
        auto fountain = std::make_shared<Fountain>(lab, std::move(reply));
        fountain->start();
        made.set_value(fountain);
      },
      options);
  const auto client = lab.client(server.port());
  const auto stream = lab.open(*client, {}).get().value();  // and nothing is read from it
  const auto fountain = made.get_future().get();
  fountain->ended.get_future().wait();
  EXPECT_GT(fountain->bytes, 0u);
  EXPECT_LT(fountain->bytes, 32u << 20) << "only the kernel's buffers may fill up";
}

TEST(HttpServer, TurnsAwayOneConnectionTooMany) {
  HttpServerOptions options;
  options.limits.connections = 2;
  TestLab lab;
  const TestServer server = lab.serve(echo, options);
  auto first = RawSocket::to(server.port());
  auto second = RawSocket::to(server.port());
  auto third = RawSocket::to(server.port());
  EXPECT_THAT(third.read_all(), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.read_until("GET / "), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpServer, DrainingFinishesWhatIsInProgressAndTakesNothingNew) {
  TestLab lab;
  std::promise<HttpReply> given;
  TestServer server = lab.serve([&](HttpRequest r, const HttpPeer& p, HttpReply reply) {
    if (r.target == "/slow")
      given.set_value(std::move(reply));
    else
      echo(std::move(r), p, std::move(reply));
  });
  auto idle = RawSocket::to(server.port());
  idle.send("GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.read_until("GET /quick ");
  auto busy = RawSocket::to(server.port());
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  HttpReply reply = given.get_future().get();
  auto drained = lab.ask<Ok>([&](Done<Ok> done) { server.server->drain(std::move(done)); });
  EXPECT_EQ(idle.read_all(), "") << "closed at once";
  EXPECT_EQ(drained.wait_for(0s), std::future_status::timeout) << "one is in progress";
  reply.send({.body = "done"});
  const std::string last = busy.read_all();
  EXPECT_THAT(last, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(last, EndsWith("done"));
  { const auto left = std::move(busy); }
  EXPECT_TRUE(drained.get());
}

TEST(HttpServer, ItsEndClosesConnectionsAndRepliesThatAreLeftDoNothing) {
  TestLab lab;
  std::promise<HttpReply> given;
  TestServer server = lab.serve(
      [&](HttpRequest, const HttpPeer&, HttpReply reply) { given.set_value(std::move(reply)); });
  auto peer = RawSocket::to(server.port());
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  HttpReply reply = given.get_future().get();
  server.server.reset();
  EXPECT_EQ(peer.read_all(), "");
  EXPECT_TRUE(reply.gone());
  reply.send({});
}

TEST(HttpServer, SaysWhyItCannotListen) {
  TestLab lab;
  const TestServer server = lab.serve(echo);
  TestHandler handler(echo);
  const auto taken = HttpServer::start(lab.io, {.port = server.port()}, handler);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message,
            fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", server.port()));
  const auto name = HttpServer::start(lab.io, {.address = "localhost"}, handler);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().message, "cannot listen on 'localhost': it is not an IP address");
}

}  // namespace
}  // namespace berth::net
