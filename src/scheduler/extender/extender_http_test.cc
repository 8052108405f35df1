// SPDX-License-Identifier: Apache-2.0
// Extenders that misbehave, over real sockets: each ends in an error, in bounded time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/surroundings_fake.h"
#include "net/test_lab.h"
#include "scheduler/extender/extender.h"

namespace berth::scheduler {
namespace {

using net::RawSocket;
using net::ScriptedPeer;
using testing::HasSubstr;

class ExtenderHttp : public testing::Test {
 protected:
  // Makes an extender at that port, whose scope is at home.
  std::unique_ptr<Extender> at(std::uint16_t port, Duration timeout = 60s,
                               ExtenderLimits limits = {}) {
    return make_extender(lab_.scope(),
                         {.url_prefix = fmt::format("http://127.0.0.1:{}", port),
                          .filter_verb = "filter",
                          .http_timeout = timeout,
                          .node_cache_capable = true},
                         limits)
        .value();
  }
  std::string filter(Extender& extender) {
    auto result = lab_.ask<ExtenderFilterResult>([&](Done<ExtenderFilterResult> done) {
                        extender.filter({.pod = kube::Object::parse(kube::kPod, "{}").value(),
                                         .names = std::make_shared<const std::vector<std::string>>(
                                             std::vector<std::string>{"n1"})},
                                        std::move(done));
                      })
                      .get();
    return result ? fmt::format("kept {}", result->kept.size()) : result.error().message;
  }
  std::string filter(ScriptedPeer::Script script, Duration timeout = 60s,
                     ExtenderLimits limits = {}) {
    ScriptedPeer peer({std::move(script)});
    const auto extender = at(peer.port(), timeout, limits);
    return filter(*extender);
  }

  net::TestLab lab_;
};

std::string with_length(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

TEST_F(ExtenderHttp, AnAnswerIsRead) {
  EXPECT_EQ(filter(ScriptedPeer::answer(with_length(R"({"nodeNames":["n1"]})"))), "kept 1");
}

TEST_F(ExtenderHttp, OneThatHangsRunsIntoTheTimeout) {
  const auto wait = [](RawSocket& socket) { socket.read_all(); };
  EXPECT_THAT(filter(wait, 50ms), HasSubstr("failed filter with extender at URL"));
  const auto half = [](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":");
    socket.read_all();
  };
  EXPECT_THAT(filter(half, 50ms), HasSubstr("failed filter with extender at URL"));
}

TEST_F(ExtenderHttp, AnEndlessReplyIsCutOff) {
  const auto endless = [](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\n\r\n[\"");
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) socket.send(piece);
  };
  EXPECT_THAT(filter(endless, 60s, {.reply_bytes = 1 << 20}),
              HasSubstr("the reply is larger than"));
}

TEST_F(ExtenderHttp, NobodyWaitsForWhatFollowsTheAnswer) {
  const auto chatty = [](RawSocket& socket) {
    socket.read_until("\r\n\r\n");
    socket.send("HTTP/1.1 200 OK\r\n\r\n{\"NodeNames\":[\"n1\"]} and so on");
    socket.read_all();
  };
  EXPECT_EQ(filter(chatty), "kept 1");
}

TEST_F(ExtenderHttp, OneThatClosesInTheMiddleOrSpeaksAnotherTongueIsAnError) {
  const char* replies[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"Nod",
      "",
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno",
      "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
  };
  for (const char* reply : replies)
    EXPECT_THAT(filter(ScriptedPeer::answer(reply)), Not(HasSubstr("kept"))) << reply;
}

TEST_F(ExtenderHttp, NobodyThereIsAnError) {
  std::uint16_t port = 0;
  {
    port = ScriptedPeer({[](RawSocket&) {}}).port();
  }
  const auto extender = at(port);
  EXPECT_THAT(filter(*extender), HasSubstr("failed filter with extender at URL"));
}

TEST_F(ExtenderHttp, TheConnectionIsUsedAgain) {
  ScriptedPeer peer({[](RawSocket& socket) {
    for (int i = 0; i < 3; ++i) {
      socket.read_until("]}");
      socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    }
  }});
  const auto extender = at(peer.port());
  EXPECT_EQ(filter(*extender), "kept 0");
  EXPECT_EQ(filter(*extender), "kept 0");
}

TEST_F(ExtenderHttp, TlsIsVerifiedUnlessNoAuthorityIsGiven) {
  const net::TestCertificates certificates;
  std::string seen;
  auto server = lab_.serve(
      [&](net::HttpRequest request, const net::HttpPeer& peer, net::HttpReply reply) {
        seen = request.target + " " + (peer.identity ? peer.identity->common_name : "nobody");
        reply.send({.body = "{}"});
      },
      {.tls = net::TlsServerOptions{.certificate_pem = certificates.server.certificate_pem,
                                    .key_pem = certificates.server.key_pem,
                                    .client_ca_pem = certificates.authority.certificate_pem}});
  const auto call = [&](ExtenderTls tls, bool enable) {
    auto extender = make_extender(
        lab_.scope(), {.url_prefix = fmt::format("https://127.0.0.1:{}/api/", server.port()),
                       .filter_verb = "f",
                       .enable_https = enable,
                       .tls = std::move(tls),
                       .node_cache_capable = true});
    return extender ? filter(**extender) : extender.error().message;
  };
  const std::string ca = certificates.authority.certificate_pem;
  EXPECT_EQ(call({.ca_data = ca}, true), "kept 0");
  EXPECT_EQ(seen, "/api/f nobody");
  EXPECT_EQ(call({.cert_data = certificates.client.certificate_pem,
                  .key_data = certificates.client.key_pem,
                  .ca_data = ca},
                 true),
            "kept 0");
  EXPECT_EQ(seen, "/api/f alice");
  EXPECT_EQ(call({}, true), "kept 0");  // k8s 1.36: no authority, no questions
  EXPECT_THAT(call({}, false), HasSubstr("certificate"));
  EXPECT_EQ(call({.insecure = true}, false), "kept 0");
  EXPECT_EQ(call({.server_name = "localhost", .ca_data = ca}, true), "kept 0");
  EXPECT_THAT(call({.server_name = "elsewhere", .ca_data = ca}, true), HasSubstr("elsewhere"));
  EXPECT_THAT(call({.insecure = true, .ca_data = ca}, true), HasSubstr("exclude each other"));
  EXPECT_THAT(call({.ca_data = "rubbish"}, true), HasSubstr("no PEM block found"));
  EXPECT_THAT(call({.cert_file = "/nowhere/x.pem"}, true),
              HasSubstr("tlsConfig.certFile: cannot read /nowhere/x.pem"));
}

}  // namespace
}  // namespace berth::scheduler
