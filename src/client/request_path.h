// SPDX-License-Identifier: Apache-2.0
// An API request in its HTTP form. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api.h"
#include "net/http.h"

namespace berth::client {

// Method, target, Content-Type and body; `prefix` is the path part of the server's URL. BadRequest
// (never sent) for what would address something else than meant: a missing name would turn a
// delete into a delete of the whole collection.
Result<net::HttpRequest> to_http(const kube::ApiRequest&, std::string_view prefix = "");

// The DeleteOptions that the options ask for; "" when the server's defaults are meant.
std::string delete_options(const kube::Options&);

}  // namespace berth::client
