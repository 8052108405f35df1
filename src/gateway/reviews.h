// SPDX-License-Identifier: Apache-2.0
// The two questions that the API server answers about callers, and its answers. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/access.h"
#include "kube/api.h"

namespace berth::gateway {

kube::ApiRequest token_review(const std::string& token, const std::vector<std::string>& audiences);
kube::ApiRequest access_review(const kube::User&, const Access&);

// Nothing: the token proves nothing. An error: the server could not be asked.
Result<std::optional<kube::User>> reviewed_user(const Result<kube::ApiReply>&,
                                                const std::vector<std::string>& audiences);

struct AccessVerdict {
  bool allowed = false;
  std::string reason = {};
};
Result<AccessVerdict> reviewed_access(const Result<kube::ApiReply>&);

}  // namespace berth::gateway
