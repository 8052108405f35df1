// SPDX-License-Identifier: Apache-2.0
// The steps of a write that depend on the kind, in the order in which a request takes them:
//   create: decode, fill, [admission changes it], begin_create, check_create, [admission refuses
//   it] update: the same with begin_update, check_update status: the same with begin_status_update,
//   check_status_update
#pragma once

#include <string>
#include <vector>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// Brings a document into the kind's form. Gives the fields that are unknown, for whoever asked for
// strict checks or warnings; the error is a BadRequest as the real server words it.
Result<std::vector<std::string>> decode(const KindRow&, json::Value& document);

// Writes the defaults.
void fill(const KindRow&, Edit&);

// What only the server decides about a new object.
struct Birth {
  std::string ns;  // of the request; "" for cluster-scoped kinds
  std::string uid;
  std::string name_suffix;  // five characters, for generateName
  WallTime now;
};
// Refuses a namespace that is not the request's and a resourceVersion.
Result<Ok> begin_create(const KindRow&, Edit&, const Birth&);
Findings check_create(const KindRow&, Edit&);

// What an update of the main resource may not touch is as it was, and the generation counts.
void begin_update(const KindRow&, Edit&);
Findings check_update(const KindRow&, Edit&);

// The other way round: all but the status is as it was.
void begin_status_update(const KindRow&, Edit&);
Findings check_status_update(const KindRow&, Edit&);

// The bodies differ, as Kubernetes compares them.
bool body_changed(Edit&);

}  // namespace berth::apiserver
