// SPDX-License-Identifier: Apache-2.0
// Attacks on the way in: connections, TLS, HTTP, who somebody claims to be, what is asked for.
#include <future>
#include <regex>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "hostile_up.h"

namespace berth::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

std::string post(std::string_view headers_and_body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}", kMaps, headers_and_body);
}

// Status lines, wherever they stand: bodies need not end with a line.
std::size_t answers_in(const std::string& text) {
  static const std::regex line("HTTP/1\\.1 [0-9]{3} ");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator()));
}

TEST_F(Hostile, MessagesThatTwoCouldReadInTwoWaysAreRefused) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  const struct {
    const char* name;
    std::string bytes;
    int code;
    const char* says;
  } cases[] = {
      {"two kinds of length",
       post("Content-Length: 5\r\n" + chunked + "0\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"),
       400, "bad Transfer-Encoding"},
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"), 400,
       "multiple Content-Length"},
      {"another coding", post("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501,
       "the transfer coding 'xchunked' is not known"},
      {"a coding after chunked", post("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"), 501,
       "is not known"},
      {"a negative length", post("Content-Length: -1\r\n\r\n"), 400, "bad Content-Length"},
      {"a length with a sign", post("Content-Length: +5\r\n\r\nabcde"), 400, "bad Content-Length"},
      {"a length beyond numbers", post("Content-Length: 99999999999999999999999\r\n\r\n"), 400,
       "bad Content-Length"},
      {"bare line feeds", "GET /readyz HTTP/1.1\nHost: x\n\n", 400,
       "a line ends without a carriage return"},
      {"a folded header", "GET /readyz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n", 400,
       "a header is folded over several lines"},
      {"a space before the colon", "GET /readyz HTTP/1.1\r\nHost : x\r\n\r\n", 400, "bad field"},
      {"a chunk size that is none", post(chunked + "zz\r\n"), 400, "a chunk's header is not valid"},
      {"a chunk size beyond numbers", post(chunked + "ffffffffffffffffff\r\n"), 400,
       "a chunk's header is not valid"},
      {"a chunk larger than any body", post(chunked + "7fffffffffffffff\r\nabc"), 413,
       "Request entity too large: limit is 3145728"},
      {"a chunk extension without end", post(chunked + "1;" + std::string(200'000, 'x')), 431,
       "a chunk's header or the trailer is too large"},
      {"an endless header", "GET /readyz HTTP/1.1\r\nHost: x\r\nX: " + std::string(70'000, 'x'),
       431, "the header is larger than 65536 bytes"},
      {"a label selector of a megabyte",
       "GET /api/v1/pods?labelSelector=" + std::string(1 << 20, 'a') + " HTTP/1.1\r\n\r\n", 431,
       "the header is larger than 65536 bytes"},
      {"another version", "GET /readyz HTTP/9.9\r\n\r\n", 505,
       "only HTTP/1.0 and HTTP/1.1 are known"},
      {"a control character", std::string("GET /api/\0 HTTP/1.1\r\nHost: x\r\n\r\n", 32), 400,
       "the header has a control character"},
      {"a proxy's request", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400,
       "the target must be a path"},
      {"a body of 100 MB", post("Content-Length: 104857600\r\n\r\n"), 413,
       "Request entity too large: limit is 3145728"},
  };
  for (const auto& [name, bytes, code, says] : cases) {
    SCOPED_TRACE(name);
    const std::string answer = admin().ask(bytes);
    EXPECT_THAT(answer, AllOf(HasSubstr(fmt::format("HTTP/1.1 {} ", code)), HasSubstr(says),
                              HasSubstr(R"("kind":"Status")")));
    EXPECT_EQ(answers_in(answer), 1u) << "the rest was taken for another request";
  }
}

TEST_F(Hostile, QuestionsWithoutSenseAreAnswered) {
  const std::string maps = kMaps;
  const std::string token =
      base64(R"({"v":"meta.k8s.io/v1","rv":99999999999999999999,"start":"../../x"})");
  perform({
      {.name = "no limit", .method = "GET", .target = maps + "?limit=-1", .code = 200},
      {.name = "a limit beyond numbers",
       .method = "GET",
       .target = maps + "?limit=99999999999999999999",
       .says = "value out of range"},
      {.name = "a long token",
       .method = "GET",
       .target = maps + "?limit=1&continue=" + std::string(50'000, 'A'),
       .says = "invalid continue token"},
      {.name = "a made token",
       .method = "GET",
       .target = maps + "?limit=1&continue=" + net::percent_encode(token),
       .says = "invalid continue token"},
      {.name = "a timeout beyond numbers",
       .method = "GET",
       .target = maps + "?watch=1&timeoutSeconds=99999999999999999999",
       .says = "value out of range"},
      {.name = "a long selector",
       .method = "GET",
       .target = maps + "?labelSelector=" + std::string(30'000, ',')},
      {.name = "a selector of brackets",
       .method = "GET",
       .target = maps + "?labelSelector=" + std::string(30'000, '('),
       .says = "found '('"},
      {.name = "a path out of the tree",
       .method = "GET",
       .target = "/api/v1/namespaces/../../../etc/passwd",
       .code = 404,
       .says = "the server could not find the requested resource"},
      {.name = "a path that is none",
       .method = "GET",
       .target = "/api/v1/%zz",
       .says = "the path /api/v1/%zz is not one"},
      {.name = "a method for nothing",
       .method = "TRACE",
       .target = "/readyz",
       .code = 405,
       .says = "the server does not allow this method on the requested resource"},
  });
  // A watch for ever, or for no time at all, is a watch; it goes with its client.
  for (const char* timeout : {"9223372036854775807", "-1", "-9223372036854775808", "0"}) {
    const auto socket = admin().connect();
    socket->say(fmt::format("GET {}?watch=1&timeoutSeconds={} HTTP/1.1\r\nHost: x\r\n\r\n", kMaps,
                            timeout));
    EXPECT_THAT(socket->hear_until("\r\n\r\n"), HasSubstr("HTTP/1.1 200 ")) << timeout;
  }
}

TEST_F(Hostile, WhoProvesNothingMayNothing) {
  const TlsCaller nobody(up().access().origin);
  const auto with = [](const std::string& header) {
    return "GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + "\r\n";
  };
  EXPECT_THAT(nobody.ask(with("")),
              AllOf(HasSubstr("HTTP/1.1 403 "), HasSubstr(R"(User \"system:anonymous\")")));
  const auto part = [](const std::string& json) {
    std::string out = base64(json);
    out.erase(out.find_last_not_of('=') + 1);
    return out;
  };
  const std::string claims =
      part(R"({"iss":"https://kubernetes.default.svc","sub":"system:serviceaccount:kube-system:x",)"
           R"("groups":["system:masters"],"exp":99999999999})");
  for (const std::string& token :
       {part(R"({"alg":"none"})") + "." + claims + ".",
        part(R"({"alg":"HS256"})") + "." + claims + ".AAAA",
        part(R"({"alg":"RS256","kid":"../../../../dev/null"})") + "." + claims + ".AAAA",
        std::string("a.b.c"), std::string(60'000, 'A'), std::string("....")})
    EXPECT_THAT(nobody.ask(with("Authorization: Bearer " + token + "\r\n")),
                AllOf(HasSubstr("HTTP/1.1 401 "), HasSubstr(R"("message":"Unauthorized")")))
        << token.substr(0, 40);
  EXPECT_THAT(nobody.ask(with("Impersonate-User: kubernetes-admin\r\nImpersonate-Group: "
                              "system:masters\r\n")),
              HasSubstr("HTTP/1.1 403 "));
  // A certificate of the right name by the wrong authority.
  const auto authority = net::make_authority("evil");
  ASSERT_TRUE(authority);
  const auto certificate = net::issue_certificate(
      *authority, {.common_name = "kubernetes-admin", .organizations = {"system:masters"}});
  ASSERT_TRUE(certificate);
  const TlsCaller impostor(up().access().origin, &*certificate);
  EXPECT_THAT(impostor.ask(with("")), IsEmpty()) << "TLS itself refuses";
}

int plain_connection(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST_F(Hostile, WhatIsNotTlsGetsNothing) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const int fd = plain_connection(up().access().origin.port);
    std::string garbage =
        i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : std::string("\x16\x03\x01\x40\x00", 5);
    for (int k = 0; k < 3'000; ++k) garbage += static_cast<char>(random.below(256));
    EXPECT_GT(::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    ::close(fd);
  }
}

TEST_F(Hostile, ThreeThousandConnectionsAtOnceAreJustConnections) {
  constexpr int kThreads = 6, kEach = 500;
  std::vector<std::future<std::vector<int>>> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.push_back(std::async(std::launch::async, [] {
      std::vector<int> held;
      for (int i = 0; i < kEach; ++i) held.push_back(plain_connection(up().access().origin.port));
      return held;
    }));
  std::vector<int> held;
  for (auto& thread : threads)
    for (const int fd : thread.get()) held.push_back(fd);
  conformance::Wire wire(up().access());
  EXPECT_EQ(ask(wire, "GET", "/readyz")->status, 200);
  for (const int fd : held) ::close(fd);
}

TEST_F(Hostile, RequestsBeforeTheirTurnAreAnsweredOneAfterTheOther) {
  constexpr int kRequests = 2'000;
  std::string many;
  for (int i = 0; i < kRequests; ++i) many += "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
  many += "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(answers_in(admin().connect()->say_and_hear_all(many)), kRequests + 1u);
}

TEST_F(Hostile, TwoThousandIdleWatchesAllHearOfTheNextChange) {
  constexpr std::size_t kWatches = 2'000;
  most_kib = 400'000;
  conformance::Wire wire(up().access());
  ASSERT_EQ(ask(wire, "POST", "/api/v1/namespaces", R"({"metadata":{"name":"watched"}})")->status,
            201);
  std::vector<std::unique_ptr<TlsSocket>> clients;
  for (std::size_t i = 0; i < kWatches; ++i) {
    clients.push_back(admin().connect());
    ASSERT_TRUE(clients.back()->say(
        "GET /api/v1/namespaces/watched/secrets?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  for (const auto& client : clients)
    ASSERT_THAT(client->hear_until("\r\n\r\n"), HasSubstr("HTTP/1.1 200 "));
  ASSERT_EQ(
      ask(wire, "POST", "/api/v1/namespaces/watched/secrets", R"({"metadata":{"name":"first"}})")
          ->status,
      201);
  for (const auto& client : clients) ASSERT_THAT(client->hear_until("first"), HasSubstr("ADDED"));
}

// There are a hundred in the fixture that never read, and whose client goes on sending.
TEST_F(Hostile, WatchesThatAreNotReadHoldNothingBack) {
  conformance::Wire wire(up().access());
  for (int i = 0; i < 300; ++i) {
    const auto made = ask(wire, "POST", kMaps,
                          fmt::format(R"({{"metadata":{{"name":"flood"}},"data":{{"x":"{}"}}}})",
                                      std::string(100'000, 'x')));
    ASSERT_TRUE(made && made->status == 201) << made->body;
    ASSERT_EQ(ask(wire, "DELETE", fmt::format("{}/flood", kMaps))->status, 200);
  }
}

}  // namespace
}  // namespace berth::e2e
