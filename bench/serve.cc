// SPDX-License-Identifier: Apache-2.0
// What a request costs the API server's loop, from a decoded request to the reply.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "apiserver/auth/allow_all.h"
#include "apiserver/serve/server.h"
#include "base/check.h"
#include "base/world.h"
#include "json/slice.h"
#include "pod_maker.h"

namespace berth::apiserver {
namespace {

class Nobody final : public Authenticator {
 public:
  Result<kube::User> authenticate(const Credentials&, WallTime) override { return kube::User{}; }
};

struct Cluster {
  Cluster()
      : store(scope, {}),
        server(scope, ServerParts{store, kinds, admission, nobody, all, metrics,
                                  Logger(sink, world.clock()), Random(1)}) {}
  ~Cluster() {
    scope.close({}, [] {});
    world.run_until_idle(1h);
  }

  void call(kube::ApiRequest request) {
    server.handle(std::move(request),
                  scope.done<kube::ApiReply>(kNoLimit, [this](Result<kube::ApiReply> reply) {
                    BERTH_CHECK(reply.has_value(), reply.error().message);
                    ++answered;
                  }));
    world.run_until_idle({});
  }
  kube::ApiRequest ask(kube::Verb verb, std::string name, std::string body = "",
                       std::string subresource = "") const {
    kube::ApiRequest request{.verb = verb,
                             .kind = kube::kPod,
                             .ns = "bench",
                             .name = std::move(name),
                             .subresource = std::move(subresource)};
    if (!body.empty()) request.body.bytes = std::make_shared<const std::string>(std::move(body));
    request.options.field_validation = kube::FieldValidation::kWarn;
    return request;
  }
  std::string add(std::size_t i) {
    std::string text = renamed(i);
    call(ask(kube::Verb::kCreate, "", std::move(text)));
    return fmt::format("pod-{}", i);
  }
  // The pod as a client would send it, under a name and namespace of our own.
  static std::string renamed(std::size_t i) {
    const std::string text = bench::new_pod_json(i);
    const json::Slice pod{std::string_view(text)};
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{}","labels":{}}},"spec":{}}})",
        i, pod["metadata"]["labels"].raw(), pod["spec"].raw());
  }

  World world{1};
  Scope scope{world.loop("api"), "bench"};
  StringSink sink;
  Metrics metrics;
  KindRegistry kinds;
  Admission admission;
  Nobody nobody;
  AllowAll all;
  Store store;
  Server server;
  std::size_t answered = 0;
};

void BM_ServeGet(benchmark::State& state) {
  Cluster cluster;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 1'000; ++i) names.push_back(cluster.add(i));
  std::size_t i = 0;
  for (auto _ : state) cluster.call(cluster.ask(kube::Verb::kGet, names[i++ % names.size()]));
}
BENCHMARK(BM_ServeGet);

void BM_ServeCreatePod(benchmark::State& state) {
  Cluster cluster;
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < 20'000; ++i) bodies.push_back(Cluster::renamed(i));
  std::size_t i = 0;
  for (auto _ : state) cluster.call(cluster.ask(kube::Verb::kCreate, "", bodies[i++]));
}
BENCHMARK(BM_ServeCreatePod)->Iterations(20'000);

void BM_ServeBind(benchmark::State& state) {
  Cluster cluster;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 10'000; ++i) names.push_back(cluster.add(i));
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& name = names[i++];
    cluster.call(cluster.ask(
        kube::Verb::kCreate, name,
        fmt::format(R"({{"metadata":{{"name":"{}"}},"target":{{"name":"node-1"}}}})", name),
        "binding"));
  }
}
BENCHMARK(BM_ServeBind)->Iterations(10'000);

void BM_ServePatchStatus(benchmark::State& state) {
  Cluster cluster;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 1'000; ++i) names.push_back(cluster.add(i));
  std::size_t i = 0;
  for (auto _ : state) {
    kube::ApiRequest request =
        cluster.ask(kube::Verb::kPatch, names[i % names.size()],
                    fmt::format(R"({{"status":{{"phase":"Running","podIP":"10.0.{}.{}"}}}})",
                                i / 250 % 250, i % 250),
                    "status");
    request.options.patch_type = kube::PatchType::kStrategic;
    cluster.call(std::move(request));
    ++i;
  }
}
BENCHMARK(BM_ServePatchStatus);

}  // namespace
}  // namespace berth::apiserver
