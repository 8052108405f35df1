// SPDX-License-Identifier: Apache-2.0
// What becomes of an object that somebody wants deleted: gone at once, or marked and kept until its
// grace is over and its finalizers are done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apiserver/kinds/kind_row.h"
#include "apiserver/serve/call.h"
#include "kube/api.h"

namespace berth::apiserver {

// DeleteOptions, whether they came as a body or with the request.
struct DeleteWish {
  std::optional<std::int64_t> grace_seconds = {};
  std::optional<std::string> uid = {}, revision = {};  // preconditions
  std::optional<bool> orphan_dependents = {};          // of old clients
  kube::Propagation propagation = kube::Propagation::kUnset;
  bool dry_run = false;
};

// BadRequest and Invalid with the real server's words.
Result<DeleteWish> read_delete_options(const Call&);
Result<DeleteWish> delete_options_in(const json::Value& document);  // of an Eviction

enum class Fate : std::uint8_t {
  kPending,        // it is on its way already
  kMark,           // kept, as `marked` is
  kRemove,         // gone
  kMarkAndRemove,  // both, one after the other
};
struct Verdict {
  Fate fate = Fate::kRemove;
  std::optional<Edit> marked = {};
};

// Conflict where a precondition does not hold. `old` is the stored object and the row that of its
// own kind.
Result<Ok> check_preconditions(const kube::Kind&, const kube::Object& old, const DeleteWish&);
Verdict judge(const KindRow&, const kube::Object& old, const DeleteWish&, WallTime now,
              json::Arena&);

// k8s 1.36: some kinds answer with what was deleted, the others with a Status.
bool shows_deleted(const KindRow&);
// Of Jobs and ReplicationControllers: what they made is kept unless told otherwise.
bool orphans_by_default(const KindRow&);

struct Erased {
  kube::Object object = {};  // the last state
  bool removed = false;
};
// Decides and does it, from the store's tip, in this turn; `old` is that tip. Fires when the last
// write is there for all to see.
void erase(Core&, const KindRow&, const kube::Object& old, const DeleteWish&, Done<Erased>);

}  // namespace berth::apiserver
