// SPDX-License-Identifier: Apache-2.0
// What belongs to whoever creates an object: nearly always all that the object says. Written in one
// pass over the document, because every create over HTTP asks for it; compared() finds the same
// for any two documents, and slower.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/apply/field_set.h"
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// fieldsV1 of what the edit's document has and `empty`, the kind without anything said, has not;
// "": nothing. Without `ignored` and without what nobody manages. No value where elements of a list
// cannot be told apart: then it takes the comparison.
std::optional<std::string> created_fields(const KindRow&, Edit&, const json::Value& empty,
                                          const FieldSet& ignored);

// The fields below metadata that have no manager, whatever a client says about them.
inline constexpr std::array<std::string_view, 9> kNeverManagedMetadata = {
    "name",        "namespace",  "creationTimestamp", "selfLink",       "uid",
    "clusterName", "generation", "managedFields",     "resourceVersion"};

}  // namespace berth::apiserver
