// SPDX-License-Identifier: Apache-2.0
// What the API server serves because there is a lab: metrics.k8s.io, the logs of containers, and
// /lab/.
#pragma once

#include <memory>

#include "apiserver/serve/server.h"
#include "lab/deeds.h"
#include "lab/lab.h"
#include "lab/usage.h"

namespace berth::lab {

// On the server's loop; `scope` closes before the server goes. The lab outlives the server.
void attach(Scope& scope, apiserver::Server&, Lab&, std::shared_ptr<const UsageRules> = {},
            IdleSigns = {});

}  // namespace berth::lab
