// SPDX-License-Identifier: Apache-2.0
#include "cluster/identity.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace berth::cluster {
namespace {

using ::testing::HasSubstr;

class IdentityInAFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "berth-identity-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(IdentityInAFolder, IsTheSameAtTheNextStart) {
  const auto first = identity_in(folder / "pki", {"127.0.0.1"});
  const auto second = identity_in(folder / "pki", {"127.0.0.1"});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->authority.certificate_pem, second->authority.certificate_pem);
  EXPECT_EQ(first->admin.key_pem, second->admin.key_pem);
  EXPECT_EQ(first->token_key, second->token_key);
  EXPECT_NE(first->server.certificate_pem, second->server.certificate_pem);
}

TEST_F(IdentityInAFolder, IsReadableToItsOwnerAlone) {
  ASSERT_TRUE(identity_in(folder / "pki", {}));
  for (const auto& entry : std::filesystem::directory_iterator(folder / "pki")) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << entry.path();
  }
}

TEST_F(IdentityInAFolder, SaysWhichFileIsSpoilt) {
  ASSERT_TRUE(identity_in(folder, {}));
  std::ofstream(folder / "ca.pem") << "nonsense";
  const auto again = identity_in(folder, {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr((folder / "ca.pem").string()));
}

TEST(Identity, AdminIsVouchedForByTheAuthority) {
  const auto identity = identity_in(std::nullopt, {"127.0.0.1"});
  ASSERT_TRUE(identity) << identity.error().message;
  const auto who =
      net::verify_client(identity->admin.certificate_pem, identity->authority.certificate_pem);
  ASSERT_TRUE(who) << who.error().message;
  EXPECT_EQ(who->common_name, "kubernetes-admin");
  EXPECT_EQ(who->organizations, std::vector<std::string>{"system:masters"});
  EXPECT_EQ(identity->token_key.size(), 64u);
}

}  // namespace
}  // namespace berth::cluster
