// SPDX-License-Identifier: Apache-2.0
// The OpenAPI 3 document of what the gateway serves, made from its routes.
#pragma once

#include <string>

#include "gateway/routes.h"

namespace berth::gateway {

// Every row with a summary, and the schemas that rows name.
std::string openapi_json(const Routes&);
// GET /external/v1/openapi.json, of all that is mounted by the time it is asked for.
void mount_openapi(Routes&);

}  // namespace berth::gateway
