// SPDX-License-Identifier: Apache-2.0
// What expressions know of a value from its schema.
#pragma once

#include "apiserver/kinds/extensions/structural.h"
#include "kube/cel/type.h"

namespace berth::apiserver {

// Null: expressions cannot see such values. `object`: a whole object, which has its kind and name.
cel::TypePtr cel_type_of(const Structural&, bool object);

}  // namespace berth::apiserver
