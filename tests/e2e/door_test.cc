// SPDX-License-Identifier: Apache-2.0
// Clients that mean no good, or do not care, over real sockets: they are bounded in what they cost,
// and the others are served meanwhile.
#include <fstream>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "served.h"

namespace berth::e2e {
namespace {

using testing::HasSubstr;

// A blocking connection whose reads give up after a while.
class Socket {
 public:
  explicit Socket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  std::string hear() const {  // once; "" when the other side has left
    std::string out(1 << 16, '\0');
    const ssize_t got = ::recv(fd_, out.data(), out.size(), 0);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }
  std::string hear_until(std::string_view end) const {
    std::string all;
    while (all.find(end) == std::string::npos) {
      const std::string more = hear();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }

 private:
  int fd_;
  bool connected_ = false;
};

std::size_t resident_kib() {
  std::ifstream in("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

std::string post(std::string_view body, std::string_view type = "application/json") {
  return "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
         "Content-Type: " +
         std::string(type) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string ask(std::uint16_t port, std::string_view request) {
  const Socket socket(port);
  socket.say(request);
  return socket.hear_until("\n\n\n");  // never comes: until the end
}

const char* const kWatch = "GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(DoorSockets, BodiesThatAreMeantToHurtAreRefused) {
  Served served;
  EXPECT_THAT(ask(served.port(), post(std::string(10'000, '['))), HasSubstr("HTTP/1.1 400"));
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += R"({"a":)";
  EXPECT_THAT(ask(served.port(), post(deep)), HasSubstr("HTTP/1.1 400"));
  EXPECT_THAT(ask(served.port(), post("{\"metadata\":{\"name\":\"\xff\xfe\"}}")),
              HasSubstr("HTTP/1.1 400"));
  std::string laughs = "a0: &a0 [x]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) laughs += "*a" + std::to_string(i - 1) + ",";
    laughs += "*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(ask(served.port(), post(laughs, "application/yaml")), HasSubstr("HTTP/1.1 400"));
  EXPECT_THAT(ask(served.port(), post(std::string((3 << 20) + 1, ' '))), HasSubstr("HTTP/1.1 413"));
  EXPECT_THAT(ask(served.port(), post(std::string(8 << 20, ' '))), HasSubstr("HTTP/1.1 413"));
  EXPECT_THAT(ask(served.port(), post(R"({"metadata":{"name":"fine"}})")),
              HasSubstr("HTTP/1.1 201"));
}

TEST(DoorSockets, WhoDoesNotFinishItsRequestIsSentAway) {
  Served served({.limits = {.header_time = std::chrono::milliseconds(200),
                            .body_time = std::chrono::milliseconds(200),
                            .idle_time = std::chrono::milliseconds(200)}});
  const Socket silent(served.port()), slow(served.port()), bodiless(served.port()),
      idle(served.port());
  slow.say("GET /api/v1/pods HTTP/1.1\r\nHo");
  bodiless.say(
      "POST /api/v1/namespaces/a/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
  idle.say("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(idle.hear_until("ok"), HasSubstr("HTTP/1.1 200"));
  EXPECT_EQ(silent.hear_until("\n\n\n"), "");
  EXPECT_THAT(slow.hear_until("\n\n\n"), HasSubstr("HTTP/1.1 408"));
  EXPECT_THAT(bodiless.hear_until("\n\n\n"), HasSubstr("HTTP/1.1 408"));
  EXPECT_EQ(idle.hear_until("\n\n\n"), "");
}

TEST(DoorSockets, HeadersAreBounded) {
  Served served({.limits = {.header_bytes = 4'000}});
  const std::string name = "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: ";
  EXPECT_THAT(ask(served.port(), name + std::string(3'000, 'x') + "\r\n\r\n"),
              HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(ask(served.port(), name + std::string(5'000, 'x') + "\r\n\r\n"),
              HasSubstr("HTTP/1.1 431"));
  EXPECT_THAT(ask(served.port(), "GET /" + std::string(5'000, 'x') + " HTTP/1.1\r\n\r\n"),
              HasSubstr("HTTP/1.1 4"));
}

TEST(DoorSockets, ConnectionsAreBounded) {
  Served served({.limits = {.connections = 3}});
  std::vector<std::unique_ptr<Socket>> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(std::make_unique<Socket>(served.port()));
    held.back()->say(kWatch);
    EXPECT_THAT(held.back()->hear(), HasSubstr("HTTP/1.1 200"));
  }
  EXPECT_THAT(ask(served.port(), "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("HTTP/1.1 503"));
  held.clear();
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] {
    return ask(served.port(), "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
               .find("HTTP/1.1 200") != std::string::npos;
  }));
}

TEST(DoorSockets, TwoThousandIdleWatchesCostLittleAndGoAtOnce) {
  constexpr std::size_t kWatches = 2'000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 3 * kWatches)
    GTEST_SKIP() << "only " << files.rlim_max << " files may be open here: raise the limit with "
                 << "`ulimit -Hn " << 3 * kWatches << "` as root";
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 3 * kWatches);
  ::setrlimit(RLIMIT_NOFILE, &files);
  Served served;
  ask(served.port(), post(R"({"metadata":{"name":"first"}})"));
  const std::size_t before = resident_kib();
  std::vector<std::unique_ptr<Socket>> clients;
  for (std::size_t i = 0; i < kWatches; ++i) {
    clients.push_back(std::make_unique<Socket>(served.port()));
    clients.back()->say(kWatch);
  }
  for (const auto& client : clients) ASSERT_THAT(client->hear_until("first"), HasSubstr("ADDED"));
  EXPECT_EQ(served.watches(), kWatches);
  EXPECT_LT(resident_kib() - before, 100'000u) << "KiB for " << kWatches;
  ask(served.port(), post(R"({"metadata":{"name":"second"}})"));
  for (const auto& client : clients) ASSERT_THAT(client->hear_until("second"), HasSubstr("ADDED"));
  clients.clear();
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] { return served.watches() == 0; }));
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] { return served.stats().watchers == 0; }));
}

TEST(DoorSockets, AWatchThatIsNotReadHoldsNothingBack) {
  Served served({.limits = {.unread_time = std::chrono::seconds(2)}});
  const Socket deaf(served.port());
  deaf.say(kWatch);
  ASSERT_TRUE(eventually(std::chrono::seconds(20), [&] { return served.watches() == 1; }));
  const std::string body =
      R"({"metadata":{"generateName":"m-"},"data":{"x":")" + std::string(100'000, 'x') + "\"}}";
  for (int i = 0; i < 200; ++i)
    ASSERT_THAT(ask(served.port(), post(body)), HasSubstr("HTTP/1.1 201"));
  // 20 MB went past it. It is given up when it has taken nothing for a while.
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] { return served.watches() == 0; }));
}

}  // namespace
}  // namespace berth::e2e
