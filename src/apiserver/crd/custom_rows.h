// SPDX-License-Identifier: Apache-2.0
// A CustomResourceDefinition compiled into the rows of the kinds it serves, one a version.
#pragma once

#include <vector>

#include "apiserver/kinds/kind_row.h"
#include "kube/object.h"

namespace berth::apiserver {

// Of the versions that are served, by the names that were accepted. What would hide a built-in
// kind is left out.
std::vector<KindRow> custom_rows(const kube::Object& definition);

// What its objects are stored as.
kube::KindId custom_table(const kube::Object& definition);

}  // namespace berth::apiserver
