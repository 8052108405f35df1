// SPDX-License-Identifier: Apache-2.0
// An AdmissionReview (admission.k8s.io/v1) as an API server sends it, and the answer to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/slice.h"

namespace berth::admission {

// The documents are views: valid as long as the text that was read.
struct Review {
  std::string uid;
  std::string group, resource, subresource, kind;
  std::string operation;  // "CREATE", "UPDATE", "DELETE", "CONNECT"
  std::string ns, name;
  std::string user;  // who asked
  bool dry_run = false;
  json::Slice object, old_object;  // absent where there is none

  bool creates() const { return operation == "CREATE"; }
  bool updates() const { return operation == "UPDATE"; }
};
// An error says what is wrong with the text. A request that brings no object where its verb has
// one is wrong, too.
Result<Review> read_review(std::string_view text);

struct Verdict {
  // What is wrong, each with the path of its field; none: it is allowed.
  std::vector<Cause> refusals = {};
  Reason reason = Reason::kForbidden;  // of a refusal
  std::string patch = {};              // RFC 6902, of one that is allowed; "": nothing is changed
  std::vector<std::string> warnings = {};

  bool allowed() const { return refusals.empty(); }
};
// All that is wrong in one line: "spec.a: why; spec.b: why".
std::string text_of(const std::vector<Cause>&);
// The whole AdmissionReview that is sent back.
std::string reply_json(const Review&, const Verdict&);

}  // namespace berth::admission
