// SPDX-License-Identifier: Apache-2.0
#include "gateway/stomp.h"

#include <gmock/gmock.h>

#include "base/random.h"

namespace berth::gateway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace std::string_literals;

// Frames, one text each; the last may be an error.
std::vector<std::string> read(std::string_view bytes, std::size_t cut = 1'000'000) {
  StompDecoder decoder{Limits{}};
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, cut);
    bytes.remove_prefix(piece.size());
    while (!piece.empty()) {
      const auto frame = decoder.step(piece);
      if (!frame) {
        out.push_back("! " + frame.error());
        return out;
      }
      if (!*frame) continue;
      std::string text = (*frame)->command;
      for (const auto& [name, value] : (*frame)->headers) text += "|" + name + "=" + value;
      out.push_back(text + "|" + (*frame)->body);
    }
  }
  return out;
}

TEST(Stomp, ESI_103_FramesAreReadHoweverTheyAreCut) {
  const std::string bytes =
      "\n\r\nCONNECT\naccept-version:1.2\nhost:h\\n\n\n\0"
      "\n"
      "SEND\r\ndestination:/a\r\nx:1\\c2\\\\\\n\\r\r\n\r\nbody\0"
      "SEND\ncontent-length:3\n\na\0b\0\n\n"
      "SUBSCRIBE\nid:0\nid:1\n\n\0"s;
  const auto whole = read(bytes);
  EXPECT_THAT(whole, ElementsAre("CONNECT|accept-version=1.2|host=h\\n|",
                                 "SEND|destination=/a|x=1:2\\\n\r|body",
                                 "SEND|content-length=3|a\0b"s, "SUBSCRIBE|id=0|id=1|"));
  for (std::size_t cut = 1; cut < 40; ++cut) EXPECT_EQ(read(bytes, cut), whole) << cut;
}

TEST(Stomp, TheFirstOfTwoHeadersCounts) {
  const StompFrame frame{.command = "SEND", .headers = {{"a", "1"}, {"a", "2"}}};
  EXPECT_EQ(frame.text("a"), "1");
  EXPECT_EQ(frame.get("b"), std::nullopt);
}

TEST(Stomp, ESI_103_WhatBreaksTheRulesIsNamed) {
  const std::pair<std::string, std::string> rows[] = {
      {"HELLO\n\n\0"s, "no such command"},
      {"SEND\nno colon\n\n\0"s, "no colon"},
      {"SEND\na:\\t\n\n\0"s, "escape"},
      {"SEND\na:\\\n\n\0"s, "escape"},
      {"SEND\ncontent-length:x\n\n\0"s, "no number"},
      {"SEND\ncontent-length:-1\n\n\0"s, "no number"},
      {"SEND\ncontent-length:99999999\n\n\0"s, "more than 65536 bytes"},
      {"SEND\ncontent-length:1\n\nab\0"s, "longer than its content-length"},
      {"SUBSCRIBE\nid:1\n\nbody\0"s, "has no body"},
      {std::string(100, 'A'), "command has more"},
      {"SEND\n" + std::string(2000, 'a'), "header has more than 1024"},
      {"SEND\n\n" + std::string(70'000, 'a'), "more than 65536 bytes"},
      {"STOMP\nlogin:" + std::string(2000, 'a') + "\n", "header has more than 1024"},
  };
  for (const auto& [bytes, error] : rows) {
    const auto out = read(bytes);
    ASSERT_EQ(out.size(), 1U) << bytes.substr(0, 40);
    EXPECT_THAT(out[0], testing::AllOf(testing::StartsWith("! "), HasSubstr(error)));
  }
  std::string many = "SEND\n";
  for (int i = 0; i < 33; ++i) many += "a:b\n";
  EXPECT_THAT(read(many), ElementsAre("! a frame has more than 32 headers"));
}

TEST(Stomp, ESI_127_ATokenFitsIntoThePasscode) {
  const std::string token(4000, 't');
  EXPECT_THAT(read("CONNECT\npasscode:" + token + "\n\n\0"s),
              ElementsAre("CONNECT|passcode=" + token + "|"));
}

TEST(Stomp, WhatIsEncodedReadsBackTheSame) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    StompFrame frame{.command = "SEND"};
    const auto text = [&] {
      std::string out;
      for (std::uint64_t n = random.below(8); n > 0; --n)
        out += "ab:\\\n\r\0 "[static_cast<std::size_t>(random.below(8))];
      std::erase(out, '\0');
      return out;
    };
    for (std::uint64_t n = random.below(4); n > 0; --n) frame.headers.emplace_back(text(), text());
    frame.body = text() + "\0x"s;
    StompDecoder decoder{Limits{}};
    const std::string bytes = encode(frame);
    std::string_view in = bytes;
    auto back = decoder.step(in);
    ASSERT_TRUE(back && *back);
    EXPECT_EQ((*back)->body, frame.body);
    (*back)->headers.pop_back();  // content-length
    EXPECT_EQ((*back)->headers, frame.headers);
  }
}

TEST(Stomp, ConnectedIsNotEscapedAndCannotBreakItsLine) {
  EXPECT_EQ(encode({.command = "CONNECTED", .headers = {{"server", "a:b\nx:y"}}}),
            "CONNECTED\nserver:a:bx:y\n\n\0"s);
}

}  // namespace
}  // namespace berth::gateway
