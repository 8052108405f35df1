// SPDX-License-Identifier: Apache-2.0
// The questions that a server answers about itself: who somebody is, what they may do, and a token
// for a service account.
#pragma once

#include "apiserver/auth/authenticator.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/serve/server.h"
#include "base/random.h"
#include "base/time.h"

namespace berth::apiserver {

// All of it outlives the server.
struct ReviewParts {
  const TokenAuthenticator& authenticator;
  const ServiceAccountTokens& tokens;
  Authorizer& authorizer;
  Rbac* rbac;  // null: nobody can say which rules somebody has
  const Clock& clock;
  Random random;
};

// TokenReview, SelfSubjectReview, SubjectAccessReview (also self and local),
// SelfSubjectRulesReview, and serviceaccounts/token.
void register_reviews(Server&, const ReviewParts&);

}  // namespace berth::apiserver
