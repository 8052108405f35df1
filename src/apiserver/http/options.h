// SPDX-License-Identifier: Apache-2.0
// The options of a request, as its query says them.
#pragma once

#include "apiserver/http/query.h"
#include "base/result.h"
#include "kube/api.h"

namespace berth::apiserver {

// Of get, list, watch, create, update and patch, and the selection of deletecollection. A patch's
// type is known already.
Result<Ok> read_options(const Query&, kube::Verb, kube::Options&);

// Of delete and deletecollection. k8s 1.36: only where there is no body, which says it all.
Result<Ok> read_delete_options(const Query&, kube::Options&);

}  // namespace berth::apiserver
