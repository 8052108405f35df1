// SPDX-License-Identifier: Apache-2.0
// `berth up` on every address of its host: whoever can connect to it can also trust it.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "berth_up.h"
#include "net/host.h"
#include "wire.h"

namespace berth::e2e {
namespace {

using conformance::Wire;
using testing::Contains;

BerthUp::Options on(const std::vector<std::string>& addresses, const TempFolder& folder) {
  BerthUp::Options options{
      .folder = folder.path(), .data_dir = folder.path() / "data", .flags = bare()};
  options.flags.insert(options.flags.end(), addresses.begin(), addresses.end());
  return options;
}

// With its certificate checked.
void expect_answer(Access access, const std::string& address, const std::string& called = "") {
  access.origin.host = address;
  access.tls.server_name = called;
  Wire wire(access);
  const auto answer = ask(wire, "GET", "/api/v1/namespaces/default");
  ASSERT_TRUE(answer) << address << ": " << answer.error().message;
  EXPECT_EQ(answer->status, 200) << address;
}

TEST(Reach, IsByEveryAddressAndTheNameOfTheHostWhateverItWasBoundToBefore) {
  const TempFolder folder;
  {
    auto before = BerthUp::start(on({}, folder));
    ASSERT_TRUE(before) << before.error().message;
    ASSERT_TRUE((*before)->end());
  }
  auto up = BerthUp::start(on({"--bind-address", "0.0.0.0"}, folder));
  ASSERT_TRUE(up) << up.error().message;
  const Access& access = (*up)->access();
  const std::vector<std::string> addresses = net::host_addresses();
  EXPECT_THAT(addresses, Contains("127.0.0.1"));
  for (const std::string& address : addresses) expect_answer(access, address);
  expect_answer(access, "127.0.0.1", "localhost");
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  expect_answer(access, "127.0.0.1", name);
  // The kubeconfig is of use elsewhere, too.
  const std::string far = net::default_address();
  EXPECT_EQ(access.origin.host, far.empty() ? "127.0.0.1" : far);
}

TEST(Reach, IsByTheAddressThatIsAdvertised) {
  const TempFolder folder;
  auto up =
      BerthUp::start(on({"--bind-address", "0.0.0.0", "--advertise-address", "127.0.0.2"}, folder));
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_EQ((*up)->access().origin.host, "127.0.0.2");
  expect_answer((*up)->access(), "127.0.0.2");
}

// As behind a router: this process cannot connect there.
TEST(Reach, IsAdvertisedByAnAddressThatOnlyOthersCanUse) {
  const TempFolder folder;
  BerthUp::Options options = on({"--advertise-address", "198.51.100.7"}, folder);
  options.flags.insert(options.flags.end(), {"--apply", (folder.path() / "one.yaml").string()});
  std::ofstream(folder.path() / "one.yaml")
      << "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\n";
  auto up = BerthUp::start(options);
  ASSERT_TRUE(up) << up.error().message;
  Access access = (*up)->access();
  EXPECT_EQ(access.origin.host, "198.51.100.7");
  expect_answer(access, "127.0.0.1", "198.51.100.7");
  access.origin.host = "127.0.0.1";
  Wire wire(access);
  EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] {
    const auto answer = ask(wire, "GET", "/api/v1/namespaces/default/configmaps/one");
    return answer && answer->status == 200;
  })) << (*up)->log_tail();
}

}  // namespace
}  // namespace berth::e2e
