// SPDX-License-Identifier: Apache-2.0
// What a cluster has before anybody creates anything, as the real server makes it at its start.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/admission/steps.h"
#include "base/time.h"

namespace berth::apiserver {

struct BootstrapOptions {
  ServiceRange services = {};
  // Where this server is reached; "": there is no `kubernetes` service, because nobody could.
  std::string address = {};
  std::uint16_t port = 0;
  std::string client_ca = {};  // PEM, for extension-apiserver-authentication; "": none is published
};

// Manifests in JSON that a start-up step writes if they are absent, in this order: namespaces,
// priority classes, roles, bindings, the authentication's ConfigMap, the server's own service.
std::vector<std::string> bootstrap_objects(const BootstrapOptions&);

// Writes those that are absent, with the metadata and the defaults that their kinds give them, at
// the store's tip. `uid` makes a new one each time.
void write_bootstrap(Store&, const std::vector<std::string>& manifests, WallTime now,
                     const std::function<std::string()>& uid);

}  // namespace berth::apiserver
