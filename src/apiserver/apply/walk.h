// SPDX-License-Identifier: Apache-2.0
// What server-side apply does with documents, guided by their type: merge, compare, list the fields
// and take fields away. As Kubernetes' structured-merge-diff does it, so that sets of fields made
// here and there agree. Absent is nullptr; null is a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/apply/field_set.h"
#include "apiserver/apply/layout.h"
#include "json/value.h"

namespace berth::apiserver {

// What does not fit the type, as Kubernetes tells it; "": all does.
std::string complaints_about(const json::Value& document, const Type&, bool allow_duplicates);

// Both merged; where both have a leaf, `patch` wins. Elements of lists come in the patch's order as
// far as it has them.
json::Value merged(const json::Value& live, const json::Value& patch, const Type&,
                   boost::json::storage_ptr);

struct Comparison {
  FieldSet removed, modified, added;
};
Comparison compared(const json::Value& before, const json::Value& after, const Type&);

FieldSet fields_of(const json::Value& document, const Type&);

// The document without these fields.
json::Value without(const json::Value& document, const FieldSet&, const Type&,
                    boost::json::storage_ptr);

// The set with the structs in it that only have fields in them.
FieldSet with_structs(const FieldSet&, const Type&);

// The set as it would be had the type always been what it is now: what has become atomic is one
// field.
FieldSet fitted(const FieldSet&, const Type&);

// Equal values; 1 and 1.0 are.
bool equal_values(const json::Value&, const json::Value&);

// The step that leads to an element of a list that is not atomic. The error is the complaint.
Result<PathElement> element_step(const json::Value& element, const Type& list);

}  // namespace berth::apiserver
