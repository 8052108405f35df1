// SPDX-License-Identifier: Apache-2.0
// The client against peers that misbehave in scripted ways.
#include "net/http_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "net/gzip.h"
#include "net/test_lab.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_length(std::string_view body, std::string_view headers = "") {
  return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(),
                     body);
}

TEST(HttpClient, SendsARequestAndReadsTheReply) {
  TestLab lab;
  std::string seen;
  ScriptedPeer peer({[&](RawSocket& s) {
    seen = s.read_until("\r\n\r\n");
    seen += s.read_until("}");
    s.send("HTTP/1.1 201 Created\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi");
  }});
  const auto client = lab.client(peer.port());
  HttpRequest request{.method = "POST", .target = "/api/v1/pods?x=%20", .body = "{}"};
  request.headers.add("Content-Type", "application/json");
  const auto reply = lab.call(*client, request).get();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "hi");
  EXPECT_EQ(reply->headers.get("X-a"), "1");
  EXPECT_THAT(reply->headers.all("X-A"), ::testing::ElementsAre("1", "2"));
  EXPECT_EQ(seen, fmt::format("POST /api/v1/pods?x=%20 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                              "Content-Type: application/json\r\nAccept-Encoding: gzip\r\n"
                              "Content-Length: 2\r\n\r\n{{}}",
                              peer.port()));
}

TEST(HttpClient, ReadsBodiesHoweverTheyAreFramed) {
  const std::string text(100'000, 'x');
  const std::string packed = gzip(text);
  struct Row {
    const char* name;
    std::string reply;
    std::string body;
  };
  const Row rows[] = {
      {"length", with_length("hello"), "hello"},
      {"chunked",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
       "hello"},
      {"trailer",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
       "hello"},
      {"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", "hello"},
      {"old version", "HTTP/1.0 200 OK\r\n\r\nhello", "hello"},
      {"no content", "HTTP/1.1 204 No Content\r\n\r\n", ""},
      {"after continue", "HTTP/1.1 100 Continue\r\n\r\n" + with_length("hello"), "hello"},
      {"gzip", with_length(packed, "Content-Encoding: gzip\r\n"), text},
      {"gzip, chunked",
       fmt::format("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: "
                   "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                   packed.size(), packed),
       text},
      {"unknown coding", with_length("hello", "Content-Encoding: br\r\n"), "hello"},
  };
  TestLab lab;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedPeer peer({ScriptedPeer::answer(row.reply)});
    const auto client = lab.client(peer.port());
    const auto reply = lab.call(*client, {}).get();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body, row.body);
    const auto stream = lab.open(*client, {}).get();
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ(lab.read_all(**stream).value(), row.body);
  }
}

