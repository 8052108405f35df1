// SPDX-License-Identifier: Apache-2.0
// How answers look on the wire.
#pragma once

#include <string>

#include "base/result.h"
#include "gateway/request.h"

namespace berth::gateway {

// What every answer carries: nothing is guessed, framed or kept by others.
net::Headers common_headers();
// A refusal as Kubernetes' Status, with the headers that go with it.
Reply status_reply(const Error&);
net::HttpResponse http_of(Reply);
Reply json_reply(std::string json, int code = 200);

}  // namespace berth::gateway
