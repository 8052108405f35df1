// SPDX-License-Identifier: Apache-2.0
// Who is asking, and whether they may: the cluster's own answers, by TokenReview and
// SubjectAccessReview. What it said is kept for seconds, so that a page does not cost a review a
// click; whatever changes something is asked afresh.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/scope.h"
#include "client/transport.h"
#include "gateway/access.h"
#include "gateway/credentials.h"
#include "kube/api.h"

namespace berth::gateway {

struct AuthOptions {
  std::vector<std::string> audiences = {};  // that a token must be meant for; none: the server's
  Duration keep_valid = 60s, keep_invalid = 10s, keep_access = 10s;
  Duration recheck = 30s;  // of tokens with open streams
  Duration doubt = 5min;   // how long they stay when nobody can be asked
  Duration call_limit = 5s;
  std::size_t most_kept = 1024;
};

struct Identity {
  kube::User user = {};
  std::string key = {};  // tells what proved it apart from other proofs; no secret
  std::optional<WallTime> expires = {};
};

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class Auth {
 public:
  Auth(Scope&, client::Transport&, Metrics&, AuthOptions);
  ~Auth();

  // Unauthorized for what proves nothing, ServiceUnavailable when the server cannot be asked.
  void who(const Proof&, Done<Identity>);
  // Forbidden in Kubernetes' words.
  void may(const Identity&, const Access&, Done<Ok>);
  void may(const Identity&, std::vector<Access>, Done<Ok>);  // all of them

  // A proof in use by something that stays open. `ended` is called once, at home, when it is no
  // longer good for one of the accesses. Dropped, nothing is asked any more.
  class Guard {
   public:
    virtual ~Guard() = default;
    virtual void add(Access) = 0;  // one more
  };
  std::unique_ptr<Guard> guard(const Proof&, const Identity&, std::vector<Access>,
                               Fn<void(Error)> ended);

  std::size_t kept() const;  // cached answers, for tests

 private:
  struct State;
  class StreamGuard;
  std::shared_ptr<State> state_;
};

}  // namespace berth::gateway
