// SPDX-License-Identifier: Apache-2.0
// The scale subresource: how many there should be, of whatever kind, as autoscaling/v1 Scale.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/kind_row.h"
#include "base/result.h"

namespace berth::apiserver {

Result<kube::Object> scale_of(const KindRow&, const kube::Object&);
// Takes the number and the resourceVersion of a Scale over. Invalid for a number below 0.
Result<Ok> write_scale(const KindRow&, Edit&, const json::Value& scale);

}  // namespace berth::apiserver
