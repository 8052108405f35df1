// SPDX-License-Identifier: Apache-2.0
#include "client/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/in_cluster.h"
#include "client/surroundings_fake.h"

namespace berth::client {
namespace {

using testing::HasSubstr;

constexpr char kConfig[] =
    "current-context: c\nclusters: [{name: k, cluster: {server: 'https://outside'}}]\n"
    "contexts: [{name: c, context: {cluster: k, namespace: lab}}]\n";
constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";

FakeSurroundings pod() {
  FakeSurroundings here;
  here.env("KUBERNETES_SERVICE_HOST", "fd00::1")
      .env("KUBERNETES_SERVICE_PORT", "443")
      .env("HOME", "/home/me")
      .file(std::string(kAccount) + "token", "t")
      .file(std::string(kAccount) + "ca.crt", "PEM")
      .file(std::string(kAccount) + "namespace", "inside\n");
  return here;
}

TEST(InCluster, UsesTheServiceAccount) {
  Result<ClusterConfig> config = in_cluster(pod().get());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->url.origin.host, "fd00::1");
  EXPECT_EQ(config->token.file, std::string(kAccount) + "token");
  EXPECT_EQ(config->ca.file, std::string(kAccount) + "ca.crt");
  EXPECT_EQ(config->ns, "inside");
}

TEST(InCluster, TakesTheNamespaceFromTheDownwardApiFirst) {
  EXPECT_EQ(in_cluster(pod().env("POD_NAMESPACE", "given").get())->ns, "given");
}

TEST(InCluster, FallsBackToTheSystemsRootsAndTheDefaultNamespace) {
  Result<ClusterConfig> config = in_cluster(pod()
                                                .no_file(std::string(kAccount) + "ca.crt")
                                                .no_file(std::string(kAccount) + "namespace")
                                                .get());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->ca.set());
  EXPECT_EQ(config->ns, "default");
}

TEST(InCluster, IsNotFoundOutside) {
  EXPECT_EQ(in_cluster(FakeSurroundings().get()).error().reason, Reason::kNotFound);
  EXPECT_EQ(in_cluster(pod().no_file(std::string(kAccount) + "token").get()).error().reason,
            Reason::kNotFound);
}

TEST(ChooseCluster, PrefersAKubeconfigToThePod) {
  FakeSurroundings here = pod();
  EXPECT_EQ(choose_cluster(here.get(), {})->origin, "in-cluster");
  here.file("/home/me/.kube/config", kConfig);
  Result<ClusterConfig> config = choose_cluster(here.get(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://outside");
  EXPECT_EQ(config->ns, "lab");
}

TEST(ChooseCluster, TheNamespaceThatIsAskedForWins) {
  ConnectOptions options;
  options.ns = "mine";
  EXPECT_EQ(choose_cluster(pod().get(), options)->ns, "mine");
}

TEST(ChooseCluster, ABrokenKubeconfigIsNotPassedOver) {
  Result<ClusterConfig> config =
      choose_cluster(pod().file("/home/me/.kube/config", "clusters: 7").get(), {});
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("kubeconfig /home/me/.kube/config: clusters: "));
}

TEST(ChooseCluster, AContextThatIsAskedForMustExist) {
  ConnectOptions options;
  options.context = "prod";
  Result<ClusterConfig> config = choose_cluster(pod().get(), options);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, Reason::kInvalid);
}

TEST(ChooseCluster, SaysHowToNameAClusterWhereThereIsNone) {
  Result<ClusterConfig> config =
      choose_cluster(FakeSurroundings().env("HOME", "/home/me").get(), {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, Reason::kInvalid);
  EXPECT_THAT(config.error().message, HasSubstr("name a file with --kubeconfig or KUBECONFIG"));
}

}  // namespace
}  // namespace berth::client
