// SPDX-License-Identifier: Apache-2.0
// The lab itself; in a file of tests so that it is no part of the library.
#include "apiserver/http/door_lab.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

class Stream final : public kube::WatchStream {
 public:
  explicit Stream(std::shared_ptr<FakeWatch> watch) : watch_(std::move(watch)) {}
  ~Stream() override {
    at_home();
    watch_->ended = true;
    watch_->waiting = {};
  }
  void read(Done<Batch> done) override {
    at_home();
    ++watch_->reads;
    watch_->waiting = std::move(done);
  }

 private:
  void at_home() const { EXPECT_TRUE(watch_->home == nullptr || watch_->home->here()); }
  std::shared_ptr<FakeWatch> watch_;
};

}  // namespace

void FakeWatch::give(std::vector<kube::WatchEvent> events, bool end) {
  std::exchange(waiting, {})(kube::WatchStream::Batch{.events = std::move(events), .end = end});
}

DoorLab::DoorLab(DoorOptions options)
    : door(std::make_unique<Door>(
          scope, api,
          [this](Credentials who, kube::ApiRequest what, Done<kube::ApiReply> done) {
            EXPECT_TRUE(api.here());
            credentials = std::move(who);
            request = std::move(what);
            if (answer) return done(answer(*request));
            unanswered = std::move(done);
          },
          kinds, Random(7), std::move(options))) {}

DoorLab::~DoorLab() {
  if (!scope.closing()) scope.close({}, [] {});
  settle();
}

std::shared_ptr<FakeClient> DoorLab::send(net::HttpRequest http, std::string address, bool reads) {
  auto client = std::make_shared<FakeClient>();
  client->reads = reads;
  io.post([this, http = std::move(http), address, client]() mutable {
    door->handle(std::move(http), {.address = address},
                 net::HttpReply(std::make_shared<net::FakeReply>(client)));
  });
  settle();
  return client;
}

std::shared_ptr<FakeClient> DoorLab::get(std::string target, std::string accept) {
  net::HttpRequest http{.target = std::move(target)};
  if (!accept.empty()) http.headers.add("Accept", std::move(accept));
  return send(std::move(http));
}

kube::ApiReply DoorLab::watched(const std::shared_ptr<FakeWatch>& watch) {
  kube::ApiReply reply;
  reply.body = std::unique_ptr<kube::WatchStream>(std::make_unique<Stream>(watch));
  return reply;
}

kube::Object config_map(std::string_view name, std::size_t bytes) {
  return kube::Object::parse(
             kube::kConfigMap,
             fmt::format(
                 R"({{"metadata":{{"name":"{}","resourceVersion":"5"}},"data":{{"x":"{}"}}}})",
                 name, std::string(bytes, 'x')))
      .value();
}

kube::ApiReply reply_with(kube::Object object, int code) {
  kube::ApiReply reply;
  reply.code = code;
  reply.body = std::move(object);
  return reply;
}

kube::ApiReply reply_with(kube::ObjectList list) {
  kube::ApiReply reply;
  reply.body = std::move(list);
  return reply;
}

}  // namespace berth::apiserver
