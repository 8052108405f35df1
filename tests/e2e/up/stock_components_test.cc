// SPDX-License-Identifier: Apache-2.0
// The stock kube-scheduler, kube-controller-manager and kwok on `berth up`: all three in place of
// our own parts, and each alone beside the rest of them. They get protobuf understood, find every
// kind they look for, and do their work: pods run on all nodes, a Deployment rolls, a Job
// completes, what nobody owns any more goes, and so does a namespace.
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth_up.h"
#include "kube/pod_view.h"
#include "real.h"
#include "session.h"

namespace berth::e2e {
namespace {

constexpr std::chrono::seconds kPatience{300};
constexpr const char* kNs = "shop";
// Those that a cluster of simulated nodes has a use for.
const std::vector<std::string> kControllers = {"deployment-controller",
                                               "replicaset-controller",
                                               "statefulset-controller",
                                               "daemonset-controller",
                                               "job-controller",
                                               "cronjob-controller",
                                               "namespace-controller",
                                               "serviceaccount-controller",
                                               "garbage-collector-controller",
                                               "disruption-controller",
                                               "node-lifecycle-controller",
                                               "taint-eviction-controller",
                                               "pod-garbage-collector-controller",
                                               "ttl-after-finished-controller",
                                               "resourcequota-controller",
                                               "podgroup-protection-controller"};

std::string node_json(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}"}}}},"status":{{"allocatable":{{"cpu":"16","memory":"64Gi","pods":"110"}},"capacity":{{"cpu":"16","memory":"64Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}]}}}})",
      i);
}

std::string deployment_json(int replicas) {
  return fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"web","image":"web:1","resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}}}}}})",
      replicas);
}

constexpr const char* kJob =
    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"sum"},"spec":{"completions":6,"parallelism":3,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"sum","image":"sum:1"}]}}}})";

// A `berth up` with some of its parts replaced, and the stories that are played on it.
class Mixed {
 public:
  struct Stock {
    bool scheduler = false, controllers = false, nodes = false;
  };

