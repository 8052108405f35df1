// SPDX-License-Identifier: Apache-2.0
// Admission of one write: all who may change it, later all who may only refuse. Steps are asked in
// the same turn, unless one of them says that waiting may help; webhooks take their time.
#pragma once

#include "apiserver/serve/call.h"

namespace berth::apiserver {

// Loop-confined. The call, the edit and what is posted outlive it; `keep` keeps its owner alive
// while webhooks are asked.
class Chain {
 public:
  using Then = Fn<void(Result<Ok>)>;
  Chain(Call& of, Operation, std::string name, Edit*, const kube::Object& old, json::Value* posted);

  AdmissionCall call;

  // `then` comes in the same turn unless `waited` turns true before it.
  void mutate(Then);
  void validate(Then);
  bool waited() const { return waited_; }

 private:
  void finish(Then&, Result<Ok>);
  void finish_validation(Then&, Result<Ok>);
  Call& of_;
  bool waited_ = false;
  int patience_used_ = 0;
};

}  // namespace berth::apiserver
