// SPDX-License-Identifier: Apache-2.0
// A server whose process dies while requests are on their way.
#include <gtest/gtest.h>

#include "apiserver/serve/test_server.h"
#include "apiserver/store/store_lab.h"

namespace berth::apiserver {
namespace {

class Process final : public Component {
 public:
  explicit Process(Env& env, Journal& journal)
      : scope_(env.runtime.loop("api"), "server"),
        store_(scope_, {}, &journal),
        server(scope_, ServerParts{store_, kinds_, admission_, authenticator_, authorizer_,
                                   metrics_, env.log, Random(1)}) {
    EXPECT_TRUE(store_.recover().has_value());
  }

 private:
  Scope scope_;
  KindRegistry kinds_;
  Admission admission_;
  NameIsToken authenticator_;
  AllowAll authorizer_;
  Metrics metrics_;
  Store store_;

 public:
  Server server;
};

TEST(Dying, TakesRequestsAndWatchesAlongWithoutAWord) {
  World world{1};
  HeldJournal journal;
  berth::Process& process = world.spawn(
      "server", [&journal](Env& env) { return std::make_unique<Process>(env, journal); });
  Scope scope(world.loop("client"), "client");
  int answered = 0;
  std::unique_ptr<kube::WatchStream> stream;
  const auto ask = [&](kube::ApiRequest request) {
    process.loop("api").post([&, request = std::move(request)]() mutable {
      process.get<Process>().server.handle(
          std::move(request),
          scope.done<kube::ApiReply>(kNoLimit, [&](Result<kube::ApiReply> reply) {
            ++answered;
            if (reply && std::holds_alternative<std::unique_ptr<kube::WatchStream>>(reply->body))
              stream = std::move(std::get<std::unique_ptr<kube::WatchStream>>(reply->body));
          }));
    });
    world.run_until_idle({});
  };
  ask(TestServer::ask(kube::Verb::kWatch, kube::kConfigMap));
  ASSERT_NE(stream, nullptr);
  bool read = false;
  stream->read(scope.done<kube::WatchStream::Batch>(
      kNoLimit, [&](const Result<kube::WatchStream::Batch>&) { read = true; }));
  // The journal keeps all of these waiting.
  ask(TestServer::ask(kube::Verb::kCreate, kube::kConfigMap, {"a", ""},
                      R"({"metadata":{"name":"c"}})"));
  ask(TestServer::ask(kube::Verb::kPatch, kube::kConfigMap, {"a", "c"}, R"({"data":{"x":"y"}})"));
  ask(TestServer::ask(kube::Verb::kDelete, kube::kConfigMap, {"a", "c"}));
  ask(TestServer::ask(kube::Verb::kList, kube::kConfigMap, {"a", ""}, "",
                      {.resource_version = "1000"}));
  EXPECT_EQ(answered, 1);
  EXPECT_FALSE(read);
  world.kill(process);
  stream.reset();
  journal.held.clear();
  world.run_until_idle(1h);
  world.restart(process);
  ask(TestServer::ask(kube::Verb::kList, kube::kConfigMap, {"a", ""}));
  EXPECT_GE(answered, 2);
  world.kill(process);
  scope.close({}, [] {});
  world.run_until_idle(1h);
}

}  // namespace
}  // namespace berth::apiserver