  Result<Ok> start(Stock stock, int nodes) {
    std::vector<std::string> flags;
    const auto without = [&](const char* part) { flags.insert(flags.end(), {"--without", part}); };
    if (stock.scheduler) without("scheduler");
    if (stock.controllers) without("controllers");
    if (stock.nodes)
      without("nodes");
    else
      flags.insert(flags.end(), {"--nodes", std::to_string(nodes)});
    auto up = BerthUp::start({.flags = flags});
    if (!up) return tl::unexpected(up.error());
    up_ = std::move(*up);
    auto session = Session::open(up_->kubeconfig());
    if (!session) return tl::unexpected(session.error());
    admin_ = std::move(*session);
    // All else is as these programs have it: leader election by leases, bodies in protobuf, and for
    // each of the controllers a service account with its token and its role.
    if (stock.scheduler)
      if (auto run =
              program("kube-scheduler",
                      {"--kubeconfig=" + up_->kubeconfig().string(), "--secure-port=0",
                       "--kube-api-qps=5000", "--kube-api-burst=5000",
                       // A machine that is busy elsewhere for ten seconds is no finding.
                       "--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=60s"});
          !run)
        return run;
    if (stock.controllers) {
      std::vector<std::string> args = controller_manager_args(up_->kubeconfig(), kControllers);
      args.push_back("--use-service-account-credentials=true");
      if (auto run = program("kube-controller-manager", std::move(args)); !run) return run;
    }
    if (stock.nodes) {
      std::vector<std::string> args = kwok_args(up_->kubeconfig());
      args.insert(args.end(), {"--manage-all-nodes=true", "--node-lease-duration-seconds=40",
                               "--config=" BERTH_SOURCE_DIR "/tests/e2e/up/kwok.yaml"});
      if (auto run = program("kwok", std::move(args)); !run) return run;
      std::vector<NewObject> objects;
      for (int i = 0; i < nodes; ++i) objects.push_back({kube::kNode, "", node_json(i)});
      if (auto made = create_all(*admin_, std::move(objects)); !made) return made;
    }
    // Else the first ones would take more than their share of the pods.
    if (!eventually(kPatience, [&] { return ready_nodes() == nodes; }))
      return fail(Reason::kTimeout, "the nodes do not become ready");
    create(
        kube::kNamespace, "",
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", kNs));
    return Ok{};
  }
  ~Mixed() {
    if (::testing::Test::HasFailure()) fmt::print("{}\n", log_tails());
    programs_.clear();  // before what they use
  }

  // Pods of a Deployment run on every node.
  void spreads(int replicas, int nodes) {
    create(kube::kDeployment, kNs, deployment_json(replicas));
    ASSERT_TRUE(eventually(kPatience, [&] { return deployed("readyReplicas") == replicas; }))
        << deployed("readyReplicas") << " of " << replicas << " are ready";
    std::map<std::string, int> on;
    for (const kube::Object& pod : list(kube::kPod)) {
      EXPECT_EQ(pod.status()["phase"].text(), "Running");
      ++on[pod.member("spec")["nodeName"].text()];
    }
    EXPECT_EQ(std::ssize(on), nodes);
    for (const auto& [node, pods] : on) {
      EXPECT_NE(node, "");
      EXPECT_LE(pods, 2 * replicas / nodes) << node;
    }
  }

  // New pods replace the old ones, step by step.
  void rolls(int replicas) {
    kubectl({"set", "image", "deployment/web", "web=web:2"});
    kubectl({"rollout", "status", "deployment/web", "--timeout=300s"});
    for (const kube::Object& set : list(kube::kReplicaSet)) {
      const json::Slice spec = set.member("spec");
      const bool fresh = spec["template"]["spec"]["containers"][0]["image"].equals("web:2");
      EXPECT_EQ(spec["replicas"].integer(), fresh ? replicas : 0) << set.name();
    }
    // Those that are left of the old ones are on their way.
    EXPECT_TRUE(eventually(kPatience, [&] { return std::ssize(list(kube::kPod)) == replicas; }));
    for (const kube::Object& pod : list(kube::kPod))
      EXPECT_EQ(pod.member("spec")["containers"][0]["image"].text(), "web:2");
  }

  void completes() {
    create(kube::kJob, kNs, kJob);
    kubectl({"wait", "--for=condition=complete", "job/sum", "--timeout=300s"});
    const auto job = admin_->get(kube::kJob, {kNs, "sum"});
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->status()["succeeded"].integer(), 6);
  }

  // With its owner goes what it owned, down to the pods: before it, or after it.
  void collects() {
    kubectl({"delete", "deployment", "web", "--cascade=background"});
    kubectl({"delete", "job", "sum", "--cascade=foreground", "--timeout=300s"});
    for (const kube::KindId kind : {kube::kReplicaSet, kube::kPod, kube::kJob})
      EXPECT_TRUE(eventually(kPatience, [&] { return list(kind).empty(); }))
          << kube::kind_of(kind).kind << ": " << list(kind).size() << " are left";
  }

