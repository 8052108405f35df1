// SPDX-License-Identifier: Apache-2.0
#include "gateway/replies.h"

#include <algorithm>

#include "kube/status.h"

namespace berth::gateway {

net::Headers common_headers() {
  net::Headers headers;
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("X-Frame-Options", "DENY");
  headers.add("Referrer-Policy", "no-referrer");
  return headers;
}

Reply status_reply(const Error& error) {
  Reply reply;
  reply.code = error.code >= 400 ? error.code : http_code_of(error.reason);
  if (reply.code < 400) reply.code = 500;
  reply.body = kube::status_json(error);
  if (error.reason == Reason::kUnauthorized)
    reply.headers.add("WWW-Authenticate", R"(Bearer realm="berth")");
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
    reply.headers.add("Retry-After", std::to_string(std::max<std::int64_t>(1, seconds)));
  }
  return reply;
}

net::HttpResponse http_of(Reply reply) {
  net::Headers headers = common_headers();
  for (const auto& [name, value] : reply.headers.items()) headers.set(name, value);
  if (!headers.has("Cache-Control")) headers.add("Cache-Control", "no-store");
  if (!reply.body.empty()) headers.set("Content-Type", reply.content_type);
  return {.status = reply.code, .headers = std::move(headers), .body = std::move(reply.body)};
}

Reply json_reply(std::string json, int code) { return {.code = code, .body = std::move(json)}; }

}  // namespace berth::gateway
