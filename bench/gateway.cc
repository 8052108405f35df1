// SPDX-License-Identifier: Apache-2.0
// Many listeners on the gateway: a job is changed 100 times a second and 1,000 STOMP subscribers
// over WebSocket hear of every change. Server and listeners share the machine: the listeners are a
// process of their own, so that the server's memory is its own. What counts is the time from the
// moment a change is sent to the API server to the moment a subscriber has read its frame.
// `gateway_bench [SUBSCRIBERS [CHANGES_A_SECOND [SECONDS]]]`; exit code 1 where a must is missed.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "cluster/placed.h"
#include "gateway/service.h"
#include "gateway/stomp.h"
#include "kube/ours/ours.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "process_cost.h"

namespace berth::gateway {
namespace {

constexpr double kMostP99Ms = 200, kMostMb = 300, kLeastShare = 0.99;
constexpr const char* kToken = "owners";

struct Sizes {
  int subscribers = 1'000, changes = 100, seconds = 10;
};

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();  // one clock a machine
}

// The listeners' side.
struct Heard {
  std::int64_t frames = 0;
  double seconds = 0, p50_ms = 0, p99_ms = 0, most_ms = 0, cpu_seconds = 0;
};

class Listener {
 public:
  explicit Listener(std::uint16_t port) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BERTH_CHECK(::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0,
                std::strerror(errno));
    send(
        fmt::format("GET /scheduler HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\n"
                    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                    "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v12.stomp\r\n"
                    "Authorization: Bearer {}\r\n\r\n",
                    port, kToken));
    read_until("\r\n\r\n");
    say({.command = "CONNECT", .headers = {{"accept-version", "1.2"}, {"host", "h"}}});
    read_until(std::string_view("\0", 1));
    say({.command = "SUBSCRIBE",
         .headers = {
             {"id", "sub-0"}, {"destination", "/topic/ns/default/jobs/hot"}, {"receipt", "r"}}});
    read_until(std::string_view("\0", 1));
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  }

  int socket() const { return socket_; }
  // Counts the frames in what has arrived; their times where `times` is there.
  std::int64_t take(const char* bytes, std::size_t size, std::vector<std::int64_t>* times) {
    std::int64_t frames = 0;
    const char* const end = bytes + size;
    for (const char* at = bytes; at < end; ++at) {
      at = static_cast<const char*>(std::memchr(at, 0, static_cast<std::size_t>(end - at)));
      if (at == nullptr) break;
      ++frames;
    }
    if (times == nullptr) return frames;
    const std::int64_t now = now_ns();
    rest_.append(bytes, size);
    constexpr std::string_view kMark = R"("sent":")";
    std::size_t from = 0;
    while (true) {
      const std::size_t mark = rest_.find(kMark, from);
      if (mark == std::string::npos) break;
      const std::size_t quote = rest_.find('"', mark + kMark.size());
      if (quote == std::string::npos) break;
      std::int64_t sent = 0;
      std::from_chars(rest_.data() + mark + kMark.size(), rest_.data() + quote, sent);
      times->push_back(now - sent);
      from = quote;
    }
    rest_.erase(0, std::max(from, rest_.size() > 64 ? rest_.size() - 64 : 0));
    return frames;
  }

 private:
  void send(std::string_view bytes) const {
    BERTH_CHECK(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(bytes.size()),
                std::strerror(errno));
  }
  void say(const StompFrame& frame) const {
    const std::string payload = encode(frame);
    BERTH_CHECK(payload.size() < 126, "a small frame");
    std::string bytes = "\x81";  // text, whole; masked with zeros
    bytes += static_cast<char>(0x80 | payload.size());
    bytes.append(4, '\0');
    send(bytes + payload);
  }
  void read_until(std::string_view mark) const {
    std::string got;
    char buffer[4096];
    while (got.find(mark) == std::string::npos) {
      const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
      BERTH_CHECK(size > 0, got);
      got.append(buffer, static_cast<std::size_t>(size));
    }
    BERTH_CHECK(got.find("ERROR") == std::string::npos, got);
  }

  int socket_ = -1;
  std::string rest_;
};

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Connects, says so, and listens until the other side of `stop` is closed.
void listen(std::uint16_t port, const Sizes& sizes, int ready, int stop, int report) {
  std::vector<Listener> all;
  all.reserve(static_cast<std::size_t>(sizes.subscribers));
  const int poll = ::epoll_create1(0);
  for (int i = 0; i < sizes.subscribers; ++i) {
    all.emplace_back(port);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = static_cast<std::uint64_t>(i)}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, all.back().socket(), &event);
  }
  constexpr std::uint64_t kStop = ~0ULL;
  epoll_event ending{.events = EPOLLIN, .data = {.u64 = kStop}};
  ::epoll_ctl(poll, EPOLL_CTL_ADD, stop, &ending);
  BERTH_CHECK(::write(ready, "r", 1) == 1, "the parent has gone");
  Heard heard;
  std::vector<std::int64_t> times;
  std::vector<char> buffer(256 << 10);
  std::int64_t first = 0, last = 0;
  const double cpu_before = own_cpu_seconds();
  epoll_event events[256];
  for (bool going = true; going;) {
    const int count = ::epoll_wait(poll, events, 256, 1'000);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == kStop) {
        going = false;
        continue;
      }
      Listener& one = all[events[i].data.u64];
      const ssize_t size = ::recv(one.socket(), buffer.data(), buffer.size(), 0);
      if (size <= 0) continue;
      // The times of one listener in ten are enough, and cost the machine less.
      const std::int64_t frames = one.take(buffer.data(), static_cast<std::size_t>(size),
                                           events[i].data.u64 % 10 == 0 ? &times : nullptr);
      if (first == 0) first = now_ns();
      if (frames > 0) last = now_ns();
      heard.frames += frames;
    }
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    if (times.empty()) return 1e9;
    const auto index = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
    return static_cast<double>(times[index]) / 1e6;
  };
  heard.seconds = static_cast<double>(last - first) / 1e9;
  heard.p50_ms = at(0.5);
  heard.p99_ms = at(0.99);
  heard.most_ms = at(1);
  heard.cpu_seconds = own_cpu_seconds() - cpu_before;
  BERTH_CHECK(::write(report, &heard, sizeof heard) == sizeof heard, "the parent has gone");
}

