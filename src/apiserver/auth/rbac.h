// SPDX-License-Identifier: Apache-2.0
// Roles and bindings as an authorizer. They compile into what each subject holds, once after any of
// them changed; decisions are remembered until then.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/auth.h"
#include "apiserver/auth/policy_rule.h"
#include "apiserver/store/store.h"

namespace berth::apiserver {

// Loop-confined to the store's, which outlives it.
class Rbac final : public Authorizer, private WatchSink {
 public:
  explicit Rbac(Store&, std::size_t most_remembered = 20'000);
  ~Rbac() override;

  Decision authorize(const kube::User&, const Attributes&) override;

  struct Held {
    std::vector<PolicyRule> rules = {};
    std::vector<std::string> problems = {};  // bindings whose role does not exist
  };
  Held held(const kube::User&, std::string_view ns);  // ns "": in the cluster
  // What a reference from a binding in this namespace gives. NotFound as the real server words it.
  Result<std::vector<PolicyRule>> rules_of(std::string_view role_kind, std::string_view name,
                                           std::string_view ns);

  std::size_t remembered() const;  // for tests

 private:
  struct Compiled;
  void ready(WatchId) override;
  void follow(std::size_t kind);
  const Compiled& compiled();

  Store& store_;
  std::size_t most_remembered_;
  std::vector<WatchId> watches_;
  std::unique_ptr<Compiled> compiled_;  // null: something changed
};

bool is_master(const kube::User&);  // in system:masters, who may do everything

}  // namespace berth::apiserver
