// SPDX-License-Identifier: Apache-2.0
// What `berth scheduler` is told wrongly ends it before it reaches for a cluster: exit code 2, and
// on standard error the place and the remedy, and nothing else anywhere.
#include <gmock/gmock.h>

#include "ran.h"
#include "scheduler/config/malformed_rows_for_test.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

using SchedulerUsage = Binary;

constexpr const char* kGood =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

TEST_F(SchedulerUsage, EveryMalformedConfigurationIsRefusedWithPlaceAndRemedy) {
  const std::vector<scheduler::MalformedRow> rows = scheduler::malformed_rows();
  ASSERT_GE(rows.size(), 60u);
  for (const scheduler::MalformedRow& row : rows) {
    write("f.yaml", row.config);
    const Ran got = berth({"scheduler", "--config", "f.yaml"});
    EXPECT_EQ(got.code, 2) << row.name;
    EXPECT_EQ(got.err, "berth scheduler: " + row.says) << row.name;
    EXPECT_EQ(got.out, "") << row.name;
  }
}

TEST_F(SchedulerUsage, AFlagThatIsWrongIsNamedWithTheRemedy) {
  write("good.yaml", kGood);
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } kRows[] = {
      {{"--config", "none.yaml"},
       "none.yaml: cannot be read: No such file or directory; give the path of a file"},
      {{"--config", "."}, ".: cannot be read: it is a folder; give the path of a file"},
      {{"--config"}, "--config: 1 required FILE missing; try 'berth scheduler --help'"},
      {{"--confg", "good.yaml"},
       "there is no flag --confg, maybe you meant --config; try 'berth scheduler --help'"},
      {{"good.yaml"},
       "The following argument was not expected: good.yaml; try 'berth scheduler --help'"},
      {{"--leader-elect", "maybe"},
       "--leader-elect: 'maybe' is not one of: true, false; try 'berth scheduler --help'"},
      {{"--secure-port", "99999"}, "--secure-port 99999: a port is 0 to 65535 (0: serve nothing)"},
      {{"--leader-elect-retry-period", "5"},
       "--leader-elect-retry-period 5: not a duration; write it like 15s or 1m30s"},
      {{"--tls-cert-file", "none.pem", "--config", "good.yaml"},
       "none.pem: cannot be read: No such file or directory; give the path of a file"},
      {{"--tls-cert-file", "good.yaml"},
       "--tls-cert-file and --tls-private-key-file belong together; give both or none"},
      {{"--tls-cert-file", "good.yaml", "--tls-private-key-file", "good.yaml"},
       "--tls-cert-file, --tls-private-key-file: server certificate: no PEM block found"},
      {{"--client-ca-file", "good.yaml"},
       "--client-ca-file good.yaml: certificate authority: no PEM block found"},
      {{"--bind-address", "999.1.1.1"},
       "--bind-address 999.1.1.1: not an IP address; write one like 0.0.0.0, 127.0.0.1 or ::"},
      {{"--authentication-kubeconfig", "none.conf"},
       "kubeconfig none.conf: no such file; name a readable file with --authentication-kubeconfig"},
  };
  for (const auto& row : kRows) {
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.begin(), "scheduler");
    const Ran got = berth(arguments);
    EXPECT_EQ(got.code, 2) << row.says;
    EXPECT_EQ(got.err, std::string("berth scheduler: ") + row.says + "\n");
    EXPECT_EQ(got.out, "");
  }
}

TEST_F(SchedulerUsage, AKubeconfigThatIsWrongIsNamedWithTheRemedy) {
  const std::string head = "apiVersion: v1\nkind: Config\n";
  const struct {
    std::string kubeconfig;
    const char* says;
  } kRows[] = {
      {"clusters: [",
       "line 2, column 1: did not find expected node content while parsing a flow "
       "node; correct the file or name another one with --kubeconfig"},
      {"", "no current-context is set; it has: none (choose one with --context)"},
      {head + "current-context: nope\n",
       "context \"nope\" does not exist; it has: none (choose one with --context)"},
      {head + "clusters:\n- name: a\n  cluster: {server: 7}\n",
       "cluster \"a\": server: expected a string, found a number; put it in quotes"},
      {head + "clusters:\n- name: a\n  cluster: {server: \"ftp://x\"}\ncontexts:\n- name: c\n"
              "  context: {cluster: a, user: u}\ncurrent-context: c\n",
       "cluster \"a\": server: URL 'ftp://x': the scheme must be https or http; write it as "
       "https://host:6443"},
  };
  for (const auto& row : kRows) {
    write("k.yaml", row.kubeconfig);
    const Ran got = berth({"scheduler", "--kubeconfig", "k.yaml"});
    EXPECT_EQ(got.code, 2) << row.says;
    EXPECT_EQ(got.err, std::string("berth scheduler: kubeconfig k.yaml: ") + row.says + "\n");
    EXPECT_EQ(got.out, "");
  }
  const Ran got = berth({"scheduler", "--kubeconfig", "none.yaml"});
  EXPECT_EQ(got.code, 2);
  EXPECT_EQ(got.err,
            "berth scheduler: kubeconfig none.yaml: no such file; name a readable file with "
            "--kubeconfig\n");
}

TEST_F(SchedulerUsage, WithoutAnyClusterItSaysHowToNameOne) {
  write("good.yaml", kGood);
  const Ran got = berth({"scheduler", "--config", "good.yaml"});
  EXPECT_EQ(got.code, 2);
  EXPECT_THAT(got.err, HasSubstr("--kubeconfig"));
  EXPECT_EQ(got.out, "");
}

}  // namespace
}  // namespace berth
