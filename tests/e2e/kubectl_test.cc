// SPDX-License-Identifier: Apache-2.0
// The real kubectl against our API server: what people do all day.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "child.h"
#include "control_plane.h"
#include "served.h"

namespace berth::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Kubectl : public testing::Test {
 protected:
  void SetUp() override {
    const auto program = real_program("kubectl");
    if (!program) GTEST_SKIP() << program.error().message;
    kubectl_ = program->string();
  }
  std::unique_ptr<Child> start(std::vector<std::string> args) {
    for (std::string& own : std::vector<std::string>{
             "--server=" + served_.url(), "--cache-dir=" + (folder_.path() / "cache").string()})
      args.push_back(std::move(own));
    auto child =
        Child::start({.program = kubectl_,
                      .args = std::move(args),
                      .env = {"KUBECONFIG=/nonexistent", "HOME=" + folder_.path().string()},
                      .log = folder_.path() / ("out" + std::to_string(++runs_))});
    EXPECT_TRUE(child.has_value());
    return std::move(*child);
  }
  // What it printed, with its exit code where that is not 0.
  std::string run(std::vector<std::string> args) {
    const auto child = start(std::move(args));
    EXPECT_TRUE(child->wait(std::chrono::seconds(60)));
    const std::string out = child->log();
    return child->exit_code() == 0 ? out : out + "exit " + std::to_string(child->exit_code());
  }
  std::string file(std::string_view text) {
    return folder_.write("file" + std::to_string(++runs_) + ".yaml", text).string();
  }
  TempFolder folder_;
  std::string kubectl_;
  int runs_ = 0;
  Served served_;
};

constexpr const char* kMap =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: one}\n";
constexpr const char* kChanged =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: two, b: three}\n";

TEST_F(Kubectl, LearnsWhatThereIs) {
  EXPECT_THAT(run({"version"}), HasSubstr("Server Version: v1.36"));
  EXPECT_THAT(run({"api-resources"}),
              AllOf(HasSubstr("deployments "), HasSubstr("deploy "), HasSubstr("apps/v1")));
  EXPECT_EQ(run({"get", "--raw", "/readyz"}), "ok");
  EXPECT_THAT(run({"get", "ponds"}),
              HasSubstr("the server doesn't have a resource type \"ponds\""));
  EXPECT_THAT(run({"get", "--raw", "/api/v1/ponds"}),
              HasSubstr("the server could not find the requested resource"));
}

TEST_F(Kubectl, CreatesWithProtobufAndGetsTables) {
  EXPECT_EQ(run({"create", "namespace", "demo"}), "namespace/demo created\n");
  EXPECT_EQ(run({"create", "deployment", "web", "--image=nginx", "--replicas=2"}),
            "deployment.apps/web created\n");
  EXPECT_EQ(run({"create", "job", "once", "--image=busybox"}), "job.batch/once created\n");
  EXPECT_EQ(run({"create", "pdb", "p", "--selector=a=b", "--min-available=1"}),
            "poddisruptionbudget.policy/p created\n");
  EXPECT_EQ(run({"create", "priorityclass", "high", "--value=5"}),
            "priorityclass.scheduling.k8s.io/high created\n");
  EXPECT_THAT(
      run({"get", "deployments"}),
      AllOf(HasSubstr("NAME   READY   UP-TO-DATE   AVAILABLE   AGE\n"), HasSubstr("web    0/2")));
  EXPECT_THAT(run({"get", "deployment", "web", "-o", "wide"}), HasSubstr("app=web"));
  EXPECT_THAT(run({"get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"}), "2");
  EXPECT_THAT(run({"get", "pods"}), HasSubstr("No resources found in default namespace."));
  EXPECT_THAT(run({"get", "pod", "nope"}),
              HasSubstr("Error from server (NotFound): pods \"nope\" not found"));
}

TEST_F(Kubectl, AppliesAndSeesWhatChanges) {
  EXPECT_EQ(run({"apply", "-f", file(kMap)}), "configmap/m created\n");
  EXPECT_EQ(run({"apply", "-f", file(kMap)}), "configmap/m unchanged\n");
  EXPECT_THAT(run({"diff", "-f", file(kChanged)}),
              AllOf(HasSubstr("+  a: two"), HasSubstr("exit 1")));
  EXPECT_EQ(run({"apply", "--dry-run=server", "-f", file(kChanged)}),
            "configmap/m configured (server dry run)\n");
  EXPECT_EQ(run({"get", "cm", "m", "-o", "jsonpath={.data.a}"}), "one");
  EXPECT_EQ(run({"apply", "-f", file(kChanged)}), "configmap/m configured\n");
  EXPECT_EQ(run({"get", "cm", "m", "-o", "jsonpath={.data.a}{.data.b}"}), "twothree");
  EXPECT_EQ(run({"delete", "cm", "m"}), "configmap \"m\" deleted from default namespace\n");
}

TEST_F(Kubectl, TellsOfFieldsThatThereAreNot) {
  const std::string odd = file(std::string(kMap) + "foo: 1\n");
  EXPECT_THAT(
      run({"apply", "--validate=strict", "-f", odd}),
      AllOf(HasSubstr("strict decoding error: unknown field \"foo\""), HasSubstr("exit 1")));
  EXPECT_THAT(run({"apply", "--validate=warn", "-f", odd}),
              AllOf(HasSubstr("Warning: unknown field \"foo\""), HasSubstr("configmap/m created")));
}

