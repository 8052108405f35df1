// SPDX-License-Identifier: Apache-2.0
// May this user do this? Some paths are open, system:masters may do everything, and for the rest
// the API server is asked (SubjectAccessReview).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "client/api.h"
#include "scheduler/serving/expiring_cache.h"
#include "scheduler/serving/user_info.h"

namespace berth::scheduler {

struct AuthorizationOptions {
  Duration allow_ttl = 10s;  // --authorization-webhook-cache-authorized-ttl
  Duration deny_ttl = 10s;   // --authorization-webhook-cache-unauthorized-ttl
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
  std::vector<std::string> always_allow_groups = {"system:masters"};
};
// Only a trailing * is understood in a path.
Result<Ok> check(const AuthorizationOptions&);

struct Verdict {
  bool allowed = false;
  std::string reason = {};
};

// Loop-confined to its scope's executor.
class Authorizer {
 public:
  // The options have passed check(). Without a transport whatever is not open is forbidden.
  Authorizer(Scope& scope, client::Transport* transport, Random random, AuthorizationOptions,
             const Logger& log);

  // `verb` is the method in lower case. An error: nobody could be asked.
  void authorize(const UserInfo&, std::string_view verb, std::string_view path, Done<Verdict>);

 private:
  bool open(const UserInfo&, std::string_view path) const;
  void on_review(const std::string& spec, Result<kube::Object>);

  Scope& scope_;
  AuthorizationOptions options_;
  const Logger& log_;
  std::set<std::string, std::less<>> paths_;  // without the leading slash
  std::vector<std::string> prefixes_;
  client::RateLimiter limiter_;
  std::unique_ptr<client::Api> api_;
  ExpiringCache<Result<Verdict>> verdicts_{8192};  // by the review's spec
  std::unordered_map<std::string, std::vector<Done<Verdict>>> asking_;
};

}  // namespace berth::scheduler