TEST(HttpClient, RefusesRepliesThatCannotBeTrusted) {
  struct Row {
    const char* name;
    std::string reply;
    const char* message;
  };
  HttpLimits limits;
  limits.response_body_bytes = 1000;
  limits.header_bytes = 2000;
  limits.header_count = 10;
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 11; ++i) many += fmt::format("A{}: b\r\n", i);
  const Row rows[] = {
      {"garbage", "SSH-2.0-OpenSSH_9\r\n\r\n", "the header is malformed"},
      {"binary garbage", std::string("\x16\x03\x01\x00\x05", 5), "control character"},
      {"other version", "HTTP/2.0 200 OK\r\n\r\n", "only HTTP/1.0 and HTTP/1.1"},
      {"closed at once", "", "the connection ended before it began"},
      {"half a header", "HTTP/1.1 200 O", "the header is cut short"},
      {"body shorter than promised", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
       "the body is cut short"},
      {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello",
       "the body is cut short"},
      {"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
       "the body is cut short"},
      {"chunk size is no number", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       "the body is malformed"},
      {"chunk longer than it says",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
       "the body is malformed"},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
       "several Content-Length"},
      {"length and chunked",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
       "the header is malformed"},
      {"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "malformed"},
      {"folded header", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "folded"},
      {"bare line feed", "HTTP/1.1 200 OK\nA: b\r\n\r\n", "without a carriage return"},
      {"huge header", "HTTP/1.1 200 OK\r\nA: " + std::string(3000, 'a') + "\r\n\r\n",
       "the header is larger than 2000 bytes"},
      {"many headers", many + "\r\n", "more than 10 headers"},
      {"body too large", with_length(std::string(1001, 'x')), "larger than 1000 bytes"},
      {"body too large, by its own word", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
       "larger than 1000 bytes"},
      {"chunks too large",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + std::string(1001, 'x'),
       "larger than 1000 bytes"},
      {"gzip bomb", with_length(gzip(std::string(100'000, 'x')), "Content-Encoding: gzip\r\n"),
       "unpacks to too much"},
      {"damaged gzip", with_length("this is not gzip", "Content-Encoding: gzip\r\n"), "damaged"},
      {"half a gzip", with_length(gzip("hello").substr(0, 15), "Content-Encoding: gzip\r\n"),
       "compressed data is cut short"},
      {"switches protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "unexpected status 101"},
  };
  TestLab lab;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedPeer peer({ScriptedPeer::answer(row.reply)});
    HttpClientOptions options;
    options.limits = limits;
    const auto client = lab.client(peer.port(), options);
    const auto reply = lab.call(*client, {}).get();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().reason, Reason::kUnreachable);
    EXPECT_EQ(reply.error().outcome, Outcome::kUnknown);
    EXPECT_THAT(reply.error().message, HasSubstr(row.message));
    EXPECT_THAT(reply.error().message, HasSubstr(fmt::format("127.0.0.1:{}", peer.port())));
    EXPECT_EQ(peer.connections(), 1) << "a fresh connection is not tried twice";
  }
}

TEST(HttpClient, AStreamGivesWhatCameBeforeItBroke) {
  TestLab lab;
  ScriptedPeer peer({ScriptedPeer::answer(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo")});
  const auto client = lab.client(peer.port());
  auto stream = lab.open(*client, {}).get().value();
  std::string got;
  for (;;) {
    const auto chunk = lab.read(*stream).get();
    if (!chunk) {
      EXPECT_THAT(chunk.error().message, HasSubstr("cut short"));
      break;
    }
    ASSERT_FALSE(chunk->end);
    got += chunk->bytes;
  }
  EXPECT_EQ(got, "hellowo");
}

TEST(HttpClient, HandsEventsOverAsSoonAsTheyArrive) {
  for (const bool packed : {false, true}) {
    SCOPED_TRACE(packed ? "gzip" : "plain");
    TestLab lab;
    std::promise<void> first_seen;
    // A gzip stream whose first part ends at a flush, as a server that compresses a watch sends it.
    const std::string whole = packed ? gzip("one\ntwo\n", 0) : "one\ntwo\n";
    const std::size_t cut = packed ? whole.size() - 8 - 4 : 4;
    ScriptedPeer peer({[&](RawSocket& s) {
      s.read_until("\r\n\r\n");
      s.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n");
      if (packed) s.send("Content-Encoding: gzip\r\n");
      s.send("\r\n");
      s.send(fmt::format("{:x}\r\n{}\r\n", cut, whole.substr(0, cut)));
      first_seen.get_future().wait();
      s.send(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", whole.size() - cut, whole.substr(cut)));
    }});
    const auto client = lab.client(peer.port());
    auto stream = lab.open(*client, {}).get().value();
    auto chunk = lab.read(*stream).get().value();
    EXPECT_EQ(chunk.bytes, "one\n");
    EXPECT_FALSE(chunk.end);
    first_seen.set_value();
    EXPECT_EQ(lab.read_all(*stream).value(), "two\n");
    EXPECT_TRUE(lab.read(*stream).get()->end) << "later reads answer the same";
  }
}

TEST(HttpClient, ReusesAConnection) {
  TestLab lab;
  ScriptedPeer peer({[](RawSocket& s) {
    while (!s.read_until("\r\n\r\n").empty()) s.send(with_length("hello"));
  }});
  const auto client = lab.client(peer.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lab.call(*client, {}).get()->body, "hello");
  auto stream = lab.open(*client, {}).get().value();
  EXPECT_EQ(lab.read_all(*stream).value(), "hello");
  EXPECT_EQ(lab.call(*client, {}).get()->body, "hello");
  EXPECT_EQ(peer.connections(), 1);
}

TEST(HttpClient, DoesNotReuseAConnectionThatTheServerEnds) {
  TestLab lab;
  ScriptedPeer peer({ScriptedPeer::answer(with_length("bye", "Connection: close\r\n"))});
  const auto client = lab.client(peer.port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(lab.call(*client, {}).get()->body, "bye");
  EXPECT_EQ(peer.connections(), 2);
}

// Answers once, then takes the next request and leaves without a word.
void answer_once_then_leave(RawSocket& s) {
  s.read_until("\r\n\r\n");
  s.send(with_length("first"));
  s.read_until("\r\n\r\n");
}

TEST(HttpClient, RepeatsAReadOnAStaleConnection) {
  TestLab lab;
  ScriptedPeer peer({answer_once_then_leave, ScriptedPeer::answer(with_length("second"))});
  const auto client = lab.client(peer.port());
  EXPECT_EQ(lab.call(*client, {}).get()->body, "first");
  const auto reply = lab.call(*client, {}).get();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "second");
  EXPECT_EQ(peer.connections(), 2);
}

TEST(HttpClient, DoesNotRepeatAWriteThatMayHaveHappened) {
  TestLab lab;
  ScriptedPeer peer({answer_once_then_leave, ScriptedPeer::answer(with_length("second"))});
  const auto client = lab.client(peer.port());
  EXPECT_EQ(lab.call(*client, {}).get()->body, "first");
  const auto reply = lab.call(*client, {.method = "POST", .body = "{}"}).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kUnreachable);
  EXPECT_EQ(reply.error().outcome, Outcome::kUnknown);
  EXPECT_EQ(peer.connections(), 1);
}

TEST(HttpClient, ReportsThatNothingWasSentWhenNobodyListens) {
  TestLab lab;
  std::uint16_t port = 0;
  { port = ScriptedPeer({ScriptedPeer::answer("")}).port(); }
  const auto client = lab.client(port);
  const auto reply = lab.call(*client, {.method = "POST"}).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kUnreachable);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(reply.error().message,
              StartsWith(fmt::format("cannot connect to 127.0.0.1:{}: ", port)));
}

TEST(HttpClient, ResolvesNames) {
  TestLab lab;
  ScriptedPeer peer({ScriptedPeer::answer(with_length("hello"))});
  HttpClientOptions options{.origin = {.tls = false, .host = "localhost", .port = peer.port()}};
  const auto client = HttpClient::create(lab.io, options).value();
  EXPECT_EQ(lab.call(*client, {}).get()->body, "hello");
  options.origin.host = "no-such-host.invalid";
  const auto nowhere = HttpClient::create(lab.io, options).value();
  const auto reply = lab.call(*nowhere, {}).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  EXPECT_THAT(reply.error().message, HasSubstr("no-such-host.invalid"));
}

TEST(HttpClient, GivesUpAtTheDeadline) {
  TestLab lab;
  ScriptedPeer silent({[](RawSocket& s) { s.read_all(); }});
  const auto client = lab.client(silent.port());
  const auto late = lab.call(*client, {}, 20ms).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, Reason::kTimeout);
  EXPECT_EQ(late.error().outcome, Outcome::kUnknown);
  const auto too_late = lab.call(*client, {}, -1s).get();
  ASSERT_FALSE(too_late);
  EXPECT_EQ(too_late.error().reason, Reason::kTimeout);
  EXPECT_EQ(too_late.error().outcome, Outcome::kNotSent);
}

TEST(HttpClient, TheDeadlineOfAStreamEndsWithTheHeaders) {
  TestLab lab;
  std::promise<void> deadline_passed;
  ScriptedPeer peer({[&](RawSocket& s) {
    s.read_until("\r\n\r\n");
    s.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    deadline_passed.get_future().wait();
    s.send("5\r\nhello\r\n0\r\n\r\n");
  }});
  const auto client = lab.client(peer.port());
  auto stream = lab.open(*client, {}, 1s).get();
  ASSERT_TRUE(stream) << stream.error().message;
  lab.io.post(
      [&] { lab.io.at(lab.io.clock().now() + 1001ms, [&] { deadline_passed.set_value(); }); });
  EXPECT_EQ(lab.read_all(**stream).value(), "hello");
}

TEST(HttpClient, AnswersBeforeTheWholeBodyWasTakenAreUsed) {
  TestLab lab;
  ScriptedPeer peer({[](RawSocket& s) {
    s.read_until("\r\n\r\n");
    s.send("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n");
    s.read_all();
  }});
  const auto client = lab.client(peer.port());
  const auto reply =
      lab.call(*client, {.method = "POST", .body = std::string(64 << 20, 'x')}).get();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 413);
}

TEST(HttpClient, PendingCallsAreCancelledWithTheClient) {
  TestLab lab;
  std::promise<void> asked;
  ScriptedPeer silent({[&](RawSocket& s) {
    s.read_until("\r\n\r\n");
    asked.set_value();
    s.read_all();
  }});
  auto client = lab.client(silent.port());
  auto reply = lab.call(*client, {});
  asked.get_future().wait();
  client.reset();
  const auto result = reply.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kCancelled);
  EXPECT_EQ(result.error().outcome, Outcome::kUnknown);
}

