// SPDX-License-Identifier: Apache-2.0
// A STOMP client in a story.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/sockjs.h"
#include "gateway/stomp.h"
#include "story.h"

namespace berth::gateway {

// On a WebSocket, plain or in SockJS' framing.
class StompClient {
 public:
  StompClient(Story& story, std::string path = "/scheduler")
      : story_(story),
        sockjs_(path.find("/websocket", 12) != path.npos && path != "/scheduler/websocket") {
    client = story.open(std::move(path));
    EXPECT_EQ(client->status(), 101) << client->body();
  }
  void say(std::string bytes) {
    client->socket->say(sockjs_ ? sockjs_messages({bytes}).substr(1) : std::move(bytes));
    story_.pass();
  }
  void connect(std::string passcode = "", std::string heart_beat = "0,0") {
    std::vector<std::pair<std::string, std::string>> headers{
        {"accept-version", "1.2,1.1,1.0"}, {"host", "h"}, {"heart-beat", std::move(heart_beat)}};
    if (!passcode.empty()) headers.emplace_back("passcode", std::move(passcode));
    say(stomp("CONNECT", headers));
  }
  void subscribe(std::string id, std::string destination,
                 std::vector<std::pair<std::string, std::string>> more = {}) {
    more.emplace_back("id", std::move(id));
    more.emplace_back("destination", std::move(destination));
    say(stomp("SUBSCRIBE", more));
  }
  // What has arrived since the last time.
  std::vector<StompFrame> frames() {
    std::vector<StompFrame> all;
    auto& received = client->socket->received;
    for (; read_ < received.size(); ++read_) {
      std::string bytes = received[read_].bytes;
      if (sockjs_) {
        if (!bytes.starts_with('a')) continue;
        std::string joined;
        const auto parts = sockjs_received(std::string_view(bytes).substr(1));
        for (const std::string& part : *parts) joined += part;
        bytes = joined;
      }
      std::string_view in = bytes;
      while (!in.empty()) {
        auto frame = decoder_.step(in);
        EXPECT_TRUE(frame) << frame.error();
        if (frame && *frame) all.push_back(**std::move(frame));
      }
    }
    return all;
  }
  std::vector<std::string> bodies() {
    std::vector<std::string> all;
    for (const StompFrame& frame : frames()) all.push_back(frame.command + " " + frame.body);
    return all;
  }
  std::shared_ptr<net::FakeClient> client;

 private:
  Story& story_;
  bool sockjs_;
  StompDecoder decoder_{Limits{.frame_bytes = 10 << 20}};
  std::size_t read_ = 0;
};

}  // namespace berth::gateway
