// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_namespace.h"

namespace berth::runtime {

void OneNamespace::call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) {
  const bool many = request.verb == kube::Verb::kList || request.verb == kube::Verb::kWatch;
  if (many && request.ns.empty() && request.kind != kube::kPod &&
      kube::kind_of(request.kind).namespaced)
    request.ns = ns_;
  inner_.call(std::move(request), deadline, std::move(done));
}

}  // namespace berth::runtime
