// SPDX-License-Identifier: Apache-2.0
// What labelSelector and fieldSelector of a request ask for, of a given kind.
#pragma once

#include "apiserver/kinds/kind_row.h"
#include "apiserver/store/selector.h"
#include "kube/api.h"

namespace berth::apiserver {

// BadRequest with the real server's words. The row outlives the selector.
Result<Selector> selector_of(const KindRow&, const kube::Options&);

}  // namespace berth::apiserver
