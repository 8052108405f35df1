// SPDX-License-Identifier: Apache-2.0
// The options of a request: from its query, for a deletion also from its body.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/http/query.h"
#include "base/result.h"
#include "kube/api.h"

namespace berth::apiserver {

// Of get, list, watch, create, update and patch, and the selection of deletecollection. A patch's
// type is known already.
Result<Ok> read_options(const Query&, kube::Verb, kube::Options&);

// Of delete and deletecollection: `json` is the DeleteOptions of the body, "" where there is none.
Result<Ok> read_delete_options(const Query&, std::string_view json, kube::Options&);

}  // namespace berth::apiserver
