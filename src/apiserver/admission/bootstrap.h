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
  std::string client_ca = {};  // PEM, for extension-apiserver-authentication; "": none is published
};

// Manifests in JSON that a start-up step writes if they are absent, in this order: namespaces,
// priority classes, roles, bindings, the authentication's ConfigMap.
std::vector<std::string> bootstrap_objects(const BootstrapOptions&);

// Writes those that are absent, with the metadata and the defaults that their kinds give them, at
// the store's tip. `uid` makes a new one each time.
void write_bootstrap(Store&, const std::vector<std::string>& manifests, WallTime now,
                     const std::function<std::string()>& uid);

// The same, but what is there already is made to say what the manifests say.
void write_current(Store&, const std::vector<std::string>& manifests, WallTime now,
                   const std::function<std::string()>& uid);

// Publishes where this server is reached, as the service `kubernetes` in the namespace default;
// clients take it for granted. What an earlier start said of another place is replaced.
void write_own_service(Store&, const std::string& address, std::uint16_t port, WallTime now,
                       const std::function<std::string()>& uid, const ServiceRange& = {});

}  // namespace berth::apiserver
