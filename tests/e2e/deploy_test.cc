// SPDX-License-Identifier: Apache-2.0
// deploy/scheduler.yaml as docs/scheduler.md tells to use it, and what berth install prints: the
// server takes all of it, and the rights in it are enough for the work.
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "json/slice.h"
#include "shared_plane.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Deploy : public SharedPlane {
 protected:
  std::string admin_kubectl(std::vector<std::string> args) {
    args.insert(args.begin(), "--kubeconfig=" + plane().kubeconfig().string());
    return kubectl(std::move(args));
  }
  // With the rights of a service account and no others.
  std::string kubeconfig_of(const std::string& space, const std::string& account) {
    std::string token = admin_kubectl({"-n", space, "create", "token", account});
    while (!token.empty() && token.back() == '\n') token.pop_back();
    return plane()
        .folder()
        .write(account + ".kubeconfig", fmt::format(R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "{}", insecure-skip-tls-verify: true}}}}]
users: [{{name: u, user: {{token: "{}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
)",
                                                    plane().url(), token))
        .string();
  }
  void make_node(const std::string& name, const std::string& labels = "{}") {
    ASSERT_TRUE(admin().create(
        kube::kNode, "",
        fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{}}}}})",
                    name, labels)));
    ASSERT_TRUE(admin().patch(kube::kNode, {"", name}, R"({"spec":{"taints":null}})"));
    ASSERT_TRUE(admin().patch(kube::kNode, {"", name},
                              R"({"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},)"
                              R"("conditions":[{"type":"Ready","status":"True"}]}})",
                              kube::PatchType::kMerge, "status"));
  }
  static bool soon(const std::function<bool()>& holds) {
    return eventually(std::chrono::seconds(60), holds);
  }
  static void stop(Child& child) {
    child.signal(SIGTERM);
    ASSERT_TRUE(child.wait(std::chrono::seconds(30)));
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_THAT(child.log(), Not(HasSubstr("cannot ")));
    EXPECT_THAT(child.log(), Not(HasSubstr("forbidden")));
  }
  // What berth install prints, taken by the server; the file it is in.
  std::string installed(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), "install");
    std::filesystem::remove(plane().folder().path() / "install.yaml");
    auto install = Child::start({.program = BERTH_BERTH,
                                 .args = std::move(flags),
                                 .env = {},
                                 .log = plane().folder().path() / "install.yaml"});
    EXPECT_TRUE(install && (*install)->wait(std::chrono::seconds(30)));
    EXPECT_EQ((*install)->exit_code(), 0);
    std::string manifests = (plane().folder().path() / "install.yaml").string();
    EXPECT_THAT(admin_kubectl({"apply", "--validate=strict", "-f", manifests}),
                HasSubstr("deployment.apps/berth-gateway"));
    admin_kubectl({"wait", "--timeout=60s", "--for=condition=Established",
                   "crd/testbeds.batchjob.gcr.io", "crd/slotledgers.berth.dev",
                   "crd/slotledgers.esi.tu-berlin.de"});
    return manifests;
  }
  std::string node_of(const std::string& pod) {
    const auto got = admin().get(kube::kPod, key(pod));
    return got ? std::string(got->member("spec")["nodeName"].text()) : got.error().message;
  }
};

TEST_F(Deploy, TheServerTakesTheWholeManifest) {
  EXPECT_THAT(
      admin_kubectl({"apply", "--dry-run=server", "-f", BERTH_SOURCE_DIR "/deploy/scheduler.yaml"}),
      HasSubstr("deployment.apps/berth-scheduler created (server dry run)"));
}

TEST_F(Deploy, R2_NobodyMayLookIntoPods) {
  for (const std::string& file :
       {installed(), std::string(BERTH_SOURCE_DIR "/deploy/scheduler.yaml")}) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    ASSERT_THAT(text, HasSubstr("kind: ClusterRole")) << file << " has the rights";
    for (const char* way : {"pods/exec", "pods/attach", "pods/portforward", "pods/log", "pods/*"})
      EXPECT_THAT(text, Not(HasSubstr(way))) << file;
  }
}

