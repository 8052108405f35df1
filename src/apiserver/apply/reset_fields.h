// SPDX-License-Identifier: Apache-2.0
// Fields that an endpoint takes no notice of, so that nobody comes to manage them through it.
#pragma once

#include <string_view>

#include "apiserver/apply/field_set.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

FieldSet reset_fields(const KindRow&, std::string_view subresource);

}  // namespace berth::apiserver
