// SPDX-License-Identifier: Apache-2.0
// The three ways to say how a document changes, each a pure function from text to text. Nothing is
// half-applied: an error leaves the caller with the document it had.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/schema.h"

namespace berth::json {

// RFC 6902, as kube-apiserver applies it (at most 10,000 operations). A failed `test` is Invalid.
Result<std::string> json_patch(std::string_view document, std::string_view patch);

// RFC 7386.
Result<std::string> merge_patch(std::string_view document, std::string_view patch);
// The merge patch that turns `from` into `to`.
Result<std::string> merge_patch_between(std::string_view from, std::string_view to);

// Kubernetes' strategic merge patch, guided by the message's merge keys.
Result<std::string> strategic_merge_patch(std::string_view document, std::string_view patch,
                                          const Message&);

}  // namespace berth::json
