// SPDX-License-Identifier: Apache-2.0
// autoscaling/v1 over the autoscalers that are stored as v2. What the old form has no field for
// goes through annotations, so that nobody who reads and writes it loses what others have set.
#pragma once

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

Result<kube::Object> autoscaler_in_old_form(const kube::Object& stored);
void autoscaler_from_old_form(json::Dict& document);
Result<kube::Object> autoscaler_as_stored(const kube::Object& old);

}  // namespace berth::apiserver
