// SPDX-License-Identifier: Apache-2.0
// Whether a request's user may do what it asks.
#pragma once

#include "apiserver/serve/call.h"

namespace berth::apiserver {

// Forbidden with the real server's words. `verb` stands in for the request's own, for what a
// request does besides: an update that creates.
Result<Ok> authorize(const Call&, std::string_view verb = "");

}  // namespace berth::apiserver
