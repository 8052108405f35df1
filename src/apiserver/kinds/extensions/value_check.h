// SPDX-License-Identifier: Apache-2.0
// Whether a value is what its schema says, with the complaints of the real server.
#pragma once

#include <string>

#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// `at` is where the value stands: "" for a whole document, "status" for a part. Of an update, `old`
// is what stood there: what is wrong but has not changed is let be.
void check_value(const json::Value&, const Structural&, const std::string& at, Findings&,
                 const json::Value* old = nullptr);

}  // namespace berth::apiserver
