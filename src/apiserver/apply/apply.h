// SPDX-License-Identifier: Apache-2.0
// Server-side apply: who manages which field, merging what a manager applies into what there is,
// and conflicts between managers.
//
// An object is followed from its creation on where a client from outside creates it, as
// kube-apiserver does with all; what is made in this process (pods of controllers, Leases, Events)
// from its first apply on, which costs nothing before. What such an object had is then given to
// "before-first-apply", as kube-apiserver does with objects that have no managedFields; of an
// object that `kubectl apply` made, what kubectl has written down in its annotation goes to
// "kubectl-client-side-apply", so that `kubectl apply --server-side` takes it over as it does
// elsewhere.
#pragma once

#include <string>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

struct ManagerNote {
  std::string manager;           // fieldManager, or made from the user agent
  std::string subresource = "";  // "status", "scale"
  WallTime now{};
  bool follows = false;  // what it creates is followed from the start
};

// The outcome of applying `patch` (a whole document of the kind, already parsed, not yet decoded by
// schema) to the edit, which starts from the live object or, for a create, from {} with
// apiVersion, kind and the request's name. The edit holds the merged document afterwards, decoded
// and filled, with managedFields right; what only the server decides comes after that. A conflict
// is a 409 with one FieldManagerConflict cause a field.
Result<Ok> apply_patch(const KindRow&, Edit&, json::Value patch, const ManagerNote&, bool force);

// Any other write, once its document is decoded and filled and before the server's own changes
// (begin_create, begin_update): what changed belongs to the writer from now on. Cheap where the
// object is not followed.
void note_update(const KindRow&, Edit&, const ManagerNote&);

}  // namespace berth::apiserver
