// SPDX-License-Identifier: Apache-2.0
// Health endpoints: a list of named checks, shown as Kubernetes' components show theirs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace berth::scheduler {

struct HealthCheck {
  std::string name;
  std::function<Result<Ok>()> check;  // quick; on the server's loop
};

// /readyz: "ok", or with ?verbose or on failure a line a check; ?exclude=name leaves one out. Why a
// check failed is not told: the endpoint is open. `why` gets it, for the log.
net::HttpResponse show_health(std::string_view name, const std::vector<HealthCheck>& checks,
                              std::string_view query, std::string* why = nullptr);
// /readyz/<check>: "ok" or why not.
net::HttpResponse show_check(const HealthCheck&);

net::HttpResponse text_reply(int status, std::string body);

}  // namespace berth::scheduler
