// SPDX-License-Identifier: Apache-2.0
// What may change or refuse a write after its kind has had its say: steps in the real server's
// order, then webhooks. A step looks at the store's tip, synchronously; only webhooks wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kind_row.h"
#include "base/scope.h"
#include "kube/api.h"

namespace berth::apiserver {

enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };

// One write on its way. Lives until its request is answered.
struct AdmissionCall {
  Operation operation = Operation::kCreate;
  const KindRow& row;
  const kube::ApiRequest& request;  // user, namespace, name, subresource, options
  std::string name;                 // of the object; of a create after generateName
  Edit* edit = nullptr;             // create and update: what is being written
  kube::Object old = {};            // update and delete: what there is
  // What is posted to a subresource (Binding, Eviction, Scale); then `edit` is null.
  json::Value* posted = nullptr;
  WallTime now{};
  std::vector<std::string> warnings = {};
  // Set beside a refusal: what is missing is about to be made (a new namespace's default account).
  // The server asks all steps again a little later, for about a second.
  bool worth_waiting = false;

  bool is(kube::KindId kind, std::string_view subresource = "") const {
    return row.id == kind && request.subresource == subresource;
  }
};

// Loop-confined to the API server's. A refusal is the error as the client gets it.
class AdmissionStep {
 public:
  virtual ~AdmissionStep() = default;
  virtual std::string_view name() const = 0;  // as in kube-apiserver's --enable-admission-plugins
  virtual Result<Ok> mutate(AdmissionCall&) { return Ok{}; }
  virtual Result<Ok> validate(AdmissionCall&) { return Ok{}; }
};

// Those who are asked over the network, or in virtual time by a handler without a socket. The call
// outlives the answer.
class Webhooks {
 public:
  virtual ~Webhooks() = default;
  virtual bool mutates(const AdmissionCall&) const = 0;  // is anybody to be asked?
  virtual bool validates(const AdmissionCall&) const = 0;
  virtual void mutate(AdmissionCall&, Done<Ok>) = 0;
  virtual void validate(AdmissionCall&, Done<Ok>) = 0;
};

// In the order of steps; mutate() of all comes before validate() of any. Webhooks mutate after the
// steps did, and validate before the last step does: ResourceQuota reserves, so it has the last
// word.
struct Admission {
  std::vector<std::unique_ptr<AdmissionStep>> steps = {};
  std::unique_ptr<Webhooks> webhooks = {};  // null: none
};

}  // namespace berth::apiserver
