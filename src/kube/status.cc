// SPDX-License-Identifier: Apache-2.0
#include "kube/status.h"

#include <fmt/format.h>

#include "json/cursor.h"
#include "json/writer.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMostPlainText = 2'048;  // of a body that is no Status; as client-go cuts it

// Control characters would tear a log line apart.
std::string one_line(std::string_view text) {
  std::string out(text.substr(0, kMostPlainText));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  const std::size_t end = out.find_last_not_of(' ');
  out.erase(end == std::string::npos ? 0 : end + 1);
  return out;
}

Reason reason_of_code(int code, bool was_post) {
  if (code == 409 && was_post) return Reason::kAlreadyExists;
  return reason_of_http_code(code);
}

// k8s 1.36: errors of these reasons have details, be there anything to say in them or not.
bool speaks_of_nothing(Reason reason) {
  return reason == Reason::kNotFound || reason == Reason::kMethodNotAllowed ||
         reason == Reason::kForbidden || reason == Reason::kInvalid ||
         reason == Reason::kUnsupportedMediaType || reason == Reason::kNotAcceptable;
}

bool is_status(json::Slice slice) { return slice.is_object() && slice["kind"].equals("Status"); }

}  // namespace

Error error_from_status(json::Slice status) {
  Error error;
  error.code = static_cast<int>(status["code"].integer().value_or(0));
  error.reason = reason_named(status["reason"].text());
  if (error.reason == Reason::kUnknown) error.reason = reason_of_http_code(error.code);
  error.message = status["message"].text();
  const json::Slice details = status["details"];
  for (const json::Slice cause : details["causes"].elements())
    error.causes.push_back(
        {cause["reason"].text(), cause["message"].text(), cause["field"].text()});
  constexpr std::int64_t kLongest = 86'400;
  if (const auto seconds = details["retryAfterSeconds"].integer(); seconds && *seconds > 0)
    error.retry_after = std::chrono::seconds(std::min(*seconds, kLongest));
  return error;
}

Error error_from_status(int http_code, std::string_view body,
                        std::optional<Duration> retry_after_header, bool was_post) {
  Error error;
  const json::Slice slice(body);
  if (json::check(body) && is_status(slice)) {
    error = error_from_status(slice);
    if (slice["reason"].text().empty()) error.reason = reason_of_code(http_code, was_post);
  } else {
    error.reason = reason_of_code(http_code, was_post);
    error.message = one_line(body);
  }
  error.code = http_code;
  if (error.message.empty())
    error.message = fmt::format("the server answered {} {}", http_code, name_of(error.reason));
  if (retry_after_header) error.retry_after = retry_after_header;
  return error;
}

std::string status_json(const Error& error, const About& request) {
  const About& about = error.about ? *error.about : request;
  json::Writer w;
  w.object().member("kind").string("Status").member("apiVersion").string("v1");
  w.member("metadata").object();
  if (!about.continue_token.empty()) w.member("continue").string(about.continue_token);
  w.end();
  w.member("status").string("Failure").member("message").string(error.message);
  const bool own = !about.reason.empty();
  const std::string_view reason = own ? std::string_view(about.reason) : name_of(error.reason);
  if (!reason.empty()) w.member("reason").string(reason);
  const bool routed = error.about && !own && speaks_of_nothing(error.reason);
  const bool any = routed || !about.name.empty() || !about.group.empty() || !about.kind.empty() ||
                   !about.uid.empty() || !error.causes.empty() || error.retry_after;
  if (any) {
    w.member("details").object();
    if (!about.name.empty()) w.member("name").string(about.name);
    if (!about.group.empty()) w.member("group").string(about.group);
    if (!about.kind.empty()) w.member("kind").string(about.kind);
    if (!about.uid.empty()) w.member("uid").string(about.uid);
    if (!error.causes.empty()) {
      w.member("causes").array();
      for (const Cause& cause : error.causes) {
        w.object();
        if (!cause.reason.empty()) w.member("reason").string(cause.reason);
        if (!cause.message.empty()) w.member("message").string(cause.message);
        if (!cause.field.empty()) w.member("field").string(cause.field);
        w.end();
      }
      w.end();
    }
    if (error.retry_after)
      w.member("retryAfterSeconds")
          .integer(std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count());
    w.end();
  }
  w.member("code").integer(error.code != 0 ? error.code : http_code_of(error.reason)).end();
  return w.take();
}

}  // namespace berth::kube
