// SPDX-License-Identifier: Apache-2.0
#include "net/websocket.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "base/world.h"
#include "net/memory_stream_for_test.h"
#include "net/test_lab.h"
#include "net/websocket_codec.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_literals;

std::string client_frame(unsigned first_byte, std::string_view payload, bool mask = true) {
  std::string out(1, static_cast<char>(first_byte));
  std::string head = ws_head(WsType::kText, payload.size()).substr(1);
  if (mask) head[0] = static_cast<char>(head[0] | '\x80');
  out += head;
  if (!mask) return out.append(payload);
  const std::string key = "\x11\x22\x33\x44";
  out += key;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(payload[i] ^ key[i % 4]);
  return out;
}
std::string text(std::string_view payload) { return client_frame(0x81, payload); }

std::vector<std::string> decode(std::string_view bytes, std::size_t cut = 1'000'000,
                                std::size_t most = 1 << 20) {
  WsDecoder decoder(most);
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, cut);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const auto event = decoder.step(piece);
      if (!event) {
        out.push_back("!" + std::to_string(event.error().code));
        return out;
      }
      if (!*event) continue;
      const char* const names[] = {"", "text", "binary", "",     "",    "",
                                   "", "",     "close",  "ping", "pong"};
      out.push_back(std::string(names[static_cast<std::size_t>((*event)->type)]) + ":" +
                    ((*event)->code != 0 ? std::to_string((*event)->code) + ":" : "") +
                    (*event)->bytes);
    }
  }
  return out;
}

TEST(WsDecoder, MessagesAreReadHoweverTheyAreCut) {
  const std::string bytes = text("one") + client_frame(0x01, "tw") + client_frame(0x89, "p") +
                            client_frame(0x00, "") + client_frame(0x80, "o") +
                            client_frame(0x82, "\0\xff"s) + client_frame(0x8a, "") +
                            text(std::string(300, 'x')) +
                            client_frame(0x88,
                                         "\x03\xe8"
                                         "bye");
  const auto whole = decode(bytes);
  EXPECT_THAT(whole, ElementsAre("text:one", "ping:p", "text:two", "binary:\0\xff"s,
                                 "pong:", "text:" + std::string(300, 'x'), "close:1000:bye"));
  for (std::size_t cut = 1; cut < 20; ++cut) EXPECT_EQ(decode(bytes, cut), whole) << cut;
}

TEST(WsDecoder, WhatBreaksTheRulesHasItsCode) {
  const std::pair<std::string, const char*> rows[] = {
      {client_frame(0x81, "a", false), "!1002"},  // not masked
      {client_frame(0xc1, "a"), "!1002"},         // a reserved bit
      {client_frame(0x83, "a"), "!1002"},         // no such opcode
      {client_frame(0x8b, "a"), "!1002"},
      {client_frame(0x80, "a"), "!1002"},              // nothing to continue
      {client_frame(0x01, "a") + text("b"), "!1002"},  // not finished
      {client_frame(0x09, "a"), "!1002"},              // a control frame in fragments
      {client_frame(0x89, std::string(126, 'a')), "!1002"},
      {client_frame(0x88, "x"), "!1002"},         // half a code
      {client_frame(0x88, "\x03\xed"), "!1002"},  // 1005 is never sent
      {client_frame(0x88, "\x03\xe8\xff"), "!1007"},
      {text("\xff"), "!1007"},
      {text("\xed\xa0\x80"), "!1007"},              // half a surrogate pair
      {"\x81\xfe\x00\x05\0\0\0\0hello"s, "!1002"},  // five bytes in the middle form
      {"\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0"s, "!1002"},
  };
  for (const auto& [bytes, error] : rows) EXPECT_THAT(decode(bytes), ElementsAre(error));
  EXPECT_THAT(decode(text("12345"), 99, 4), ElementsAre("!1009"));
  EXPECT_THAT(decode(client_frame(0x01, "123") + client_frame(0x80, "45"), 99, 4),
              ElementsAre("!1009"));
}

TEST(WsEncoder, HeadsAreInTheirShortestForm) {
  EXPECT_EQ(ws_head(WsType::kText, 5), "\x81\x05");
  EXPECT_EQ(ws_head(WsType::kBinary, 125), "\x82\x7d");
  EXPECT_EQ(ws_head(WsType::kText, 126), "\x81\x7e\x00\x7e"s);
  EXPECT_EQ(ws_head(WsType::kText, 65536), "\x81\x7f\0\0\0\0\0\1\0\0"s);
  EXPECT_EQ(ws_close_payload(1000, "x"), "\x03\xe8x");
  EXPECT_EQ(ws_close_payload(1000, std::string(122, 'a') + "\xc3\xa4").size(), 2U + 122);
}

constexpr std::string_view kUpgrade =
    "GET /s HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

