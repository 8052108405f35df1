// SPDX-License-Identifier: Apache-2.0
// Who somebody is: by a client certificate, a fixed token, a service account's token, or nobody in
// particular; and as whom they act, where they may.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/auth.h"
#include "apiserver/auth/service_account_tokens.h"
#include "apiserver/auth/sha256.h"
#include "apiserver/store/store.h"

namespace berth::apiserver {

struct FixedToken {
  std::string token;
  kube::User user;  // with its own groups; system:authenticated is added
};

struct AuthenticatorOptions {
  std::vector<FixedToken> tokens = {};
  bool anonymous = true;
  std::vector<std::string> audiences = {};  // of this server; none: the issuer's name
};

// Loop-confined to the API server's. All that it refers to outlives it.
class TokenAuthenticator final : public Authenticator {
 public:
  TokenAuthenticator(const Store&, const ServiceAccountTokens&, Authorizer&, AuthenticatorOptions);

  Result<kube::User> authenticate(const Credentials&, WallTime now) override;

  struct Known {
    kube::User user;
    std::vector<std::string> audiences;  // of those asked for
  };
  // Of a token alone; no audiences asked for are this server's. The error is as a TokenReview has
  // it.
  Result<Known> review(std::string_view token, const std::vector<std::string>& audiences,
                       WallTime now) const;
  const std::vector<std::string>& audiences() const { return audiences_; }

 private:
  Result<Known> service_account(std::string_view token, const std::vector<std::string>& audiences,
                                WallTime now) const;
  Result<Ok> still_there(const TokenClaims&, WallTime now) const;
  Result<kube::User> impersonate(const kube::User&, const Credentials&) const;

  const Store& store_;
  const ServiceAccountTokens& tokens_;
  Authorizer& authorizer_;
  bool anonymous_;
  std::vector<std::string> audiences_;
  std::map<Digest, kube::User> fixed_;  // by the token's hash, so that looking up tells nothing
};

// The user that a service account is.
kube::User service_account_user(std::string_view ns, std::string_view name, std::string_view uid);

}  // namespace berth::apiserver
