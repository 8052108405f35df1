// SPDX-License-Identifier: Apache-2.0
// What an HTTP answer of an API server means. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api.h"
#include "net/http.h"

namespace berth::client {

// The reply to anything but a watch: an object, a list, text, or the error from its Status.
Result<kube::ApiReply> read_reply(const kube::ApiRequest&, net::HttpResponse);
// For an answer that is an error: from its Status, or from the code where there is none.
Error read_error(const kube::ApiRequest&, int code, const net::Headers&, std::string_view body);
// The texts of Warning headers: 299 - "text".
std::vector<std::string> read_warnings(const net::Headers&);

}  // namespace berth::client
