// SPDX-License-Identifier: Apache-2.0
// Two kinds over the same objects: what is stored as one is shown and written as the other.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kind_row.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/object.h"

namespace berth::apiserver {

// The stored object as the row's kind.
Result<kube::Object> as_asked(const KindRow&, const kube::Object& stored);
// The other way: what `edit`, an edit of the row's kind, comes to as it is stored.
Result<kube::Object> as_stored(const KindRow&, Edit& edit, kube::Revision);
Result<Ok> check_size(std::size_t bytes);  // of the JSON of what is to be stored
// The same, unless it is larger than what can be stored.
Result<kube::Object> bounded(Result<kube::Object>);

}  // namespace berth::apiserver
