// SPDX-License-Identifier: Apache-2.0
#include "client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/kubeconfig_file.h"
#include "client/surroundings_fake.h"

namespace berth::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr char kTwoContexts[] = R"(
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: here
  cluster:
    server: https://127.0.0.1:6443/under/
    certificate-authority: ca.crt
    tls-server-name: kubernetes
- name: there
  cluster: {server: "https://[fd00::1]:8443", certificate-authority-data: UEVN}
users:
- name: me
  user:
    client-certificate: certs/me.crt
    client-key: /keys/me.key
- name: robot
  user: {token: secret, tokenFile: token, as: boss, as-uid: "7", as-groups: [a, b], as-user-extra: {scope: [v, w]}}
contexts:
- name: dev
  context: {cluster: here, user: me, namespace: lab}
- name: test
  context: {cluster: there, user: robot}
)";

// A config with one cluster and this user.
std::string with_user(const std::string& user) {
  return "current-context: c\nclusters: [{name: k, cluster: {server: 'https://h'}}]\n"
         "contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {" +
         user + "}}]\n";
}
std::string with_cluster(const std::string& cluster) {
  return "current-context: c\nclusters: [{name: k, cluster: {" + cluster +
         "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: "
         "{}}]\n";
}

std::string error_of(const std::string& text,
                     KubeconfigChoice choice = {.path = "/etc/k.yaml", .context = ""}) {
  FakeSurroundings here;
  here.file("/etc/k.yaml", text);
  Result<ClusterConfig> config = load_kubeconfig(here.get(), choice);
  return config ? "no error" : config.error().message;
}

TEST(Kubeconfig, ResolvesTheCurrentContext) {
  FakeSurroundings here;
  here.file("/etc/k.yaml", kTwoContexts);
  Result<ClusterConfig> config =
      load_kubeconfig(here.get(), {.path = "/etc/k.yaml", .context = ""});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->origin, "kubeconfig /etc/k.yaml, context \"dev\"");
  EXPECT_EQ(config->ns, "lab");
  EXPECT_EQ(config->url.origin.host, "127.0.0.1");
  EXPECT_EQ(config->url.origin.port, 6443);
  EXPECT_EQ(config->url.prefix, "/under");
  EXPECT_EQ(config->server_name, "kubernetes");
  EXPECT_EQ(config->ca.file, "/etc/ca.crt");
  EXPECT_EQ(config->certificate.file, "/etc/certs/me.crt");
  EXPECT_EQ(config->key.file, "/keys/me.key");
  EXPECT_FALSE(config->token.set());
}

