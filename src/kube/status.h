// SPDX-License-Identifier: Apache-2.0
// A refused request on the wire: metav1.Status in both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/slice.h"

namespace berth::kube {

// What a reply with an HTTP code of 400 or more means. The body may be a Status, or no JSON at all
// (a proxy's page, plain text): then the code decides, and a conflict on POST means AlreadyExists.
Error error_from_status(int http_code, std::string_view body,
                        std::optional<Duration> retry_after_header, bool was_post);
// The same for a Status that stands in a watch event.
Error error_from_status(json::Slice status);

// What the error itself is about goes before `about`.
std::string status_json(const Error&, const About& about = {});

}  // namespace berth::kube
