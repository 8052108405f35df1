// SPDX-License-Identifier: Apache-2.0
// What the API server serves because there is a lab: metrics.k8s.io, and the logs of containers.
#pragma once

#include <memory>

#include "apiserver/serve/server.h"
#include "lab/lab.h"
#include "lab/usage.h"

namespace berth::lab {

// The lab outlives the server.
void attach(apiserver::Server&, Lab&, std::shared_ptr<const UsageRules> = {});

}  // namespace berth::lab
