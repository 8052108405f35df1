// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/steps.h"

#include "apiserver/admission/webhooks.h"

namespace berth::apiserver {

std::vector<Step> default_steps(Store& store, Authorizer& authorizer, Random random, Rbac* rbac,
                                const ServiceRange& range) {
  std::vector<Step> steps;
  steps.push_back(namespace_lifecycle(store));
  steps.push_back(limit_ranger(store));
  steps.push_back(service_account(store, random.fork("service-account")));
  steps.push_back(taint_nodes_by_condition());
  steps.push_back(pod_security(store));
  steps.push_back(priority(store));
  steps.push_back(default_toleration_seconds());
  steps.push_back(default_storage_class(store));
  steps.push_back(storage_object_in_use_protection());
  steps.push_back(persistent_volume_claim_resize(store));
  steps.push_back(runtime_class(store));
  steps.push_back(certificate_approval(authorizer));
  steps.push_back(certificate_signing(authorizer));
  steps.push_back(default_ingress_class(store));
  steps.push_back(pod_topology_labels(store));
  steps.push_back(service_addresses(store, random.fork("service-addresses"), range));
  steps.push_back(webhook_configurations());
  if (rbac != nullptr) steps.push_back(role_escalation(*rbac));
  steps.push_back(resource_quota(store));
  return steps;
}

}  // namespace berth::apiserver