// A connection that has become a WebSocket; what the server reads is kept.
class WebSocketTest : public testing::Test {
 protected:
  WebSocketTest()
      : handler([this](HttpRequest request, const HttpPeer&, HttpReply reply) {
          reply.upgrade(accept_websocket(request.headers, "").value(),
                        {.message_bytes = 1000, .ping = 30s},
                        scope.done<std::shared_ptr<WebSocket>>(kNoLimit, [this](auto open) {
                          socket = *open;
                          read();
                        }));
        }) {}
  ~WebSocketTest() override {
    socket.reset();
    scope.close({}, [] {});
    settle();
  }
  void open() {
    connection.say(kUpgrade);
    settle();
    EXPECT_THAT(connection.pipe->from_server, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
    EXPECT_THAT(connection.pipe->from_server,
                HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    connection.pipe->from_server.clear();
  }
  void read() {
    socket->read(scope.done<WebSocket::Message>(kNoLimit, [this](Result<WebSocket::Message> next) {
      got.push_back(next ? next->bytes : "! " + next.error().message);
      if (next && reads) read();
    }));
  }
  void settle() { world.run_until_idle(1s); }
  void say(std::string_view bytes) {
    connection.say(bytes);
    settle();
  }
  std::string told() { return std::exchange(connection.pipe->from_server, {}); }

  World world{Seed{1}};
  Executor& loop = world.loop("io");
  Scope scope{loop, "test"};
  TestHandler handler;
  MemoryConnection connection{loop, handler};
  std::shared_ptr<WebSocket> socket;
  std::vector<std::string> got;
  bool reads = true;
};

TEST_F(WebSocketTest, CarriesMessagesBothWays) {
  open();
  say(text("hello") + client_frame(0x82, "x"));
  EXPECT_THAT(got, ElementsAre("hello", "x"));
  socket->write({.bytes = "answer"}, {});
  socket->write({.bytes = "b", .text = false}, {});
  settle();
  EXPECT_EQ(told(),
            "\x81\x06"
            "answer\x82\x01"
            "b");
}

TEST_F(WebSocketTest, WhatCameWithTheRequestIsNotLost) {
  connection.say(std::string(kUpgrade) + text("early"));
  settle();
  EXPECT_THAT(got, ElementsAre("early"));
}

TEST_F(WebSocketTest, APingIsAnsweredAndAPeerThatSaysNothingIsAsked) {
  open();
  say(client_frame(0x89, "x"));
  EXPECT_EQ(told(), "\x8a\x01x");
  world.run_for(61s);
  EXPECT_EQ(told(), "\x89\0"s);
  say(client_frame(0x8a, ""));
  world.run_for(59s);
  EXPECT_FALSE(connection.ended());
  world.run_for(120s);
  EXPECT_TRUE(connection.ended());
  EXPECT_THAT(got, ElementsAre("! the peer does not answer"));
}

TEST_F(WebSocketTest, TheClientsCloseIsAnsweredAndTheConnectionEnds) {
  open();
  say(client_frame(0x88, "\x03\xe8"));
  EXPECT_EQ(told(), "\x88\x02\x03\xe8");
  EXPECT_TRUE(connection.pipe->server_ended);
  EXPECT_THAT(got, ElementsAre("! the peer has closed with 1000"));
  connection.leave();
  settle();
  EXPECT_TRUE(connection.ended());
}

TEST_F(WebSocketTest, OurCloseComesAfterWhatIsQueued) {
  open();
  socket->write({.bytes = "last"}, {});
  socket->close(kClosePolicy, "no");
  socket->write({.bytes = "too late"}, {});
  settle();
  EXPECT_EQ(told(), "\x81\x04last\x88\x04\x03\xf0no");
  world.run_for(3s);  // the client does not answer
  EXPECT_TRUE(connection.ended());
}

TEST_F(WebSocketTest, AFaultIsToldWithItsCode) {
  open();
  say(text(std::string(1001, 'x')));
  EXPECT_THAT(told(), StartsWith("\x88\x24\x03\xf1"));
  EXPECT_THAT(got, ElementsAre("! a message has more than 1000 bytes"));
}

TEST_F(WebSocketTest, NothingIsReadAheadOfWhoReads) {
  reads = false;
  open();
  say(text("one"));
  say(text("two"));
  say(text("three"));
  EXPECT_THAT(got, ElementsAre("one"));
  EXPECT_FALSE(connection.pipe->to_server.empty());
  reads = true;
  read();
  settle();
  EXPECT_THAT(got, ElementsAre("one", "two", "three"));
}

TEST_F(WebSocketTest, APeerThatTakesNothingIsLeft) {
  open();
  connection.pipe->takes = false;
  Result<Ok> taken = Ok{};
  socket->write({.bytes = "x"}, scope.done<Ok>(kNoLimit, [&](Result<Ok> r) { taken = r; }));
  world.run_for(31s);
  EXPECT_FALSE(taken);
  EXPECT_TRUE(connection.ended());
}

TEST_F(WebSocketTest, DroppedItSaysGoodbye) {
  open();
  reads = false;
  socket.reset();
  settle();
  EXPECT_EQ(told(), "\x88\x02\x03\xe9");
}

TEST(WebSocketOverSockets, AnswersAClientOfFlesh) {
  TestLab lab;
  std::shared_ptr<WebSocket> open;
  auto server = lab.serve([&](HttpRequest request, const HttpPeer&, HttpReply reply) {
    auto answer = accept_websocket(request.headers, "").value();
    lab.home.post([&, reply = std::move(reply), answer = std::move(answer)]() mutable {
      reply.upgrade(std::move(answer), {},
                    lab.scope().done<std::shared_ptr<WebSocket>>(kNoLimit, [&](auto made) {
                      open = *made;
                      open->read(lab.scope().done<WebSocket::Message>(kNoLimit, [&](auto message) {
                        open->write(*std::move(message), {});
                        open->close(kCloseNormal, "");
                        open.reset();
                      }));
                    }));
    });
  });
  RawSocket client = RawSocket::to(server.port());
  client.send(kUpgrade);
  client.read_until("\r\n\r\n");
  client.send(text("echo"));
  EXPECT_EQ(client.read_all(),
            "\x81\x04"
            "echo\x88\x02\x03\xe8");
}

}  // namespace
}  // namespace berth::net
