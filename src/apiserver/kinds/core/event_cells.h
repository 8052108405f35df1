// SPDX-License-Identifier: Apache-2.0
// Events are shown alike in both of their groups.
#pragma once

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

Kind& event_columns(Kind&);

}  // namespace berth::apiserver