TEST_F(Deploy, TheRightsAreEnoughToPlaceRefuseAndPreempt) {
  admin_kubectl({"apply", "-f", BERTH_SOURCE_DIR "/deploy/scheduler.yaml", "-l", "part=rights"});
  const std::string kubeconfig = kubeconfig_of("kube-system", "berth-scheduler");
  make_node("only");
  const auto make_pod = [&](const std::string& name, const std::string& cpu,
                            const std::string& more = "") {
    const auto made = admin().create(
        kube::kPod, ns(),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"schedulerName":"berth",{}"terminationGracePeriodSeconds":0,"containers":[{{"name":"main","image":"example.com/a:1","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
            name, more, cpu));
    ASSERT_TRUE(made) << made.error().message;
  };

  auto scheduler = Child::start(
      {.program = BERTH_BERTH,
       .args = {"scheduler", "--kubeconfig", kubeconfig, "--config",
                BERTH_SOURCE_DIR "/examples/scheduler/beside.yaml", "--secure-port", "0"},
       .env = {},
       .log = plane().folder().path() / "beside.log"});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  make_pod("low", "3");
  EXPECT_TRUE(soon([&] { return node_of("low") == "only"; })) << (*scheduler)->log();
  make_pod("huge", "40");
  EXPECT_TRUE(soon([&] {
    const auto got = admin().get(kube::kPod, key("huge"));
    return got && got->json().find("0/1 nodes are available") != std::string::npos;
  })) << (*scheduler)->log();
  make_pod("urgent", "2", R"("priorityClassName":"system-cluster-critical",)");
  EXPECT_TRUE(soon([&] { return node_of("urgent") == "only"; })) << (*scheduler)->log();
  EXPECT_TRUE(soon([&] {
    const auto events = admin().list_all(kube::kEvent, ns());
    std::string reasons;
    if (events)
      for (const kube::Object& event : events->items)
        reasons += std::string(event.member("reason").text()) + " ";
    return reasons.find("Scheduled ") != std::string::npos &&
           reasons.find("FailedScheduling ") != std::string::npos &&
           reasons.find("Preempted ") != std::string::npos;
  })) << (*scheduler)->log();
  stop(**scheduler);
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "only"}));
}

TEST_F(Deploy, ESI_121_InSomeNamespacesRolesThereAreEnough) {
  installed({"--namespaces", ns()});
  make_node("shared", R"({"rack":"0"})");
  const std::string rights = kubeconfig_of("berth-system", "berth-controllers");
  auto controllers = Child::start(
      {.program = BERTH_BERTH,
       .args = {"controllers", "--kubeconfig", rights, "--namespaces", ns(), "--secure-port", "0"},
       .env = {},
       .log = plane().folder().path() / "namespaces.log"});
  ASSERT_TRUE(controllers) << controllers.error().message;
  for (const std::string& space : {ns(), std::string("default")})
    admin_kubectl({"apply", "-f",
                   plane()
                       .folder()
                       .write("bed.yaml", fmt::format(R"(apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata: {{name: bed, namespace: {}}}
spec: {{nodeLabel: rack, slotsPerNode: 2, resourcesPerSlot: {{cpu: 700m, memory: 896Mi}}}}
)",
                                                      space))
                       .string()});
  const auto ghosts = [&](const std::string& space) {
    const auto pods = admin().list_all(kube::kPod, space);
    return pods ? pods->items.size() : 0;
  };
  EXPECT_TRUE(soon([&] { return ghosts(ns()) == 2; })) << (*controllers)->log();
  EXPECT_EQ(ghosts("default"), 0u);
  const std::string here =
      kubectl({"--kubeconfig=" + rights, "auth", "can-i", "--list", "-n", ns()});
  const std::string elsewhere =
      kubectl({"--kubeconfig=" + rights, "auth", "can-i", "--list", "-n", "default"});
  EXPECT_THAT(here, HasSubstr("batchjobs.batchjob.gcr.io"));
  EXPECT_THAT(elsewhere, Not(HasSubstr("batchjob.gcr.io")));
  EXPECT_THAT(elsewhere, Not(HasSubstr("*.*")));
  stop(**controllers);
  for (const std::string& space : {ns(), std::string("default")})
    admin_kubectl({"-n", space, "delete", "testbed", "bed", "--wait=false"});
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "shared"}));
}

