// SPDX-License-Identifier: Apache-2.0
// The built-in kinds, one row each, in the order of their resources' names within a group.
#pragma once

#include <span>

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// Built once; immutable, thread-safe.
std::span<const KindRow> built_in_kinds();
const KindRow* find_built_in(kube::KindId);

}  // namespace berth::apiserver
