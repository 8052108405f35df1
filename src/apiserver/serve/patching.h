// SPDX-License-Identifier: Apache-2.0
// What a JSON, merge or strategic patch makes of a document, and what is applied on the server's
// side; who manages what is known elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/serve/body.h"

namespace berth::apiserver {

// The request's patch applied to `document`, read in the form's shape. The errors are the real
// server's.
Result<json::Value> read_patch(Call&, const Form&, std::string_view document, json::Arena&);

// What is applied, as it was sent: a document in YAML or JSON.
Result<json::Value> read_applied_text(Call&, json::Arena&);

// 415 for patches that the form cannot take, 422 for options that do not go with the patch.
Result<Ok> check_patch_options(const Call&, const Form&);

}  // namespace berth::apiserver
