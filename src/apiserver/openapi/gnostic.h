// SPDX-License-Identifier: Apache-2.0
// An OpenAPI v2 document in protobuf, which is the only form in which kubectl reads that version.
#pragma once

#include <string>

#include "json/slice.h"

namespace berth::apiserver {

// As the message openapi.v2.Document of gnostic. Of what that has, everything is translated that
// this server's own documents hold.
std::string gnostic_document(json::Slice document);

}  // namespace berth::apiserver
