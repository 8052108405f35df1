// SPDX-License-Identifier: Apache-2.0
// The paths of an OpenAPI document: what can be done with a kind, and with which options. kubectl
// looks here for what a server understands before it sends anything.
#pragma once

#include <map>
#include <string>

#include "apiserver/openapi/definitions.h"

namespace berth::apiserver {

using Paths = std::map<std::string, std::string, std::less<>>;  // a path item's JSON by path

void add_paths(const KindRow&, OpenApiVersion, Definitions&, Paths&);

}  // namespace berth::apiserver
