// SPDX-License-Identifier: Apache-2.0
// Who sends a request to us, told as kube-scheduler tells it: by a front proxy's headers, by a
// client certificate, or by a token that the API server is asked about. Whoever shows nothing is
// anonymous.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "client/api.h"
#include "client/informer.h"
#include "net/http_server.h"
#include "scheduler/serving/expiring_cache.h"
#include "scheduler/serving/user_info.h"

namespace berth::scheduler {

struct AuthenticationOptions {
  Duration cache_ttl = 10s;             // --authentication-token-webhook-cache-ttl
  std::string client_ca_pem = {};       // the contents of --client-ca-file
  bool skip_lookup = false;             // --authentication-skip-lookup
  bool tolerate_lookup_failure = true;  // --authentication-tolerate-lookup-failure
};

// What the ConfigMap kube-system/extension-apiserver-authentication says.
struct TrustedClients {
  std::string client_ca_pem = {};
  std::string proxy_ca_pem = {};              // requestheader-client-ca-file
  std::vector<std::string> proxy_names = {};  // allowed common names; none: all
  std::vector<std::string> user_headers = {}, uid_headers = {}, group_headers = {};
  std::vector<std::string> extra_prefixes = {};
};
// An error names the key.
Result<TrustedClients> read_trusted_clients(const kube::Object& config_map);

// Loop-confined to its scope's executor; outlives that scope.
class Authenticator {
 public:
  // Without a transport tokens are not understood and nothing is looked up. `log` outlives it.
  Authenticator(Scope& scope, client::Transport* transport, Random random, AuthenticationOptions,
                const Logger& log);

  // Reads the ConfigMap, then follows it. Fails where it cannot be read and that is not tolerated.
  void start(Done<Ok> started);
  // Unauthorized for whoever shows something that does not convince.
  void authenticate(const net::HttpRequest&, const net::HttpPeer&, Done<UserInfo>);

 private:
  void review(const std::string& token, Done<UserInfo>);
  void on_review(const std::string& key, Result<kube::Object>);
  void on_config_map(const kube::Object&);
  void follow();

  Scope& scope_;
  client::Transport* transport_;
  Random random_;
  AuthenticationOptions options_;
  const Logger& log_;
  client::RateLimiter limiter_;
  std::unique_ptr<client::Api> api_;
  std::unique_ptr<client::Informer<>> config_maps_;
  TrustedClients trusted_;
  ExpiringCache<Result<UserInfo>> tokens_{4096};  // by their hash
  std::unordered_map<std::string, std::vector<Done<UserInfo>>> asking_;
};

}  // namespace berth::scheduler
