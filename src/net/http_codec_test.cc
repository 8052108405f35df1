// SPDX-License-Identifier: Apache-2.0
// The table of what is refused stands in http_client_test.cc and http_server_test.cc; here: cuts.
#include "net/http_codec.h"

#include <gmock/gmock.h>

namespace berth::net {
namespace {

using Step = HttpDecoder::Step;

struct Message {
  std::string first_line;
  std::string body;
  std::string rest;
  friend bool operator==(const Message&, const Message&) = default;
};

Message decode_request(std::string_view text, std::size_t cut) {
  HttpDecoder decoder(HttpSide::kRequest, {}, 1 << 20);
  std::string body;
  for (std::size_t at = 0; at < text.size(); at += cut) {
    std::string_view in = text.substr(at, cut);
    while (!in.empty()) {
      const auto step = decoder.step(in, body);
      if (!step) return {step.error().message, "", ""};
      if (*step == Step::kEnd)
        return {decoder.head().method + " " + decoder.head().target, body,
                std::string(in) + std::string(text.substr(std::min(at + cut, text.size())))};
    }
  }
  return {"unfinished", body, ""};
}

TEST(HttpDecoder, TheResultDoesNotDependOnTheCuts) {
  struct Row {
    const char* name;
    std::string text;
    Message message;
  };
  const std::string chunk(600, 'c');
  const Row rows[] = {
      {"no body", "GET /a HTTP/1.1\r\nHost: x\r\n\r\nNEXT", {"GET /a", "", "NEXT"}},
      {"after blank lines", "\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n", {"GET /a", "", ""}},
      {"length",
       "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloNEXT",
       {"PUT /a", "hello", "NEXT"}},
      {"chunked",
       "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
       "1\r\na\r\n00002 ; x=yz\r\nbc\r\n258\r\n" +
           chunk + "\r\n0\r\nT: u\r\n\r\nNEXT",
       {"PUT /a", "abc" + chunk, "NEXT"}},
      {"unfinished",
       "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
       {"unfinished", "a", ""}},
  };
  for (const Row& row : rows)
    for (std::size_t cut = 1; cut <= row.text.size(); ++cut)
      ASSERT_EQ(decode_request(row.text, cut), row.message) << row.name << ", cut at " << cut;
}

TEST(HttpDecoder, KnowsWhetherTheConnectionGoesOn) {
  struct Row {
    const char* text;
    bool keep_alive;
  };
  const Row rows[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const Row& row : rows) {
    HttpDecoder decoder(HttpSide::kRequest, {}, 0);
    std::string_view in = row.text;
    std::string body;
    ASSERT_EQ(decoder.step(in, body).value(), Step::kEnd);
    EXPECT_EQ(decoder.head().keep_alive, row.keep_alive) << row.text;
  }
}

TEST(HttpDecoder, EveryByteOfALargeBodyIsLookedAtOnce) {
  // Pieces as a socket gives them; a decoder that kept what it has seen would need minutes.
  HttpDecoder decoder(HttpSide::kResponse, {}, std::size_t{1} << 30);
  std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string_view in = head;
  std::string body;
  ASSERT_EQ(decoder.step(in, body).value(), Step::kHead);
  std::string piece;
  while (piece.size() < 64 << 10) piece += chunk_head(100) + std::string(100, 'x') + "\r\n";
  std::size_t total = 0;
  for (int i = 0; i < 500; ++i) {
    in = piece;
    body.clear();
    ASSERT_EQ(decoder.step(in, body).value(), Step::kMore);
    total += body.size();
  }
  in = kLastChunk;
  ASSERT_EQ(decoder.step(in, body).value(), Step::kEnd);
  EXPECT_GT(total, 30'000'000u);
}

}  // namespace
}  // namespace berth::net
