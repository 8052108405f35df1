// SPDX-License-Identifier: Apache-2.0
#include "neighbour.h"

#include <ctime>

#include <fmt/format.h>

namespace berth::e2e {
namespace {

using conformance::Stream;
using conformance::Wire;

constexpr const char* kSpace = "/api/v1/namespaces/neighbour";

net::HttpRequest watch_of(const char* resource) {
  return {.method = "GET",
          .target = fmt::format("{}/{}?watch=1", kSpace, resource),
          .headers = {},
          .body = {}};
}

}  // namespace

Neighbour::Neighbour(const Access& access, pid_t server)
    : server_(server), thread_([this, &access] { run(access); }) {}

Neighbour::~Neighbour() {
  stop_ = true;
  thread_.join();
}

std::vector<std::string> Neighbour::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

void Neighbour::complain(std::string what) {
  const std::lock_guard lock(mutex_);
  complaints_.push_back(fmt::format("round {}: {}", rounds_.load(), what));
}

std::chrono::milliseconds Neighbour::server_cpu() {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(server_, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    complain("the server has no clock: it has ended");
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec));
}

void Neighbour::waited_since(std::chrono::milliseconds begin) {
  const std::chrono::milliseconds took = server_cpu() - begin;
  if (took.count() > longest_) longest_ = took.count();
}

bool Neighbour::does(Wire& wire, int code, const char* method, const std::string& target,
                     const std::string& body, const char* type) {
  const auto begin = server_cpu();
  const auto response = ask(wire, method, kSpace + target, body, type);
  waited_since(begin);
  if (response && response->status == code) return true;
  complain(fmt::format("{} {}: {}", method, target,
                       response ? response->body : response.error().message));
  return false;
}

bool Neighbour::sees(Stream& stream, const std::string& name, const std::string& text) {
  const auto begin = server_cpu();
  for (;;) {
    const auto line = stream.line(60s);
    if (!line) {
      complain(fmt::format("watching for {} {}: {}", name, text, line.error().message));
      return false;
    }
    if (line->find(fmt::format("\"name\":\"{}\"", name)) != std::string::npos &&
        line->find(text) != std::string::npos) {
      waited_since(begin);
      return true;
    }
  }
}

bool Neighbour::round(Wire& wire, Stream& maps, Stream& pods) {
  const std::string name = fmt::format("n{}", rounds_.load());
  const std::string map = "/configmaps/" + name, pod = "/pods/" + name;
  const std::string metadata = fmt::format(R"("metadata":{{"name":"{}"}})", name);
  return does(wire, 201, "POST", "/configmaps", fmt::format(R"({{{}}})", metadata)) &&
         does(wire, 200, "GET", map) &&
         does(wire, 200, "PATCH", map, R"({"data":{"a":"b"}})", "application/merge-patch+json") &&
         sees(maps, name, R"("a":"b")") && does(wire, 200, "GET", "/configmaps?limit=10") &&
         does(wire, 200, "DELETE", map) && sees(maps, name, "DELETED") &&
         does(wire, 201, "POST", "/pods",
              fmt::format(R"({{{},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
                          metadata)) &&
         sees(pods, name, R"("phase":"Running")") &&
         does(wire, 200, "DELETE", pod, R"({"gracePeriodSeconds":0})");
}

void Neighbour::run(const Access& access) {
  Wire wire(access);
  const auto made = ask(wire, "POST", "/api/v1/namespaces", R"({"metadata":{"name":"neighbour"}})");
  if (!made || made->status != 201) return complain("it has no namespace");
  // A pod needs its service account, which a controller makes.
  if (!eventually(std::chrono::seconds(60), [&] {
        const auto account = ask(wire, "GET", std::string(kSpace) + "/serviceaccounts/default");
        return account && account->status == 200;
      }))
    return complain("it has no service account");
  const auto maps = wire.open(watch_of("configmaps")), pods = wire.open(watch_of("pods"));
  if (!maps || !pods) return complain("it cannot watch");
  while (!stop_ && round(wire, **maps, **pods)) ++rounds_;
}

}  // namespace berth::e2e