TEST_F(Deploy, TheControllersHoldATestbedWithTheRightsThatInstallPrints) {
  const std::string manifests = installed();
  make_node("held", R"({"rack":"0"})");
  auto controllers = Child::start(
      {.program = BERTH_BERTH,
       .args = {"controllers", "--kubeconfig", kubeconfig_of("berth-system", "berth-controllers"),
                "--leader-elect-resource-namespace", "berth-system", "--secure-port", "0"},
       .env = {},
       .log = plane().folder().path() / "controllers.log"});
  ASSERT_TRUE(controllers) << controllers.error().message;
  auto scheduler = Child::start(
      {.program = BERTH_BERTH,
       .args = {"scheduler", "--kubeconfig", plane().kubeconfig().string(), "--secure-port", "0"},
       .env = {},
       .log = plane().folder().path() / "default.log"});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  const std::string testbed =
      plane()
          .folder()
          .write("testbed.yaml", fmt::format(R"(apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata: {{name: bed, namespace: {}}}
spec: {{nodeLabel: rack, slotsPerNode: 2, resourcesPerSlot: {{cpu: 700m, memory: 896Mi}}}}
)",
                                             ns()))
          .string();
  admin_kubectl({"apply", "--validate=strict", "-f", testbed});
  for (const char* ghost : {"ghostpod-bed-on-held-0", "ghostpod-bed-on-held-1"})
    EXPECT_TRUE(soon([&] { return node_of(ghost) == "held"; }))
        << ghost << ": " << node_of(ghost) << (*controllers)->log();
  // P-20, on any cluster.
  const auto explained = [&](const std::string& what, const std::string& name) {
    auto child = Child::start(
        {.program = BERTH_BERTH,
         .args = {"explain", what, name, "-n", ns(), "--kubeconfig", plane().kubeconfig().string()},
         .env = {},
         .log = plane().folder().path() / ("explain-" + what)});
    EXPECT_TRUE(child && (*child)->wait(std::chrono::seconds(60)));
    return (*child)->log();
  };
  EXPECT_TRUE(soon([&] {
    return explained("testbed", "bed").find("is ready: 2 slots") != std::string::npos;
  })) << explained("testbed", "bed");
  EXPECT_THAT(explained("slot", "bed/1"), HasSubstr("slot 1 on held is free"));
  EXPECT_THAT(explained("job", "none"), HasSubstr("does not exist"));
  // Its ghosts are the garbage collector's, who is not here.
  EXPECT_THAT(admin_kubectl({"-n", ns(), "delete", "testbed", "bed", "--timeout=60s"}),
              HasSubstr("deleted"));
  stop(**controllers);
  stop(**scheduler);
  admin_kubectl({"delete", "-f", manifests, "--wait=false"});
  ASSERT_TRUE(admin().erase(kube::kNode, {"", "held"}));
}

