// SPDX-License-Identifier: Apache-2.0
// The webhooks' key material.
#pragma once

#include "policy/admission/rotation.h"
#include "policy/admission/webhooks.h"

namespace berth::controllers {

// An authority of its own and a certificate for the place; the authority's key is thrown away.
Result<admission::FreshCertificate> make_certificate(const admission::WebhookPlace&, Duration life);

}  // namespace berth::controllers
