// SPDX-License-Identifier: Apache-2.0
// Writes manifests into a cluster as `kubectl apply --server-side` does, one after another, what
// others need first: namespaces, then definitions of kinds, then the rest in the order given. What
// is refused comes again once others are there, for it may need them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/api.h"

namespace berth::cluster {

struct ApplyError {
  kube::Object object;
  Error error;
  std::string text() const;  // "Deployment shop/web: why"
};

// Loop-confined to its scope's executor.
class Applier {
 public:
  Applier(Scope& scope, client::Transport& transport, Random random, std::string manager);
  // One at a time. Namespaced objects without a namespace go to "default". `done` gets those that
  // were refused; the others are applied.
  void apply(std::vector<kube::Object>, std::function<void(std::vector<ApplyError>)> done);

 private:
  void next();
  void end_round();

  Scope& scope_;
  client::Api api_;
  std::string manager_;
  std::vector<kube::Object> objects_;  // of this round
  std::size_t at_ = 0;
  int idle_rounds_ = 0;              // in which nothing was applied, one after another
  std::vector<ApplyError> refused_;  // in this round
  std::function<void(std::vector<ApplyError>)> done_;
};

}  // namespace berth::cluster
