// SPDX-License-Identifier: Apache-2.0
// Where a server is and who we are there, for tests that talk to it without our client.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "net/http_client.h"

namespace berth::e2e {

struct Access {
  net::Origin origin = {};
  net::TlsClientOptions tls = {};  // with the certificate, if that is how one is known
  std::string token = {};          // or ""
};
Result<Access> access_from(const std::filesystem::path& kubeconfig);

}  // namespace berth::e2e
