// SPDX-License-Identifier: Apache-2.0
// One create, update or patch: what the client sent, the version before, admission, the kind's
// rules, the store. It parks while webhooks are asked, and begins anew where somebody else has
// written meanwhile.
#pragma once

#include <memory>
#include <optional>

#include "apiserver/apply/apply.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/serve/body.h"
#include "apiserver/serve/chain.h"

namespace berth::apiserver {

// Loop-confined. Kept by whatever it waits for.
class Writing final : public std::enable_shared_from_this<Writing> {
 public:
  explicit Writing(CallPtr);
  ~Writing();
  void start() { attempt(); }

 private:
  enum class Target : std::uint8_t {
    kMain,
    kStatus,
    kScale,
    kFinalize,   // of namespaces: spec.finalizers
    kEphemeral,  // of pods: spec.ephemeralContainers
    kResize,     // of pods: resources
  };
  static Target target_of(const Call&);

  void attempt();
  // What is to become, from what was sent and what there is.
  Result<Ok> prepare();
  Result<Ok> find_old();
  Result<Ok> check_put();  // of what is not there
  Result<Ok> read_new();
  bool read_part();
  Result<Ok> read_applied();
  Result<Ok> read_scale();
  Result<Ok> check_identity();
  ManagerNote manager() const;
  void dedup_owners(bool after_admission);
  // Then admission may change it; then the kind decides.
  void on_mutated(Result<Ok>);
  Result<Ok> settle();
  Result<Ok> settle_new();
  Result<Ok> settle_update();
  Result<Ok> check_revision();
  Error invalid_error(const Findings&) const;
  void on_validated(Result<Ok>);
  void commit();
  void commit_new();
  void commit_update();
  bool completes_deletion();
  void on_committed(Result<Committed>);

  bool overtaken() const;  // somebody has written since the version before was read
  void again();
  void reply(const kube::Object&);
  void refuse(Error);

  CallPtr call_;
  Core& core_;
  const KindRow& row_;
  const Target target_;
  int attempts_ = 0;
  Borrowed arena_;
  kube::Object old_ = {};  // as the row's kind; not valid() for something new
  bool creating_ = false;
  bool generated_ = false;      // the server chose the name
  bool with_revision_ = false;  // the client named the version it means
  kube::Key key_ = {};
  std::optional<json::Value> posted_ = {};  // a Scale
  std::optional<Edit> edit_ = {};
  std::optional<Chain> chain_ = {};
};

}  // namespace berth::apiserver