// The server's side: an API server in memory, the gateway, and a writer.
class Served {
 public:
  Served()
      : log_(stderr_sink(), runtime_.loop("writer").clock(), LogLevel::kWarn),
        cluster_(runtime_, metrics_, log_, Random(1), options()) {
    std::promise<void> ready;
    cluster_.start([&](const Result<Ok>& started) {
      BERTH_CHECK(started.has_value(), "the cluster does not start");
      ready.set_value();
    });
    ready.get_future().wait();
    way_ = cluster_.owner();
    scope_ = std::make_unique<Scope>(runtime_.loop("writer"), "writer");
    api_ = std::make_unique<client::Api>(*scope_, *way_, Random(2));
    for (const kube::KindSpec& kind : kube::our_kinds()) create(kind.crd());
    std::this_thread::sleep_for(std::chrono::seconds(1));  // until the definitions are served
    create(
        R"({"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{"name":"hot",)"
        R"("namespace":"default"},"spec":{"sparkSpec":{"type":"Scala"},"externalScheduler":{}}})");
    start_gateway();
  }
  ~Served() {
    server_.reset();
    std::promise<void> stopped;
    service_.stop([&] { stopped.set_value(); });
    stopped.get_future().wait();
    std::promise<void> closed;
    runtime_.loop("writer").post([&] { scope_->close({}, [&] { closed.set_value(); }); });
    closed.get_future().wait();
    std::promise<void> done;
    cluster_.stop([&] { done.set_value(); });
    done.get_future().wait();
  }
  std::uint16_t port() const { return server_->port(); }

  // Changes the job at a steady rate; waits until all of it is written.
  void write(const Sizes& sizes) {
    std::promise<void> done;
    left_ = sizes.changes * sizes.seconds;
    runtime_.loop("writer").post([&, every = Duration(1s) / sizes.changes] {
      next_ = scope_->executor().clock().now();
      tick(every, done);
    });
    done.get_future().wait();
  }

