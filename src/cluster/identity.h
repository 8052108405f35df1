// SPDX-License-Identifier: Apache-2.0
// How an embedded cluster proves that it is itself, and how its owner gets in: an authority, the
// server's certificate, the owner's, the key that service account tokens are signed with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls.h"

namespace berth::cluster {

struct Identity {
  net::KeyPair authority, server, admin;
  std::string token_key;  // 32 random bytes, in hex
};

// With a folder: what is kept there, or made there now, readable to the owner alone, so that a
// kubeconfig stays good when the cluster starts again. The server's certificate is always new, for
// these addresses and hosts besides the names that every cluster has inside of itself.
Result<Identity> identity_in(const std::optional<std::filesystem::path>& folder,
                             const std::vector<std::string>& addresses,
                             const std::vector<std::string>& hosts = {});

// A kubeconfig for the owner, everything inside it.
std::string kubeconfig_for(const Identity&, std::string_view url);
// Written beside its place and moved there, readable to the owner alone: whoever finds it finds all
// of it.
Result<Ok> write_private_file(const std::filesystem::path&, std::string_view text);

}  // namespace berth::cluster
