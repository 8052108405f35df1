// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/admission/webhook_check.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow mutating_webhook_configuration() {
  return Kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
              "mutatingwebhookconfigurations")
      .cluster_scoped()
      .category("api-extensions")
      .conditional_update()
      .generation()
      .name_column()
      .column("Webhooks", count("webhooks"), "integer")
      .age_column()
      .fill("webhooks[].failurePolicy", R"("Fail")")
      .fill("webhooks[].matchPolicy", R"("Equivalent")")
      .fill("webhooks[].namespaceSelector", "{}")
      .fill("webhooks[].objectSelector", "{}")
      .fill("webhooks[].timeoutSeconds", "10")
      .fill("webhooks[].reinvocationPolicy", R"("Never")")
      .fill("webhooks[].rules[].scope", R"("*")")
      .fill("webhooks[].clientConfig.service.port", "443")
      .check([](Edit& edit, Findings& findings) { check_webhooks(edit, true, findings); });
}

}  // namespace berth::apiserver
