// SPDX-License-Identifier: Apache-2.0
#include "access.h"

#include "client/kubeconfig.h"

namespace berth::e2e {

Result<Access> access_from(const std::filesystem::path& kubeconfig) {
  const auto surroundings = client::Surroundings::real();
  auto config = client::load_kubeconfig(surroundings, {.path = kubeconfig.string(), .context = {}});
  if (!config) return tl::unexpected(config.error());
  auto tls = client::tls_of(*config, surroundings);
  if (!tls) return tl::unexpected(tls.error());
  Access access{.origin = config->url.origin, .tls = *tls};
  if (config->token.set()) {
    auto token = config->token.read(surroundings);
    if (!token) return tl::unexpected(token.error());
    access.token = *token;
  }
  return access;
}

}  // namespace berth::e2e
