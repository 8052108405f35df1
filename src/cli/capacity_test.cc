// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/run_for_test.h"
#include "json/slice.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A folder of its own, gone with the test.
class Capacity : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "berth-capacity-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  Ran capacity_of(const std::string& text) {
    return berth({"capacity", "-f", file("c.yaml", text), "-o", "json"});
  }
  // One line, starting with the file and the line that is wrong.
  void expect_refused(const std::string& text, int line, const std::string& says) {
    const Ran got = capacity_of(text);
    EXPECT_EQ(got.code, kExitFailed);
    EXPECT_EQ(got.out, "");
    EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
    EXPECT_THAT(got.err, AllOf(StartsWith("berth capacity: " + (folder_ / "c.yaml").string() + ":" +
                                          std::to_string(line) + ": "),
                               HasSubstr(says)));
  }

  std::filesystem::path folder_;
};

constexpr char kNode[] = R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: 4, memory: 8Gi, pods: 10}
  conditions: [{type: Ready, status: "True"}]
)";

TEST_F(Capacity, OfTheExampleClusterIsAsAddedUpByHand) {
  const Ran got = berth({"capacity", "-f", "examples/manifests/cluster.yaml", "-o", "json"});
  ASSERT_EQ(got.code, kExitOk) << got.err;
  const json::Slice report(got.out);
  ASSERT_EQ(report["nodes"].size(), 6u);
  // search-0's init container asks for 3 cores and is over, but its node must have had them: max(3,
  // 2) counts.
  EXPECT_EQ(report["nodes"][0]["requested"]["cpu"].text(), "4600m");
  EXPECT_EQ(report["nodes"][2]["state"].text(), "cordoned");
  EXPECT_EQ(report["nodes"][5]["state"].text(), "not ready");
  EXPECT_EQ(report["nodes"][4]["pods"].integer(), 3);  // the finished one does not count
  EXPECT_EQ(report["pending"]["pods"].integer(), 2);
  EXPECT_EQ(report["pending"]["requested"]["nvidia.com/gpu"].text(), "2");
  EXPECT_EQ(report["open"]["allocatable"]["cpu"].text(), "35900m");
}

TEST_F(Capacity, TheTableShowsEveryNodeAndWhatWaits) {
  const Ran got = berth({"capacity", "-f", "examples/manifests/cluster.yaml"});
  ASSERT_EQ(got.code, kExitOk) << got.err;
  EXPECT_THAT(got.out, AllOf(HasSubstr("fjord-1"), HasSubstr("quay-2"), HasSubstr("4 open nodes"),
                             HasSubstr("2 pods wait for a node"), HasSubstr("nvidia.com/gpu")));
}

TEST_F(Capacity, ALimitWithoutARequestCountsAsTheServerWouldDefaultIt) {
  const Ran got = capacity_of(std::string(kNode) + R"(---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec: {nodeName: n1, containers: [{name: c, resources: {limits: {cpu: 1500m}}}]}
)");
  ASSERT_EQ(got.code, kExitOk) << got.err;
  EXPECT_EQ(json::Slice(got.out)["nodes"][0]["requested"]["cpu"].text(), "1500m");
}

TEST_F(Capacity, TakesListsApartAndReportsStrays) {
  const Ran got = capacity_of(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"1"}}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d"},"spec":{"nodeName":"gone","containers":[]}}]})");
  ASSERT_EQ(got.code, kExitOk) << got.err;
  EXPECT_EQ(json::Slice(got.out)["podsOnMissingNodes"][std::size_t{0}].text(), "d/p");
}

TEST_F(Capacity, ABadQuantityNamesFileLineFieldAndRemedy) {
  expect_refused(
      std::string(kNode) + R"(---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec:
  containers:
    - name: a
    - name: b
      resources:
        requests:
          cpu: 1
          memory: 1.5.2Gi
)",
      18, "Pod d/p: spec.containers[1].resources.requests.memory: invalid quantity \"1.5.2Gi\"");
}

TEST_F(Capacity, TruncatedYamlNamesTheLine) {
  const Ran got = capacity_of("apiVersion: v1\nkind: Node\nmetadata: {name: \"n1");
  EXPECT_EQ(got.code, kExitFailed);
  EXPECT_THAT(got.err,
              AllOf(HasSubstr("c.yaml"), HasSubstr("line 3"), HasSubstr("correct the YAML there")));
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
}

TEST_F(Capacity, AnObjectThatStandsTwiceIsRefused) {
  expect_refused(std::string(kNode) + "---\n" + kNode, 10, "already");
}

TEST_F(Capacity, AManifestWithoutKindIsRefused) {
  expect_refused("metadata: {name: x}\n", 1, "kind");
}

TEST_F(Capacity, AMissingFileIsNamed) {
  const Ran got = berth({"capacity", "-f", "/no/such/file.yaml"});
  EXPECT_EQ(got.code, kExitFailed);
  EXPECT_THAT(got.err, HasSubstr("/no/such/file.yaml"));
}

TEST_F(Capacity, WatchingAFileIsBadUsage) {
  EXPECT_EQ(berth({"capacity", "--watch", "-f", "x.yaml"}).code, kExitUsage);
}

TEST_F(Capacity, AnUnknownOutputIsBadUsageAndListsTheKnownOnes) {
  const Ran got = berth({"capacity", "-o", "xml"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, HasSubstr("table, json"));
}

TEST_F(Capacity, AContextThatIsNotThereIsBadUsageAndListsThoseThatAre) {
  const std::string config = file("kubeconfig", R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: dev, context: {cluster: c, user: u}}]
)");
  const Ran got = berth({"capacity", "--kubeconfig", config, "--context", "prod"});
  EXPECT_EQ(got.code, kExitUsage);
  EXPECT_THAT(got.err, AllOf(HasSubstr(config), HasSubstr("prod"), HasSubstr("dev")));
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
}

TEST_F(Capacity, AnExecPluginThatIsNotInstalledIsNamed) {
  const std::string config = file("kubeconfig", R"(apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin-anywhere, interactiveMode: Never, installHint: get it from the intranet}}}]
contexts: [{name: dev, context: {cluster: c, user: u}}]
)");
  const Ran got = berth({"capacity", "--kubeconfig", config});
  EXPECT_NE(got.code, kExitOk);
  EXPECT_THAT(got.err,
              AllOf(HasSubstr("no-such-plugin-anywhere"), HasSubstr("get it from the intranet")));
}

TEST_F(Capacity, ABadCertificateIsNamedWithItsField) {
  const std::string config = file("kubeconfig", R"(apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: bm90IGEgY2VydGlmaWNhdGU=}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: dev, context: {cluster: c, user: u}}]
)");
  const Ran got = berth({"capacity", "--kubeconfig", config});
  EXPECT_NE(got.code, kExitOk);
  EXPECT_THAT(got.err, AllOf(HasSubstr(config), HasSubstr("certificate-authority-data"),
                             HasSubstr("put the base64 of a PEM file that is valid there")));
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
}

}  // namespace
}  // namespace berth::cli
