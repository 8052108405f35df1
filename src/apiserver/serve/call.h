// SPDX-License-Identifier: Apache-2.0
// One request, from the moment its user is known until it is answered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/serve/core.h"
#include "apiserver/serve/errors.h"

namespace berth::apiserver {

// Loop-confined. Answered once; what dies unanswered says so through its Done.
class Call {
 public:
  Call(std::shared_ptr<Core>, kube::ApiRequest, Done<kube::ApiReply>, bool outside);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Core& core;
  kube::ApiRequest request;
  std::shared_ptr<const Kinds> kinds;  // as they are now, for as long as this takes
  const KindRow* row = nullptr;        // null: not a resource
  const Subresource* sub = nullptr;    // null: the resource itself
  std::vector<std::string> warnings = {};
  std::shared_ptr<void> looked = {};  // what a look at the kind gave

  const kube::Kind& kind() const { return row->kind; }
  kube::Key key() const { return {request.ns, request.name}; }
  kube::KindId table() const { return row->stored_as.value_or(row->id); }

  void answer(Result<kube::ApiReply>);
  void answer(Error error) { answer(Result<kube::ApiReply>(tl::unexpected(std::move(error)))); }
  void answer(kube::Object, int code = 200);
  bool answered() const { return !done_; }
  bool outside() const { return outside_; }  // it came through a door, not from this process

 private:
  void end(int code);
  std::shared_ptr<Core> keep_;
  Done<kube::ApiReply> done_;
  Instant began_;
  bool outside_;
  bool open_ = true;
};
using CallPtr = std::shared_ptr<Call>;

// {"kind":"Status",…,"status":"Success"}; `details` as given, `code` where it is not 0.
kube::ApiReply success(const About& details, int code = 0);

// What answers each verb.
void serve_get(CallPtr);
void serve_list(CallPtr);
void serve_watch(CallPtr);
void serve_write(CallPtr);  // create, update and patch, of the resource and its status and scale
void serve_delete(CallPtr);
void serve_delete_collection(CallPtr);
void serve_answer(CallPtr, const Server::Answer&);
void serve_binding(CallPtr);
void serve_eviction(CallPtr);

}  // namespace berth::apiserver
