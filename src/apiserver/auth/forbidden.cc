// SPDX-License-Identifier: Apache-2.0
#include "kube/forbidden.h"

#include "apiserver/auth/auth.h"

namespace berth::apiserver {

Error forbidden(const kube::User& user, const Attributes& wants, std::string_view reason) {
  return kube::forbidden(user.name,
                         {.verb = wants.verb,
                          .group = wants.group,
                          .resource = wants.resource,
                          .subresource = wants.subresource,
                          .ns = wants.ns,
                          .name = wants.name,
                          .path = wants.path},
                         reason);
}

}  // namespace berth::apiserver
