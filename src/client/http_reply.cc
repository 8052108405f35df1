// SPDX-License-Identifier: Apache-2.0
#include "client/http_reply.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "client/one_line.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "kube/status.h"

namespace berth::client {
namespace {

using kube::ApiReply;
using kube::Verb;

constexpr std::int64_t kLongestWait = 86'400;  // seconds
// The transport bounds what it receives; the decoder need not do it again.
constexpr json::Limits kWhateverCame{.max_bytes = std::size_t{1} << 40};

std::string describe(const kube::ApiRequest& request) {
  if (request.verb == Verb::kRaw) return request.raw_path;
  return kube::kind_of(request.kind).plural +
         (request.name.empty() ? "" : fmt::format(" \"{}\"", request.name));
}

tl::unexpected<Error> unreadable(const kube::ApiRequest& request, int code, const Error& why) {
  return tl::unexpected(Error{.reason = Reason::kInternalError,
                              .message = fmt::format("{}: the server's answer is not readable: {}",
                                                     describe(request), why.message),
                              .outcome = Outcome::kUnknown,
                              .code = code});
}

}  // namespace

Result<ApiReply> read_reply(const kube::ApiRequest& request, net::HttpResponse response) {
  if (response.status < 200 || response.status > 299)
    return tl::unexpected(read_error(request, response.status, response.headers, response.body));
  ApiReply reply;
  reply.code = response.status;
  reply.warnings = read_warnings(response.headers);
  if (request.verb == Verb::kRaw) {
    reply.body = std::move(response.body);
    return reply;
  }
  if (request.verb == Verb::kList) {
    Result<kube::ObjectList> list =
        kube::parse_list(request.kind, response.body, true, kWhateverCame);
    if (!list) return unreadable(request, reply.code, list.error());
    reply.body = std::move(*list);
    return reply;
  }
  if (response.body.empty()) return reply;
  if (Result<Ok> good = json::check(response.body, kWhateverCame); !good)
    return unreadable(request, reply.code, good.error());
  const std::string kind = json::Slice(response.body)["kind"].text();
  // Deletes, binds and evictions answer with a Status; deleting a collection with a list.
  if (kind == "Status" || request.verb == Verb::kDeleteCollection) {
    reply.body = std::move(response.body);
    return reply;
  }
  // A subresource may speak of another kind: Scale, TokenRequest.
  const bool own = kind.empty() || kind == kube::kind_of(request.kind).kind;
  Result<kube::Object> object =
      own ? kube::Object::parse(request.kind, response.body, kWhateverCame)
          : kube::Object::parse(response.body, kWhateverCame);
  if (!object) return unreadable(request, reply.code, object.error());
  reply.body = std::move(*object);
  return reply;
}

Error read_error(const kube::ApiRequest& request, int code, const net::Headers& headers,
                 std::string_view body) {
  std::optional<Duration> retry_after;
  const std::string_view after = headers.get("Retry-After");
  const char* const last = after.data() + after.size();
  std::int64_t seconds = 0;
  const auto [end, problem] = std::from_chars(after.data(), last, seconds);
  // k8s 1.36: seconds only, never a date.
  if (!after.empty() && problem == std::errc() && end == last && seconds >= 0)
    retry_after = std::chrono::seconds(std::min(seconds, kLongestWait));
  Error error =
      kube::error_from_status(code, body, retry_after, request.verb == kube::Verb::kCreate);
  if (error.message.empty())
    error.message = fmt::format("{}: the server answered {}", describe(request), code);
  return error;
}

std::vector<std::string> read_warnings(const net::Headers& headers) {
  std::vector<std::string> out;
  for (const std::string_view header : headers.all("Warning")) {
    std::size_t at = 0;
    // One header may hold several: code, agent, quoted text, perhaps a quoted date.
    while (at < header.size() && out.size() < 100) {
      const bool ours = header.substr(at, 4) == "299 ";
      at = header.find('"', at);
      if (at == std::string_view::npos) break;
      std::string text;
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        if (header[at] == '\\' && at + 1 < header.size()) ++at;
        text.push_back(header[at]);
      }
      if (ours && !text.empty()) out.push_back(one_line(text));
      at = header.find(',', at);
      if (at == std::string_view::npos) break;
      at = header.find_first_not_of(", ", at);
    }
  }
  return out;
}

}  // namespace berth::client
