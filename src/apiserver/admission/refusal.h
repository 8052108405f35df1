// SPDX-License-Identifier: Apache-2.0
// How a step says no, and how it looks things up: at the store's tip, so that what was just written
// counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/store/store.h"

namespace berth::apiserver {

// `pods "web" is forbidden: …`. A name that is not generated yet shows as its base, "web-".
Error refusal(const AdmissionCall&, std::string_view text);

// "pods", "deployments.apps".
std::string resource_text(const kube::Kind&);

// All of a kind, in a namespace or (ns "") everywhere, in key order. What is being created at this
// very moment may be missing.
std::vector<kube::Object> all_at_tip(const Store&, kube::KindId, std::string_view ns = "");

// Several complaints as Go's aggregated errors tell them: alone, or "[a, b]", each once.
std::string aggregate_text(const std::vector<std::string>&);

// What is being written, as it stands now.
kube::Object written(AdmissionCall&);

// The pod or whatever is written; a null Peek where there is nothing of that kind.
inline Peek spec_of(AdmissionCall& call) {
  return call.edit == nullptr ? Peek() : Peek(call.edit->body())["spec"];
}

}  // namespace berth::apiserver
