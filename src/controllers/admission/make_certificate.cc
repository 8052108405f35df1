// SPDX-License-Identifier: Apache-2.0
#include "controllers/admission/make_certificate.h"

#include <algorithm>

#include "net/tls.h"

namespace berth::controllers {

Result<admission::FreshCertificate> make_certificate(const admission::WebhookPlace& place,
                                                     Duration life) {
  const int days =
      static_cast<int>(std::clamp<std::int64_t>(life / std::chrono::hours(24), 1, 36'500));
  auto authority = net::make_authority("berth-webhooks", days);
  if (!authority) return tl::unexpected(authority.error());
  auto leaf = net::issue_certificate(*authority, {.common_name = "berth-webhooks",
                                                  .dns_names = place.dns_names(),
                                                  .ip_addresses = place.addresses(),
                                                  .days = days});
  if (!leaf) return tl::unexpected(leaf.error());
  return admission::FreshCertificate{authority->certificate_pem, leaf->certificate_pem,
                                     leaf->key_pem};
}

}  // namespace berth::controllers