TEST(Kubeconfig, TakesTheContextThatIsAskedFor) {
  FakeSurroundings here;
  here.file("/srv/k/k.yaml", kTwoContexts);
  Result<ClusterConfig> config =
      load_kubeconfig(here.get(), {.path = "k/k.yaml", .context = "test"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ns, "default");
  EXPECT_FALSE(config->ns_given);
  EXPECT_EQ(config->url.origin.host, "fd00::1");
  EXPECT_EQ(config->ca.data, "PEM");
  EXPECT_EQ(config->token.data, "secret");
  EXPECT_EQ(config->token.file, "/srv/k/token");
  EXPECT_EQ(config->as.user, "boss");
  EXPECT_EQ(config->as.uid, "7");
  EXPECT_THAT(config->as.groups, ElementsAre("a", "b"));
  EXPECT_THAT(config->as.extra, ElementsAre(Pair("scope", ElementsAre("v", "w"))));
}

TEST(Kubeconfig, MergesFilesEntryByEntryAndSkipsMissingOnes) {
  FakeSurroundings here;
  here.env("KUBECONFIG", "/a/missing:/a/first::/b/second:/a/first")
      .file("/a/first",
            "clusters: [{name: k, cluster: {server: 'https://first', certificate-authority: ca}}]\n"
            "users: [{name: u, user: {tokenFile: t}}]\n")
      .file("/b/second",
            "current-context: c\n"
            "clusters: [{name: k, cluster: {server: 'https://second', tls-server-name: x}}]\n"
            "contexts: [{name: c, context: {cluster: k, user: u}}]\n");
  Result<ClusterConfig> config = load_kubeconfig(here.get(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->url.origin.host, "first");
  EXPECT_EQ(config->server_name, "");  // an entry is taken whole
  EXPECT_EQ(config->ca.file, "/a/ca");
  EXPECT_EQ(config->token.file, "/a/t");
}

TEST(Kubeconfig, LooksInTheHomeDirectoryLast) {
  FakeSurroundings here;
  here.env("HOME", "/home/me").file("/home/me/.kube/config", kTwoContexts);
  EXPECT_TRUE(load_kubeconfig(here.get(), {}));
}

TEST(Kubeconfig, NothingConfiguredIsNotFound) {
  FakeSurroundings here;
  here.env("HOME", "/home/me");
  Result<ClusterConfig> config = load_kubeconfig(here.get(), {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, Reason::kNotFound);
  EXPECT_EQ(config.error().message,
            "no kubeconfig: /home/me/.kube/config does not exist; name a file with --kubeconfig or "
            "KUBECONFIG");
  here.file("/home/me/.kube/config", "");
  config = load_kubeconfig(here.get(), {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, Reason::kNotFound);
}

TEST(Kubeconfig, ReadsAnExecPlugin) {
  FakeSurroundings here;
  here.program("/etc/bin/login", "/etc/bin/login")
      .file(
          "/etc/k.yaml",
          "current-context: c\n"
          "clusters: [{name: k, cluster: {server: 'https://h', extensions: [{name: other}, {name: "
          "client.authentication.k8s.io/exec, extension: {audience: a}}]}}]\n"
          "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
          "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "
          "bin/login, args: [a, '1'], env: [{name: X, value: 'y'}], provideClusterInfo: true, "
          "interactiveMode: Never, installHint: \"see\\n\\e[1mdocs\"}}}]\n");
  Result<ClusterConfig> config =
      load_kubeconfig(here.get(), {.path = "/etc/k.yaml", .context = ""});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, "/etc/bin/login");
  EXPECT_THAT(config->exec->args, ElementsAre("a", "1"));
  EXPECT_THAT(config->exec->env, ElementsAre(Pair("X", "y")));
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->interactive, ExecPlugin::Interactive::kNever);
  EXPECT_EQ(config->exec->cluster_config, R"({"audience":"a"})");
  EXPECT_EQ(config->exec->install_hint, "see [1mdocs");
}

TEST(Kubeconfig, ShowsCredentialsOnlyOverTls) {
  FakeSurroundings here;
  here.file("/etc/k.yaml",
            "current-context: c\nclusters: [{name: k, cluster: {server: 'localhost:8080'}}]\n"
            "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
            "users: [{name: u, user: {token: t, as: somebody}}]\n");
  Result<ClusterConfig> config =
      load_kubeconfig(here.get(), {.path = "/etc/k.yaml", .context = ""});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->url.origin.tls);
  EXPECT_EQ(config->url.origin.port, 8080);
  EXPECT_FALSE(config->token.set());
  EXPECT_EQ(config->as.user, "somebody");
}

TEST(Kubeconfig, SaysInOneLineWhatIsWrongAndWhatToDo) {
  const struct {
    const char* name;
    std::string text;
    std::string error;
  } rows[] = {
      {"truncated", "clusters:\n- name: \"k\n", "kubeconfig /etc/k.yaml: line "},
      {"not a mapping", "just words\n",
       "kubeconfig /etc/k.yaml: expected a mapping with clusters, users and contexts, found a "
       "string"},
      {"another kind", "apiVersion: v1\nkind: Pod\n", "kind \"Pod\", not a kubeconfig"},
      {"number as token", with_user("token: 17"),
       "kubeconfig /etc/k.yaml: user \"u\": token: expected a string, found a number; put it in "
       "quotes"},
      {"text as list", "users: none\n",
       "kubeconfig /etc/k.yaml: users: expected a list, found a string"},
      {"text as entry", "users: [x]\n",
       "kubeconfig /etc/k.yaml: users[0]: expected a mapping, found a string"},
      {"text as flag", with_cluster("insecure-skip-tls-verify: 'yes'"),
       "kubeconfig /etc/k.yaml: cluster \"k\": insecure-skip-tls-verify: expected true or false, "
       "found a string"},
      {"number in list", with_user("as: a, as-groups: [1]"),
       "user \"u\": as-groups[0]: expected a string, found a number; put it in quotes"},
      {"bad base64", with_cluster("server: 'https://h', certificate-authority-data: '!!'"),
       "kubeconfig /etc/k.yaml: cluster \"k\": certificate-authority-data: is not base64; encode "
       "the PEM file with `base64 -w0`"},
      {"same name twice", "users: [{name: a}, {name: a}]\n",
       "kubeconfig /etc/k.yaml: users: two entries are named \"a\"; rename or remove one"},
      {"no server", with_cluster("tls-server-name: x"),
       "kubeconfig /etc/k.yaml: cluster \"k\": has no server; set it to the API server's URL"},
      {"bad server", with_cluster("server: 'ftp://x'"), "cluster \"k\": server: "},
      {"proxy", with_cluster("server: 'https://h', proxy-url: 'http://p'"),
       "cluster \"k\": proxy-url is not supported; remove it"},
      {"two authorities",
       with_cluster("server: 'https://h', certificate-authority: x, certificate-authority-data: "
                    "UEVN"),
       "certificate-authority and certificate-authority-data are both set; remove one of them"},
      {"authority and insecure",
       with_cluster(
           "server: 'https://h', certificate-authority: x, insecure-skip-tls-verify: true"),
       "remove one of them"},
      {"no cluster",
       "current-context: c\nclusters: [{name: k, cluster: {server: 'https://h'}}]\ncontexts: "
       "[{name: c, context: {cluster: z}}]\n",
       "kubeconfig /etc/k.yaml: context \"c\": cluster \"z\" does not exist; the clusters are: k"},
      {"no user",
       "current-context: c\nclusters: [{name: k, cluster: {server: 'https://h'}}]\ncontexts: "
       "[{name: c, context: {cluster: k, user: z}}]\n",
       "kubeconfig /etc/k.yaml: context \"c\": user \"z\" does not exist; the users are: none"},
      {"two secrets", with_user("token: a, username: b"),
       "token and username/password are both set; remove one of them"},
      {"certificate without key", with_user("client-certificate: x"),
       "client-certificate has no key; set client-key or client-key-data"},
      {"groups without user", with_user("as-groups: [a]"), "set as"},
      {"auth provider", with_user("auth-provider: {name: gcp}"),
       "auth-provider \"gcp\" is not supported; use an exec plugin or a token"},
      {"exec without version", with_user("exec: {command: x}"),
       "user \"u\": exec: apiVersion \"\" is not supported; use client.authentication.k8s.io/v1 "
       "or"},
      {"exec without mode",
       with_user("exec: {command: x, apiVersion: client.authentication.k8s.io/v1}"),
       "interactiveMode \"\" is not one of Never, IfAvailable, Always"},
      {"exec not installed",
       with_user("exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, "
                 "installHint: \"get it\\nfrom example.com\"}"),
       "kubeconfig /etc/k.yaml: user \"u\": exec: plugin x was not found; get it from example.com"},
  };
  for (const auto& row : rows) {
    const std::string error = error_of(row.text);
    EXPECT_THAT(error, HasSubstr(row.error)) << row.name;
    EXPECT_THAT(error, HasSubstr("/etc/k.yaml")) << row.name;
    EXPECT_THAT(error, Not(HasSubstr("\n"))) << row.name;
  }
  EXPECT_EQ(
      error_of(kTwoContexts, {.path = "/etc/k.yaml", .context = "prod"}),
      "kubeconfig /etc/k.yaml: context \"prod\" does not exist; it has: dev, test (choose one "
      "with --context)");
  EXPECT_EQ(error_of("", {.path = "/etc/other", .context = ""}),
            "kubeconfig /etc/other: no such file; name a readable file with --kubeconfig");
}

TEST(Kubeconfig, ToleratesUnknownFieldsAndNulls) {
  EXPECT_EQ(error_of("preferences: {colors: true}\nwhatever: [1]\nextensions: null\n" +
                     with_user("token: null, exec: null, new-thing: {a: b}, as-groups: null")),
            "no error");
}

TEST(ClusterConfig, NamesTheFileAndFieldOfABadCertificate) {
  FakeSurroundings here;
  here.file("/etc/ca.crt", "no certificate")
      .file("/etc/k.yaml", with_cluster("server: 'https://h', certificate-authority: ca.crt"))
      .file("/etc/inline.yaml",
            with_cluster("server: 'https://h', certificate-authority-data: UEVN"))
      .file("/etc/gone.yaml", with_cluster("server: 'https://h', certificate-authority: gone.crt"));
  const auto tls_error = [&](const std::string& path) {
    Result<ClusterConfig> config = load_kubeconfig(here.get(), {.path = path, .context = ""});
    if (!config) return config.error().message;
    Result<net::TlsClientOptions> tls = tls_of(*config, here.get());
    return tls ? "no error" : tls.error().message;
  };
  EXPECT_THAT(tls_error("/etc/k.yaml"),
              HasSubstr("kubeconfig /etc/k.yaml: cluster \"k\": certificate-authority "
                        "(/etc/ca.crt): "));
  EXPECT_THAT(
      tls_error("/etc/inline.yaml"),
      HasSubstr("kubeconfig /etc/inline.yaml: cluster \"k\": certificate-authority-data: "));
  EXPECT_EQ(tls_error("/etc/gone.yaml"),
            "kubeconfig /etc/gone.yaml: cluster \"k\": certificate-authority: cannot read "
            "/etc/gone.crt: no such file; create it or correct the path");
}

}  // namespace
}  // namespace berth::client