TEST(HttpClient, AStreamOutlivesItsClientAndEndsThePendingReadWithItself) {
  TestLab lab;
  std::promise<std::string> left;
  ScriptedPeer peer({[&](RawSocket& s) {
    s.read_until("\r\n\r\n");
    s.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    left.set_value(s.read_all());
  }});
  auto client = lab.client(peer.port());
  auto stream = lab.open(*client, {}).get().value();
  client.reset();
  EXPECT_EQ(lab.read(*stream).get()->bytes, "one");
  auto pending = lab.read(*stream);
  stream.reset();
  const auto result = pending.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, Reason::kCancelled);
  EXPECT_EQ(left.get_future().get(), "") << "the peer sees the end";
}

TEST(HttpClient, RefusesToSendWhatWouldBeTwoRequests) {
  TestLab lab;
  ScriptedPeer peer({ScriptedPeer::answer(with_length(""))});
  const auto client = lab.client(peer.port());
  HttpRequest bad_header;
  bad_header.headers.add("X", "a\r\nY: b");
  HttpRequest own_length;
  own_length.headers.add("content-length", "7");
  for (const HttpRequest& request : {HttpRequest{.method = "GET /x"}, HttpRequest{.target = "/a b"},
                                     HttpRequest{.target = "/a\r\nX: y"},
                                     HttpRequest{.target = "nowhere"}, bad_header, own_length}) {
    const auto reply = lab.call(*client, request).get();
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().reason, Reason::kInvalid);
    EXPECT_EQ(reply.error().outcome, Outcome::kNotSent);
  }
  EXPECT_EQ(peer.connections(), 0);
}

}  // namespace
}  // namespace berth::net
