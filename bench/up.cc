// SPDX-License-Identifier: Apache-2.0
// A large cluster from `berth up`: 5,000 nodes until all are Ready, ten Deployments until all of
// their pods are Running, then more of them for what they take of memory. What counts is the time
// since the process was started, as a client over TLS sees it.
// `up_bench [NODES [PODS [MOST_PODS]]]`; exit code 1 where a must is missed.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "child.h"
#include "client/informer.h"
#include "process_cost.h"
#include "session.h"

namespace berth::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNodesSeconds = 3, kPodsSeconds = 10, kMostMb = 1536;
constexpr int kDeployments = 10;
constexpr std::chrono::seconds kPatience{600};

struct Sizes {
  int nodes = 5'000, pods = 10'000, most = 50'000;
};

std::string name_of(int deployment) { return fmt::format("web-{}", deployment); }

std::string deployment_json(int i, int replicas) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{0}","namespace":"default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":{{"app":"{0}"}}}},"template":{{"metadata":{{"labels":{{"app":"{0}"}}}},"spec":{{"containers":[{{"name":"main","image":"registry.example/app:1.{2}","ports":[{{"containerPort":8080}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}}}}}}]}}}}}}}})",
      name_of(i), replicas, i);
}

bool ready(const kube::Object& node) {
  for (const json::Slice condition : node.status()["conditions"].elements())
    if (condition["type"].equals("Ready")) return condition["status"].equals("True");
  return false;
}

// How many nodes are Ready, or how many pods Deployments call ready, as an informer hears of it.
class Tally {
 public:
  using Count = std::int64_t (*)(const kube::Object&);
  Tally(Session& session, kube::KindId kind, Count count)
      : session_(session), scope_(session.loop().child("tally")), count_(count) {
    session.loop().run([&] {
      informer_ = std::make_unique<client::Informer<>>(
          scope_, session.transport(), Random(1),
          client::InformerOptions{.feed = {.kind = kind}, .keep = client::Keep::kDocument});
      informer_->add_handler(
          {.added = [this](const kube::Object& now) { sum_ += count_(now); },
           .updated = [this](const kube::Object& before,
                             const kube::Object& now) { sum_ += count_(now) - count_(before); },
           .deleted = [this](const kube::Object& last) { sum_ -= count_(last); }});
      informer_->start();
    });
  }
  ~Tally() {
    session_.loop().close(scope_);
    session_.loop().run([&] { informer_.reset(); });
  }
  std::int64_t sum() const { return sum_; }

 private:
  Session& session_;
  Scope& scope_;
  Count count_;
  std::unique_ptr<client::Informer<>> informer_;
  std::atomic<std::int64_t> sum_{0};
};

class Bench {
 public:
  explicit Bench(Sizes sizes) : sizes_(sizes) {}

  Result<Ok> run() {
    Result<Ok> done = start();
    if (done) done = nodes();
    if (done) done = pods(sizes_.pods);
    if (done) check("10 s", since_start() <= kPodsSeconds || sizes_.pods != Sizes{}.pods);
    if (done && sizes_.most > sizes_.pods) done = pods(sizes_.most);
    if (done) check("1.5 GB", bench::peak_mb(berth_->pid()) <= kMostMb);
    return done;
  }
  bool met() const { return met_; }

 private:
  Result<Ok> start() {
    const auto kubeconfig = folder_.path() / "kubeconfig";
    begin_ = Clock::now();
    auto child = Child::start(
        {.program = BERTH_BERTH,
         .args = {"up", "--nodes", std::to_string(sizes_.nodes), "--port", "0", "--data-dir",
                  (folder_.path() / "data").string(), "--kubeconfig-out", kubeconfig.string()},
         .env = {},
         .log = folder_.path() / "log"});
    if (!child) return tl::unexpected(child.error());
    berth_ = *std::move(child);
    if (!eventually(kPatience, [&] { return std::filesystem::exists(kubeconfig); }))
      return fail(Reason::kServiceUnavailable, berth_->log_tail());
    auto session = Session::open(kubeconfig);
    if (!session) return tl::unexpected(session.error());
    session_ = *std::move(session);
    return Ok{};
  }

