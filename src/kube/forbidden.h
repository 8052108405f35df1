// SPDX-License-Identifier: Apache-2.0
// How Kubernetes says that somebody may not do something. Whoever guards an API words it so.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

// Nothing in it that a browser could take for HTML.
std::string sanitized(std::string_view text);

// Views into the request. A path that is no resource has nothing but a verb besides.
struct Attempt {
  std::string_view verb;
  std::string_view group = {}, resource = {}, subresource = {}, ns = {}, name = {}, path = {};
};

// `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace
// "default"`.
Error forbidden(std::string_view user, const Attempt&, std::string_view reason = "");

}  // namespace berth::kube