  void goes() {
    create(kube::kConfigMap, kNs,
           R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"left"}})");
    kubectl({"delete", "namespace", kNs, "--timeout=300s"});
    EXPECT_FALSE(admin_->get(kube::kNamespace, {"", kNs}));
    for (const kube::KindId kind : {kube::kConfigMap, kube::kServiceAccount, kube::kEvent})
      EXPECT_TRUE(list(kind).empty()) << kube::kind_of(kind).kind;
  }

  // How many bodies of requests came in this format so far. Our own client writes JSON.
  double bodies(const std::string& format) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kRaw;
    request.raw_method = "GET";
    request.raw_path = "/metrics";
    const auto reply = admin_->once(std::move(request), 30s);
    EXPECT_TRUE(reply) << reply.error().message;
    const std::string* page = reply ? std::get_if<std::string>(&reply->body) : nullptr;
    if (page == nullptr) return -1;
    const std::string line =
        fmt::format("\nberth_apiserver_request_bodies_total{{format=\"{}\"}} ", format);
    const std::size_t at = page->find(line);
    EXPECT_NE(at, std::string::npos) << format;
    return at == std::string::npos ? -1 : std::strtod(page->c_str() + at + line.size(), nullptr);
  }

  // Everybody is still at work, and nobody was refused anything.
  void all_is_well() {
    EXPECT_TRUE(up_->child().running());
    for (const auto& one : programs_) {
      EXPECT_TRUE(one->running()) << one->name();
      std::istringstream log(one->log());
      for (std::string line; std::getline(log, line);) {
        // What is written into a namespace that goes is refused by anybody's server.
        if (line.find("being terminated") != std::string::npos) continue;
        for (const char* bad : {"is forbidden", "Unauthorized", "unable to decode", "panic",
                                "could not find the requested resource"})
          EXPECT_EQ(line.find(bad), std::string::npos) << one->name() << ": " << line;
      }
    }
  }

 private:
  Result<Ok> program(const std::string& name, std::vector<std::string> args) {
    auto child = start_real(name, std::move(args), up_->folder());
    if (!child) return tl::unexpected(child.error());
    programs_.push_back(std::move(*child));
    return Ok{};
  }
  void create(kube::KindId kind, const std::string& ns, const std::string& json) {
    const auto made = admin_->create(kind, ns, json);
    EXPECT_TRUE(made) << made.error().message;
  }
  std::vector<kube::Object> list(kube::KindId kind) {
    auto all = admin_->list_all(kind, kube::kind_of(kind).namespaced ? kNs : "");
    EXPECT_TRUE(all) << all.error().message;
    return all ? std::move(all->items) : std::vector<kube::Object>();
  }
  int ready_nodes() {
    int ready = 0;
    for (const kube::Object& node : list(kube::kNode))
      if (kube::find_condition(node.status(), "Ready")["status"].equals("True") &&
          node.member("spec")["taints"].size() == 0)
        ++ready;
    return ready;
  }
  std::int64_t deployed(const char* field) {
    const auto found = admin_->get(kube::kDeployment, {kNs, "web"});
    return found ? found->status()[field].integer().value_or(0) : -1;
  }
  void kubectl(std::vector<std::string> args) {
    const std::string command = fmt::format("kubectl {}", fmt::join(args, " "));
    args.insert(args.end(),
                {"--kubeconfig=" + up_->kubeconfig().string(), fmt::format("--namespace={}", kNs)});
    const auto ran = run_kubectl(std::move(args), up_->folder(), kPatience + kPatience);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->code, 0) << command << "\n" << ran->output;
  }
  std::string log_tails() const {
    std::string all = up_ ? "--- berth up\n" + up_->log_tail() : "";
    for (const auto& one : programs_) all += "--- " + one->name() + "\n" + one->log_tail(15);
    return all;
  }

  std::unique_ptr<BerthUp> up_;
  std::unique_ptr<Session> admin_;
  std::vector<std::unique_ptr<Child>> programs_;
};

struct Case {
  const char* name;
  Mixed::Stock stock;
  int nodes, pods;
  // Bodies in protobuf before anybody but the stock programs has sent any: a binding a pod, a new
  // pod, a node's lease.
  int protobuf;
};

class StockComponents : public ::testing::TestWithParam<Case> {};

TEST_P(StockComponents, DoTheirWorkOnBerthUp) {
  for (const char* name : {"kube-scheduler", "kube-controller-manager", "kwok", "kubectl"})
    if (const auto there = real_program(name); !there) GTEST_SKIP() << there.error().message;
  const Case& now = GetParam();
  Mixed cluster;
  const auto started = cluster.start(now.stock, now.nodes);
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_NO_FATAL_FAILURE(cluster.spreads(now.pods, now.nodes));
  EXPECT_GE(cluster.bodies("protobuf"), now.protobuf);
  fmt::print("protobuf bodies: {}\n", cluster.bodies("protobuf"));
  EXPECT_EQ(cluster.bodies("other"), 0);
  cluster.rolls(now.pods);
  cluster.completes();
  cluster.collects();
  cluster.goes();
  cluster.all_is_well();
}

INSTANTIATE_TEST_SUITE_P(
    , StockComponents,
    ::testing::Values(Case{"AllThree", {true, true, true}, 100, 1000, 2000},
                      Case{"TheSchedulerAlone", {true, false, false}, 20, 200, 200},
                      Case{"TheControllersAlone", {false, true, false}, 20, 200, 200},
                      Case{"KwokAlone", {false, false, true}, 20, 200, 20}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace berth::e2e
