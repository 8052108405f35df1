// SPDX-License-Identifier: Apache-2.0
// Something that a caller wants to do, in the terms of RBAC.
#pragma once

#include <compare>
#include <string>

#include "kube/forbidden.h"

namespace berth::gateway {

struct Access {
  std::string verb = {};  // "get", "list", "watch", "create", "update", "patch", "delete"
  std::string group = {}, resource = {}, subresource = {};
  std::string ns = {}, name = {};
  std::string path = {};  // instead of a resource

  bool reads() const { return verb == "get" || verb == "list" || verb == "watch"; }
  kube::Attempt attempt() const {
    return {.verb = verb,
            .group = group,
            .resource = resource,
            .subresource = subresource,
            .ns = ns,
            .name = name,
            .path = path};
  }
  friend auto operator<=>(const Access&, const Access&) = default;
};

}  // namespace berth::gateway
