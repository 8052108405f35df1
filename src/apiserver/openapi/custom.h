// SPDX-License-Identifier: Apache-2.0
// A CRD's schema as OpenAPI shows it.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/kinds/kind_row.h"
#include "apiserver/openapi/definitions.h"

namespace berth::apiserver {

// `metadata` is the schema of ObjectMeta, or a reference to it. Version 2 of OpenAPI cannot say
// everything that a CRD can; what it cannot say is left out, so that its readers take more, never
// less.
std::string custom_schema(const KindRow&, OpenApiVersion, std::string_view metadata);

}  // namespace berth::apiserver
