// SPDX-License-Identifier: Apache-2.0
// What a real API server does with every object, whatever its kind: creation times, generations,
// preconditions, the status apart from the rest, finalizers and deletion in two steps. Enough for
// controllers to be tested before, and beside, the embedded server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/api.h"

namespace berth::faults {

// The document that is stored for a create.
Result<std::string> as_created(const kube::ApiRequest&, WallTime now);
// A Job as the server completes it: what its pods are known by.
std::string with_selector_of(const std::string& job, std::string_view uid);
// What a patch makes of an object, before the rules of an update.
Result<std::string> as_patched(const kube::ApiRequest&, const kube::Object& old);

struct Update {
  std::string json;      // what is stored
  bool changed = false;  // else the revision stays
  bool gone = false;     // that was the last finalizer
};
// `next` is the whole document as the client wants it; its uid and revision are preconditions.
Result<Update> as_updated(const kube::ApiRequest&, const kube::Object& old, std::string next);

struct Deletion {
  std::optional<std::string> json;  // it stays for now, marked; none: it goes at once
  bool changed = true;
};
Result<Deletion> as_deleted(const kube::ApiRequest&, const kube::Object& old, WallTime now);

// What the subresource "scale" of an object says.
kube::Object scale_of(const kube::Object&);

// What a server with these kinds answers to GET /api (`core`) or /apis: all groups at once.
std::string discovery_json(bool core, const std::vector<kube::KindId>& kinds,
                           const std::vector<kube::KindId>& scaled);

}  // namespace berth::faults
