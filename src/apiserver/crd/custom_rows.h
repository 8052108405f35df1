// SPDX-License-Identifier: Apache-2.0
// A CustomResourceDefinition compiled into the rows of the kinds it serves, one a version.
#pragma once

#include <vector>

#include "apiserver/kinds/kind_row.h"
#include "kube/object.h"

namespace berth::apiserver {

// The kinds that a definition names, of which the server may not know any yet.
struct CustomNames {
  kube::Kind stored;               // of the version that is marked as stored
  std::vector<kube::Kind> served;  // of the versions that are
};
CustomNames custom_names(const kube::Object& definition);

// Of the versions that are served, by the names that were accepted. What would hide a built-in
// kind is left out. The table is what the objects are stored as.
std::vector<KindRow> custom_rows(const kube::Object& definition, kube::KindId table);

}  // namespace berth::apiserver