// The gateway as a process with the rights of its own account, and callers with theirs.
class DeployedGateway : public Deploy {
 protected:
  void SetUp() override {
    Deploy::SetUp();
    if (IsSkipped()) return;
    // Once: nobody here finishes the deletion of a namespace.
    if (!std::exchange(installed_, true)) installed();
    for (const char* account : {"may", "may-not"})
      admin_kubectl({"-n", ns(), "create", "serviceaccount", account});
    admin_kubectl({"-n", ns(), "create", "rolebinding", "may",
                   "--clusterrole=berth-external-scheduler",
                   fmt::format("--serviceaccount={}:may", ns())});
    rights_ = kubeconfig_of("berth-system", "berth-gateway");
    auto gateway = Child::start({.program = BERTH_BERTH,
                                 .args = {"gateway", "--kubeconfig", rights_, "--namespace", ns(),
                                          "--port", "0", "--log-level", "warn"},
                                 .env = {},
                                 .log = plane().folder().path() / (ns() + "-gateway.log")});
    ASSERT_TRUE(gateway) << gateway.error().message;
    gateway_ = *std::move(gateway);
    ASSERT_TRUE(soon([&] {
      const std::string log = gateway_->log();
      const std::size_t at = log.find("http://127.0.0.1:");
      if (at == std::string::npos) return false;
      url_ = log.substr(at, log.find('\n', at) - at);
      return true;
    })) << gateway_->log();
    ASSERT_TRUE(soon([&] { return call("GET", "/readyz") == "200"; })) << gateway_->log();
  }
  void TearDown() override {
    if (gateway_) stop(*gateway_);
    Deploy::TearDown();
  }
  std::string token(const std::string& account) {
    std::string given = admin_kubectl({"-n", ns(), "create", "token", account});
    while (!given.empty() && given.back() == '\n') given.pop_back();
    return given;
  }
  std::unique_ptr<Child> curl(std::vector<std::string> args, const std::string& bearer) {
    if (!bearer.empty()) args.insert(args.end(), {"-H", "Authorization: Bearer " + bearer});
    args.insert(args.begin(), "curl");
    auto child =
        Child::start({.program = "/usr/bin/env",
                      .args = std::move(args),
                      .env = {},
                      .log = plane().folder().path() / fmt::format("{}-curl-{}", ns(), ++calls_)});
    EXPECT_TRUE(child) << child.error().message;
    return *std::move(child);
  }
  // The code of the answer.
  std::string call(const std::string& method, const std::string& path,
                   const std::string& bearer = "", const std::string& body = "") {
    std::vector<std::string> args{"-s",           "-o", "/dev/null", "-w",
                                  "%{http_code}", "-X", method,      url_ + path};
    if (!body.empty()) args.insert(args.end(), {"-d", body});
    std::string code;
    EXPECT_TRUE(soon([&] {
      const auto child = curl(args, bearer);
      EXPECT_TRUE(child->wait(std::chrono::seconds(60)));
      code = child->log();
      return code != "429";  // it counts callers' requests
    }));
    return code;
  }
  std::string answer(const std::string& path, const std::string& bearer) {
    const auto child = curl({"-s", url_ + path}, bearer);
    EXPECT_TRUE(child->wait(std::chrono::seconds(60)));
    return child->log();
  }
  void create(const std::string& kind, const std::string& name, const std::string& spec) {
    admin_kubectl({"-n", ns(), "create", "-f",
                   plane()
                       .folder()
                       .write(name + ".json",
                              fmt::format(R"({{"apiVersion":"batchjob.gcr.io/v1alpha1",)"
                                          R"("kind":"{}","metadata":{{"name":"{}"}},"spec":{}}})",
                                          kind, name, spec))
                       .string()});
  }
  // "verb group/resource" of all that the holder of a kubeconfig may do in a namespace.
  std::set<std::string> rules_of(const std::string& kubeconfig, const std::string& space) {
    const std::string asked =
        plane()
            .folder()
            .write("review.json",
                   fmt::format(R"({{"apiVersion":"authorization.k8s.io/v1","kind":)"
                               R"("SelfSubjectRulesReview","spec":{{"namespace":"{}"}}}})",
                               space))
            .string();
    const std::string answer =
        kubectl({"--kubeconfig=" + kubeconfig, "create", "--raw",
                 "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "-f", asked});
    std::set<std::string> all;
    for (const json::Slice rule : json::Slice(answer)["status"]["resourceRules"].elements())
      for (const json::Slice verb : rule["verbs"].elements())
        for (const json::Slice group : rule["apiGroups"].elements())
          for (const json::Slice resource : rule["resources"].elements())
            all.insert(fmt::format("{} {}/{}{}", verb.text(), group.text(), resource.text(),
                                   rule["resourceNames"].size() > 0 ? " by name" : ""));
    // Everybody who is known may ask what they themselves may do.
    std::erase_if(
        all, [](const std::string& one) { return one.find("/selfsubject") != std::string::npos; });
    return all;
  }

  static inline bool installed_ = false;
  std::string rights_, url_;
  std::unique_ptr<Child> gateway_;
  int calls_ = 0;
};

TEST_F(DeployedGateway, ESI_101_ESI_127_LetsThroughWhatRbacDoesAndNothingElse) {
  const std::string may = token("may"), may_not = token("may-not");
  const std::string own = "/external/v1/namespaces/" + ns(),
                    other = "/external/v1/namespaces/default";
  const std::string scheduling = R"({"name":"s","testBed":"tb","queue":["a"]})";
  const std::string data = R"({"name":"a","externalScheduler":{}})";
  const struct {
    const char *method, *path;
    std::string body;
    const char* allowed;  // the code for whom RBAC allows it
  } kRows[] = {
      {"GET", "/testbeds", "", "200"},
      {"GET", "/jobs", "", "200"},
      {"GET", "/schedulings", "", "200"},
      {"GET", "/snapshot", "", "200"},
      {"GET", "/testbeds/tb", "", "404"},
      {"GET", "/testbeds/tb/slots", "", "404"},
      {"GET", "/testbeds/tb/timeline", "", "404"},
      {"GET", "/jobs/a/runs", "", "404"},
      {"GET", "/schedulings/s/explanation", "", "404"},
      {"PUT", "/jobs", data, "404"},
      {"POST", "/jobs/a/reset", "", "404"},
      {"POST", "/schedulings?dryRun=All", scheduling, "200"},
      {"POST", "/schedulings", scheduling, "200"},
      {"DELETE", "/schedulings/s", "", "200"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(call(row.method, own + row.path, "", row.body), "401") << row.path;
    EXPECT_EQ(call(row.method, own + row.path, "nonsense", row.body), "401") << row.path;
    EXPECT_EQ(call(row.method, own + row.path, may_not, row.body), "403") << row.path;
    EXPECT_EQ(call(row.method, other + row.path, may, row.body), "403") << row.path;
    EXPECT_EQ(call(row.method, own + row.path, may, row.body), row.allowed) << row.path;
  }
  EXPECT_EQ(call("GET", "/metrics", may), "403");
  EXPECT_EQ(call("POST", own + "/testbeds", may, "{}"), "405");
  EXPECT_EQ(call("GET", "/api/v1/secrets", may), "404") << "it is no way to the API server";

  // What the gateway's own account may, were it taken over.
  std::set<std::string> gateway{"patch batchjob.gcr.io/batchjobs",
                                "create batchjob.gcr.io/schedulings",
                                "patch batchjob.gcr.io/schedulings",
                                "delete batchjob.gcr.io/schedulings",
                                "patch /pods",  // the checkpoints that their programs report
                                "create authentication.k8s.io/tokenreviews",
                                "create authorization.k8s.io/subjectaccessreviews"};
  for (const char* followed :
       {"batchjob.gcr.io/testbeds", "batchjob.gcr.io/batchjobs", "batchjob.gcr.io/schedulings",
        "berth.dev/slotledgers", "berth.dev/scavengerjobs", "core.cerit.cz/scavengerjobs",
        "berth.dev/scavengerpolicies", "berth.dev/scavengerquotas", "events.k8s.io/events",
        "/nodes", "/pods"})
    for (const char* verb : {"get", "list", "watch"})
      gateway.insert(fmt::format("{} {}", verb, followed));
  EXPECT_EQ(rules_of(rights_, ns()), gateway);
  const std::set<std::string> kPeople{"get batchjob.gcr.io/testbeds",
                                      "list batchjob.gcr.io/testbeds",
                                      "watch batchjob.gcr.io/testbeds",
                                      "get batchjob.gcr.io/batchjobs",
                                      "list batchjob.gcr.io/batchjobs",
                                      "watch batchjob.gcr.io/batchjobs",
                                      "get batchjob.gcr.io/schedulings",
                                      "list batchjob.gcr.io/schedulings",
                                      "watch batchjob.gcr.io/schedulings",
                                      "create batchjob.gcr.io/schedulings",
                                      "update batchjob.gcr.io/schedulings",
                                      "delete batchjob.gcr.io/schedulings",
                                      "update batchjob.gcr.io/batchjobs/externalscheduler",
                                      "update batchjob.gcr.io/batchjobs/reset"};
  const std::string people = kubeconfig_of(ns(), "may");
  EXPECT_EQ(rules_of(people, ns()), kPeople);
  EXPECT_EQ(rules_of(people, "default"), std::set<std::string>{});
}

TEST_F(DeployedGateway, ESI_100_ESI_101_OneAnswerHasAllThatADecisionNeeds) {
  const std::string may = token("may"), own = "/external/v1/namespaces/" + ns();
  create(
      "Testbed", "tb",
      R"({"slotsPerNode":2,"nodeLabel":"nowhere","resourcesPerSlot":{"cpu":"1","memory":"1Gi"}})");
  create("BatchJob", "a", R"({"sparkSpec":{"type":"Scala"}})");
  create("Scheduling", "s", R"({"testbed":{"name":"tb"},"queueBased":[{"name":"a"}]})");
  std::string told;
  ASSERT_TRUE(soon([&] {
    told = answer(own + "/snapshot", may);
    const json::Slice all(told);
    return all["testbeds"].size() == 1 && all["jobs"].size() == 1 && all["schedulings"].size() == 1;
  })) << told;
  const json::Slice all(told);
  EXPECT_THAT(all["cursor"].text(), Not(testing::IsEmpty()));
  EXPECT_EQ(all["testbeds"][std::size_t{0}]["name"].text(), "tb");
  EXPECT_EQ(all["schedulings"][std::size_t{0}]["queue"].raw(), R"(["a"])");
  EXPECT_EQ(all["jobs"]["a"]["scheduledEvents"].size(), 0u);
  const std::string data = R"({"name":"a","externalScheduler":{"profiler":[{"b":"24 of 16"}]}})";
  EXPECT_EQ(call("PUT", own + "/jobs", may, data), "200");
  EXPECT_EQ(
      admin_kubectl({"-n", ns(), "get", "batchjob", "a", "-o",
                     "jsonpath={.spec.externalScheduler.profiler[0].b} {.spec.sparkSpec.type}"}),
      "24 of 16 Scala");
}

TEST_F(DeployedGateway, ESI_103_ChangesAreToldOverStomp) {
  auto listener =
      Child::start({.program = "/usr/bin/env",
                    .args = {"python3", BERTH_SOURCE_DIR "/tests/e2e/gateway/listener.py",
                             url_.substr(std::string_view("http://").size()), token("may"),
                             "/topic/jobs", "/topic/ns/" + ns() + "/jobs/a"},
                    .env = {},
                    .log = plane().folder().path() / (ns() + "-listener.log")});
  ASSERT_TRUE(listener) << listener.error().message;
  const auto heard = [&](const std::string& line) {
    EXPECT_TRUE(soon([&] { return (*listener)->log().find(line) != std::string::npos; }))
        << line << " is not in\n"
        << (*listener)->log() << gateway_->log();
  };
  heard("RECEIPT");
  const std::string one = "MESSAGE /topic/ns/" + ns() + "/jobs/a ";
  create("BatchJob", "a", R"({"sparkSpec":{"type":"Scala"}})");
  heard(R"(MESSAGE /topic/jobs {"action":"ADDED","resource":"a"})");
  heard(one + R"({"action":"ADDED","resource":{)");
  admin_kubectl({"-n", ns(), "patch", "batchjob", "a", "--type=merge", "-p",
                 R"({"spec":{"externalScheduler":{"x":[]}}})"});
  heard(R"(MESSAGE /topic/jobs {"action":"MODIFIED","resource":"a"})");
  heard(one + R"({"action":"MODIFIED","resource":{)");
  admin_kubectl({"-n", ns(), "delete", "batchjob", "a"});
  heard(R"(MESSAGE /topic/jobs {"action":"DELETED","resource":"a"})");
}

TEST_F(DeployedGateway, ESI_127_AWithdrawnTokenEndsItsStream) {
  const auto stream = curl({"-sN", url_ + "/external/v1/events"}, token("may"));
  ASSERT_TRUE(soon([&] { return stream->log().find("event: synced") != std::string::npos; }))
      << stream->log() << gateway_->log();
  admin_kubectl({"-n", ns(), "delete", "serviceaccount", "may"});
  EXPECT_TRUE(stream->wait(std::chrono::minutes(2))) << stream->log();
  EXPECT_EQ(stream->exit_code(), 0) << "a proper end";
}

}  // namespace
}  // namespace berth::e2e
