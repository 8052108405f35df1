// SPDX-License-Identifier: Apache-2.0
// What the server says it serves, derived from the kinds' rows, so that a CRD appears here as soon
// as it has a row. The same set of rows gives the same bytes: clients keep these documents.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

using Rows = std::span<const KindRow* const>;  // groups in the order in which they first appear

std::string api_versions(std::string_view server_address);  // GET /api
std::string api_group_list(Rows);                           // GET /apis
// GET /apis/GROUP, /apis/GROUP/VERSION and (with "") /api/v1; nothing where there is no such group.
std::optional<std::string> api_group(Rows, std::string_view group);
std::optional<std::string> api_resource_list(Rows, std::string_view group,
                                             std::string_view version);

// All of /api, or all of /apis, in one document. Older clients ask for v2beta1, which is the same.
enum class Root { kApi, kApis };
std::string aggregated_discovery(Rows, Root, std::string_view version);  // "v2", "v2beta1"

}  // namespace berth::apiserver
