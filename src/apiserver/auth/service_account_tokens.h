// SPDX-License-Identifier: Apache-2.0
// Tokens that say which service account their bearer is, and perhaps for how long and for which
// pod. They are JSON web tokens with the real server's claims, signed with a key that only this
// server has (HS256).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::apiserver {

struct TokenClaims {
  struct Reference {
    std::string name, uid;
  };
  std::string ns;
  Reference account;
  std::optional<Reference> pod = {}, secret = {}, node = {};  // what it ends with
  std::vector<std::string> audiences = {};
  std::int64_t issued = 0, not_before = 0, expires = 0, warn_after = 0;  // Unix seconds; 0: none
  std::string id = {};
};

// Immutable, thread-safe.
class ServiceAccountTokens {
 public:
  // Everybody who knows the key can make tokens.
  explicit ServiceAccountTokens(std::string key,
                                std::string issuer = "https://kubernetes.default.svc");

  const std::string& issuer() const { return issuer_; }
  std::string mint(const TokenClaims&) const;
  // Is it one of ours at all? Only then does it matter what is wrong with it.
  bool issued_here(std::string_view token) const;
  // Signature and issuer are checked; whether it still holds is not.
  Result<TokenClaims> read(std::string_view token) const;

 private:
  std::string key_, issuer_;
};

}  // namespace berth::apiserver
