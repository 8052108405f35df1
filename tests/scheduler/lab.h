// SPDX-License-Identifier: Apache-2.0
// A cluster in virtual time with the scheduler at work in it: a pretended API server that binds
// pods, a wire on which calls may be slow, fail or lose their answer, and plugins made of lambdas.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/world.h"
#include "client/local_transport.h"
#include "fake_server.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/run/app.h"

namespace berth::scheduler::stories {

// The API server: what FakeServer does not know about pods.
class PodServer final : public kube::ApiHandler {
 public:
  PodServer(Executor& home, Random random) : objects(home, random) {}
  void handle(kube::ApiRequest, Done<kube::ApiReply>) override;

  std::string node_of(const std::string& pod);  // "" where it has none
  kube::Object pod(const std::string& name);    // invalid where there is none
  // "reason: note" of the events about a pod, oldest first.
  std::vector<std::string> events_of(const std::string& pod);

  faults::FakeServer objects;
  std::vector<std::string> binds;    // "pod node", as they came in
  std::vector<std::string> patches;  // "pod patch"
};

// A wire that a test can tamper with.
class Wire final : public client::Transport {
 public:
  enum class Fate { kDeliver, kLoseReply, kLoseRequest, kHang };
  Wire(Scope& scope, Executor& home, kube::ApiHandler& handler)
      : scope_(scope), real_(home, handler, {}) {}
  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

  // For calls that are no reads; both may be absent.
  std::function<Fate(const kube::ApiRequest&)> fate;
  std::function<Duration(const kube::ApiRequest&)> delay;
  std::function<std::optional<Error>(const kube::ApiRequest&)> refuse;

 private:
  void deliver(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>);
  Scope& scope_;
  client::LocalTransport real_;
};

bool is_bind(const kube::ApiRequest&);

// What the plugins named Tester and Tester2 do; what is not set does nothing.
struct Tester {
  std::function<PermitResult(const Pod&)> permit;
  std::function<Status(const Pod&)> reserve;
  std::function<void(const Pod&)> unreserve;
  std::function<Status(const Pod&)> pre_flight;
  std::function<void(const Pod&, Done<Status>)> pre_bind;
  std::function<void(const Pod&)> post_bind;
  Services* services = nullptr;  // of the scheduler that made it last
  PluginId id = PluginId::kNone;
};
extern Tester tester, tester2;

// A scorer, not enabled unless configured, that lies to those who cache: its answer is said to
// depend on the row alone. `favourite` gets the points.
extern std::string favourite;

// One scheduler process. It decides from cached shapes, and each of its decisions is made again on
// the plain path; BERTH_DECIDE=plain and BERTH_DECIDE=cold in the environment choose otherwise.
class Replica {
 public:
  Replica(World&, PodServer&, const std::string& name,
          const std::function<void(SchedulerConfig&)>& configure = nullptr,
          const std::function<void(AppOptions&)>& adjust = nullptr);
  ~Replica();
  void close(Duration grace = 5s);

  World& world;
  Metrics metrics;
  Scope scope;
  Wire wire;
  StringSink log;
  std::optional<Error> failure;
  bool closed = false;
  std::unique_ptr<App> app;
};

class Lab {
 public:
  explicit Lab(const std::function<void(SchedulerConfig&)>& configure = nullptr,
               const std::function<void(AppOptions&)>& adjust = nullptr, Seed seed = 1,
               Order order = Order::kFifo);
  ~Lab();

  void node(const std::string& name, const std::string& cpu = "4",
            const std::string& more_spec = "");
  // `more`: members of the spec, each with a comma in front.
  void pod(const std::string& name, const std::string& cpu = "1", const std::string& more = "",
           const std::string& scheduler = "default-scheduler");
  void mark_deleting(const std::string& pod);
  void remove_pod(const std::string& name);
  void run(Duration how_long = 1s) { world.run_for(how_long); }
  std::string node_of(const std::string& pod) { return server.node_of(pod); }
  const Scheduler& scheduler() { return *replica.app->scheduler(); }
  double metric(const std::string& series);  // its value; 0 where it is not shown

  World world;
  PodServer server;
  Replica replica;
};

}  // namespace berth::scheduler::stories