 private:
  static cluster::ClusterOptions options() {
    cluster::ClusterOptions options{.token_key = "key", .owner_token = kToken};
    options.lab.reset();
    options.controllers.clear();
    return options;
  }
  void create(const std::string& json) {
    std::promise<void> done;
    const auto object = kube::Object::parse(json);
    BERTH_CHECK(object.has_value(), json);
    runtime_.loop("writer").post([&] {
      api_->create(object->kind(), std::string(object->ns()), json,
                   scope_->done<kube::Object>(kNoLimit, [&](const Result<kube::Object>& made) {
                     BERTH_CHECK(made.has_value(), made.error().message);
                     done.set_value();
                   }));
    });
    done.get_future().wait();
  }
  void start_gateway() {
    std::promise<net::HttpHandler*> door;
    net::HttpServerOptions listening;
    service_.make("gateway", [&](Scope& scope) {
      ServiceOptions given;
      given.runtime = &runtime_;
      given.gateway.limits.requests_per_address = given.gateway.limits.requests_in_all = 1e6;
      given.gateway.limits.streams_per_user = given.gateway.limits.connections = 20'000;
      auto service = std::make_unique<Service>(scope, *way_, metrics_, log_, Random(3), given);
      service->start();
      listening = service->gateway().server_options();
      service->feeds().on_synced([&door, at = &service->gateway().door()] { door.set_value(at); });
      return service;
    });
    net::HttpHandler& handler = *door.get_future().get();
    auto started = net::HttpServer::start(service_.loop(), listening, handler);
    BERTH_CHECK(started.has_value(), started.error().message);
    server_ = *std::move(started);
  }
  void tick(Duration every, std::promise<void>& done) {
    if (left_-- == 0) return done.set_value();
    api_->patch(
        gateway::kind_of(Topic::kJobs), {"default", "hot"},
        fmt::format(R"({{"spec":{{"externalScheduler":{{"told":[{{"sent":"{}"}}]}}}}}})", now_ns()),
        kube::PatchType::kMerge,
        scope_->done<kube::Object>(kNoLimit, [](const Result<kube::Object>& made) {
          BERTH_CHECK(made.has_value(), made.error().message);
        }));
    next_ = next_ + every;
    scope_->executor().at(next_, [this, every, &done] { tick(every, done); });
  }

  net::RealRuntime runtime_;
  Metrics metrics_;
  Logger log_;
  cluster::Cluster cluster_;
  std::unique_ptr<client::Transport> way_;
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<client::Api> api_;
  cluster::Placed<Service> service_{runtime_.loop("gateway")};
  std::unique_ptr<net::HttpServer> server_;
  int left_ = 0;
  Instant next_ = {};
};

int run(const Sizes& sizes) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  int port[2], ready[2], stop[2], report[2];
  for (int* each : {port, ready, stop, report}) BERTH_CHECK(::pipe(each) == 0, "no pipe");
  const pid_t listeners = ::fork();  // before there are threads
  BERTH_CHECK(listeners >= 0, "no process");
  if (listeners == 0) {
    ::close(stop[1]);
    std::uint16_t number = 0;
    if (::read(port[0], &number, sizeof number) != sizeof number) ::_exit(1);
    listen(number, sizes, ready[1], stop[0], report[1]);
    ::_exit(0);
  }
  ::close(stop[0]);
  Heard heard;
  double cpu = 0;
  {
    Served served;
    const std::uint16_t number = served.port();
    char sign = 0;
    BERTH_CHECK(::write(port[1], &number, sizeof number) == sizeof number, "no listeners");
    BERTH_CHECK(::read(ready[0], &sign, 1) == 1, "the listeners do not connect");
    const double before = own_cpu_seconds();
    served.write(sizes);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // what is under way still arrives
    cpu = own_cpu_seconds() - before;
    ::close(stop[1]);
    BERTH_CHECK(::read(report[0], &heard, sizeof heard) == sizeof heard, "no report");
  }
  int status = 0;
  ::waitpid(listeners, &status, 0);
  const double wanted = 1.0 * sizes.subscribers * sizes.changes * sizes.seconds;
  const double share = static_cast<double>(heard.frames) / wanted;
  const double megabytes = bench::peak_mb(::getpid());
  fmt::print(
      "{} subscribers, {} changes a second, {} s\n"
      "  frames delivered         {:>10} of {:.0f} ({:.0f} a second)\n"
      "  from change to listener  p50 {:.1f} ms, p99 {:.1f} ms, most {:.1f} ms\n"
      "  CPU                      server {:.2f} s, listeners {:.2f} s; {:.2f} us of the server a "
      "frame\n"
      "  memory of the server     {:.0f} MB at its peak\n",
      sizes.subscribers, sizes.changes, sizes.seconds, heard.frames, wanted,
      static_cast<double>(heard.frames) / heard.seconds, heard.p50_ms, heard.p99_ms, heard.most_ms,
      cpu, heard.cpu_seconds, 1e6 * cpu / static_cast<double>(heard.frames), megabytes);
  const bool met = share >= kLeastShare && heard.p99_ms < kMostP99Ms && megabytes < kMostMb;
  fmt::print("  Must (all delivered, p99 under {:.0f} ms, under {:.0f} MB): {}.\n", kMostP99Ms,
             kMostMb, met ? "met" : "MISSED");
  return met ? 0 : 1;
}

}  // namespace
}  // namespace berth::gateway

int main(int argc, char** argv) {
  berth::gateway::Sizes sizes;
  int* const fields[] = {&sizes.subscribers, &sizes.changes, &sizes.seconds};
  for (int i = 1; i < argc && i <= 3; ++i) *fields[i - 1] = std::max(1, std::atoi(argv[i]));
  return berth::gateway::run(sizes);
}
