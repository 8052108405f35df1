// SPDX-License-Identifier: Apache-2.0
// The columns of a custom kind's table, and the fields its selectors may ask for.
#pragma once

#include <vector>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// additionalPrinterColumns of a version; its age where there are none.
std::vector<Column> custom_columns(Peek columns);
std::vector<FieldLabel> custom_labels(Peek selectable_fields);

}  // namespace berth::apiserver
