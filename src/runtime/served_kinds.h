// SPDX-License-Identifier: Apache-2.0
// Every kind that a server has, from the two documents in which it lists them. Kinds come and go
// with CustomResourceDefinitions, so whoever cares for all of them asks again.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api.h"
#include "kube/kind.h"

namespace berth::runtime {

struct ServedKind {
  kube::KindId kind{};  // in the version that the server prefers
  std::set<std::string, std::less<>> verbs = {};
  std::vector<std::string> versions = {};  // all that are served, the preferred one first
  bool scales = false;                     // has the subresource "scale"
  bool can(std::string_view verb) const { return verbs.count(verb) > 0; }
};

struct ServedKinds {
  std::vector<ServedKind> kinds = {};   // by group and plural
  std::vector<std::string> stale = {};  // "metrics.k8s.io/v1beta1": whose server does not answer
};

// GET of "/api" or "/apis" in the form that holds all groups at once.
kube::ApiRequest discovery_request(std::string_view root);
// The two answers. Kinds that are new are learnt.
Result<ServedKinds> served_kinds(std::string_view api, std::string_view apis);

}  // namespace berth::runtime