  Result<Ok> nodes() {
    const Tally tally(*session_, kube::kNode,
                      [](const kube::Object& node) { return std::int64_t{ready(node)}; });
    if (!eventually(kPatience, [&] { return tally.sum() == sizes_.nodes; }))
      return fail(Reason::kTimeout, fmt::format("{} of {} nodes", tally.sum(), sizes_.nodes));
    report(fmt::format("{} nodes Ready", sizes_.nodes));
    check("3 s", since_start() <= kNodesSeconds || sizes_.nodes != Sizes{}.nodes);
    return Ok{};
  }

  // Deployments of so many pods in all, until all run.
  Result<Ok> pods(int count) {
    const Tally tally(*session_, kube::kDeployment, [](const kube::Object& deployment) {
      return deployment.status()["readyReplicas"].integer().value_or(0);
    });
    for (int i = 0; i < kDeployments; ++i) {
      const int replicas = count / kDeployments;
      auto done =
          made_ ? session_->patch(kube::kDeployment, {"default", name_of(i)},
                                  fmt::format(R"({{"spec":{{"replicas":{}}}}})", replicas))
                : session_->create(kube::kDeployment, "default", deployment_json(i, replicas));
      if (!done) return tl::unexpected(done.error());
    }
    made_ = true;
    const int all = count / kDeployments * kDeployments;
    if (!eventually(kPatience, [&] { return tally.sum() == all; }))
      return fail(Reason::kTimeout, fmt::format("{} of {} pods", tally.sum(), all));
    report(fmt::format("{} pods Running", all));
    kube::Options running;
    running.field_selector = "status.phase=Running";
    const auto listed = session_->list_all(kube::kPod, "default", running);
    if (!listed) return tl::unexpected(listed.error());
    if (listed->items.size() != static_cast<std::size_t>(all))
      return fail(Reason::kInternalError,
                  fmt::format("the Deployments are ready with {} pods Running of {}",
                              listed->items.size(), all));
    return Ok{};
  }

  double since_start() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  void report(const std::string& what) {
    std::string threads;
    for (const bench::ThreadCost& thread : bench::cpu_by_thread(berth_->pid()))
      if (thread.cpu_seconds >= 0.05)
        threads += fmt::format("{}{} {:.1f}", threads.empty() ? "" : ", ", thread.name,
                               thread.cpu_seconds);
    fmt::print("  {:<20} {:>7.2f} s since the start {:>7.2f} s of CPU ({}) {:>6.0f} MB at most\n",
               what, since_start(), bench::cpu_seconds(berth_->pid()), threads,
               bench::peak_mb(berth_->pid()));
  }
  void check(const char* must, bool good) {
    if (good) return;
    fmt::print("  Must ({}): MISSED.\n", must);
    met_ = false;
  }

  Sizes sizes_;
  TempFolder folder_;
  Clock::time_point begin_;
  std::unique_ptr<Child> berth_;
  std::unique_ptr<Session> session_;
  bool made_ = false, met_ = true;
};

int run(Sizes sizes) {
  fmt::print("berth up with {} nodes, then {} Deployments, durable without fsync\n", sizes.nodes,
             kDeployments);
  Bench bench(sizes);
  if (const Result<Ok> done = bench.run(); !done) {
    fmt::print("  failed: {}\n", done.error().message);
    return 1;
  }
  fmt::print(
      "  Must ({:.0f} s for the nodes, {:.0f} s for 10,000 pods, {:.0f} MB for 50,000): {}.\n",
      kNodesSeconds, kPodsSeconds, kMostMb, bench.met() ? "met" : "MISSED");
  return bench.met() ? 0 : 1;
}

}  // namespace
}  // namespace berth::e2e

int main(int argc, char** argv) {
  berth::e2e::Sizes sizes;
  if (argc > 1) sizes.nodes = std::atoi(argv[1]);
  if (argc > 2) sizes.pods = sizes.most = std::atoi(argv[2]);
  if (argc > 3) sizes.most = std::atoi(argv[3]);
  if (sizes.nodes <= 0 || sizes.pods <= 0) {
    fmt::print(stderr, "usage: up_bench [NODES [PODS [MOST_PODS]]]\n");
    return 2;
  }
  return berth::e2e::run(sizes);
}
