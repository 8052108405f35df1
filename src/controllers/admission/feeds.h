// SPDX-License-Identifier: Apache-2.0
// What admission has to know of a cluster, kept up to date from its API server: the policy, the
// default class, which runs hold slots, whether somebody works as the operator, and who we are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/api.h"
#include "client/informer.h"
#include "policy/admission/webhooks.h"

namespace berth::controllers {

struct AdmissionFeedsOptions {
  admission::Accounts accounts = {};  // our own is added as soon as the server has named it
  bool slot_resource = false;         // executors are to request berth.dev/slot
  // The lease of whoever works as the operator; none: this process does, always.
  std::optional<kube::Key> lease = {};
};

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class AdmissionFeeds {
 public:
  AdmissionFeeds(Scope&, client::Transport&, const Random&, AdmissionFeedsOptions);
  ~AdmissionFeeds();

  void start();
  admission::Surroundings now() const;
  // Pods are to be polite, whoever asks: the policy says so. Whether they are made so depends also
  // on the lease, from one pod to the next.
  bool asks_about_all_pods() const;

 private:
  using Grants = std::vector<std::pair<std::string, std::string>>;  // namespace, id
  void ask_who_we_are();
  bool operator_works() const;
  const kube::Object* policy() const;

  Scope& scope_;
  client::Api api_;
  AdmissionFeedsOptions options_;
  client::Informer<> policies_, classes_;
  std::unique_ptr<client::Informer<>> lease_;
  std::vector<std::unique_ptr<client::Informer<Grants>>> ledgers_;
};

// Whether the lease has a holder who renewed it in time.
bool is_fresh(const kube::Object& lease, WallTime now);

}  // namespace berth::controllers
