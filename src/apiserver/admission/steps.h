// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps, each as kube-apiserver's plugin of that name, and their order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/auth/auth.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/store/store.h"
#include "base/random.h"

namespace berth::apiserver {

using Step = std::unique_ptr<AdmissionStep>;

// Where services' addresses and node ports come from.
struct ServiceRange {
  std::string network = "10.96.0.0";  // the first address, network + 1, is the API server's own
  unsigned prefix = 16;
  std::uint32_t first_port = 30000, last_port = 32767;
};

// Each looks at the store, which outlives it. In the order of requests.
Step namespace_lifecycle(const Store&);
Step limit_ranger(const Store&);
Step service_account(const Store&, Random);
Step taint_nodes_by_condition();
Step pod_security(const Store&);
Step priority(const Store&);
Step default_toleration_seconds();
Step default_storage_class(const Store&);
Step storage_object_in_use_protection();
Step persistent_volume_claim_resize(const Store&);
Step runtime_class(const Store&);
Step certificate_approval(Authorizer&);
Step certificate_signing(Authorizer&);
Step default_ingress_class(const Store&);
Step pod_topology_labels(const Store&);
Step service_addresses(Store&, Random, const ServiceRange& = {});
Step role_escalation(Rbac&);
Step resource_quota(Store&);

// Those that kube-apiserver has on by default, in its order, and what it has in the storage of
// services and roles; the last one is resource_quota(). Without `rbac` anybody may grant anything.
std::vector<Step> default_steps(Store&, Authorizer&, Random, Rbac* rbac = nullptr,
                                const ServiceRange& = {});

}  // namespace berth::apiserver
