// SPDX-License-Identifier: Apache-2.0
// What a JSON, merge or strategic patch makes of a document. Server-side apply is not one of these:
// it needs to know who manages what.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/serve/body.h"

namespace berth::apiserver {

// The request's patch applied to `document`, read in the form's shape. The errors are the real
// server's.
Result<json::Value> read_patch(Call&, const Form&, std::string_view document, json::Arena&);

// 415 for patches that the form cannot take, 422 for options that do not go with the patch.
Result<Ok> check_patch_options(const Call&, const Form&);

}  // namespace berth::apiserver