TEST_F(Kubectl, Explains) {
  EXPECT_THAT(
      run({"explain", "pod.spec"}),
      AllOf(HasSubstr("KIND:       Pod\n"), HasSubstr("containers\t<[]Container> -required-")));
  EXPECT_THAT(run({"explain", "deployment.spec.strategy", "--recursive"}),
              HasSubstr("maxSurge\t<IntOrString>"));
  EXPECT_THAT(run({"explain", "pods", "--output", "plaintext-openapiv2"}),
              HasSubstr("KIND:     Pod"));
}

TEST_F(Kubectl, ChangesWhatIsThere) {
  run({"create", "deployment", "web", "--image=nginx"});
  EXPECT_EQ(run({"scale", "deploy", "web", "--replicas=3"}), "deployment.apps/web scaled\n");
  EXPECT_EQ(run({"label", "deploy", "web", "tier=front"}), "deployment.apps/web labeled\n");
  EXPECT_EQ(run({"patch", "deploy", "web", "-p", R"({"spec":{"paused":true}})"}),
            "deployment.apps/web patched\n");
  EXPECT_EQ(run({"set", "image", "deploy/web", "nginx=nginx:2"}),
            "deployment.apps/web image updated\n");
  EXPECT_THAT(
      run({"get", "deploy", "-l", "tier=front", "-o", "yaml"}),
      AllOf(HasSubstr("replicas: 3"), HasSubstr("paused: true"), HasSubstr("image: nginx:2")));
  EXPECT_THAT(run({"describe", "deploy", "web"}), HasSubstr("3 desired"));
}

TEST_F(Kubectl, ReadsLongListsInPages) {
  std::string all;
  for (int i = 0; i < 7; ++i)
    all += "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m" + std::to_string(i) + "}\n---\n";
  run({"create", "-f", file(all)});
  EXPECT_EQ(run({"get", "cm", "-A", "--chunk-size=2", "-o", "jsonpath={.items[*].metadata.name}"}),
            "m0 m1 m2 m3 m4 m5 m6");
}

TEST_F(Kubectl, WatchesAsThingsHappen) {
  const auto watch = start({"get", "configmaps", "--watch", "--output-watch-events"});
  ASSERT_TRUE(eventually(std::chrono::seconds(20), [&] { return served_.watches() == 1; }));
  run({"create", "configmap", "m", "--from-literal=a=b"});
  run({"label", "configmap", "m", "x=y"});
  run({"delete", "configmap", "m"});
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] {
    return watch->log().find("DELETED") != std::string::npos;
  })) << watch->log();
  EXPECT_THAT(watch->log(),
              AllOf(HasSubstr("EVENT      NAME   DATA   AGE\n"), HasSubstr("ADDED      m      1 "),
                    HasSubstr("MODIFIED   m      1 ")));
  watch->stop();
  EXPECT_TRUE(eventually(std::chrono::seconds(20), [&] { return served_.watches() == 0; }))
      << "a client that left still holds its watch";
}

// kube-scheduler and kube-controller-manager as they come: protobuf bodies, metadata informers,
// watches that begin with what there is, leases.
TEST_F(Kubectl, StockComponentsWorkWithTheirDefaults) {
  const auto scheduler = real_program("kube-scheduler");
  const auto manager = real_program("kube-controller-manager");
  if (!scheduler || !manager) GTEST_SKIP() << "not all programs are there; `make real` builds it";
  run({"create", "namespace", "default"});
  run({"create", "namespace", "kube-system"});
  const std::string config =
      folder_
          .write("kubeconfig",
                 "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" +
                     served_.url() +
                     "'}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
                     "current-context: c\n")
          .string();
  std::vector<std::unique_ptr<Child>> components;
  for (const std::filesystem::path& program : {*scheduler, *manager}) {
    auto child = Child::start({.program = program.string(),
                               .args = {"--kubeconfig=" + config, "--secure-port=0"},
                               .env = {},
                               .log = folder_.path() / ("component" + std::to_string(++runs_))});
    ASSERT_TRUE(child.has_value());
    components.push_back(std::move(*child));
  }
  run({"create", "-f",
       file("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus:\n  allocatable: "
            "{cpu: '8', memory: 16Gi, pods: '110'}\n  conditions: [{type: Ready, status: "
            "'True'}]\n")});
  run({"create", "namespace", "demo"});
  EXPECT_EQ(run({"create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", "demo"}),
            "deployment.apps/web created\n");
  const auto bound = [&] {
    return run({"get", "pods", "-n", "demo", "-o", "jsonpath={.items[*].spec.nodeName}"}) ==
           "n1 n1 n1";
  };
  EXPECT_TRUE(eventually(std::chrono::seconds(60), bound))
      << run({"get", "all,events", "-A"}) << components[0]->log_tail() << components[1]->log_tail();
  // The manager's namespace and garbage collectors read metadata alone.
  run({"delete", "deployment", "web", "-n", "demo", "--wait=false"});
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] {
    return run({"get", "replicasets", "-n", "demo", "-o", "name"}).empty();
  })) << components[1]->log_tail();
}

}  // namespace
}  // namespace berth::e2e
