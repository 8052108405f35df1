// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace berth {
namespace {

struct Row {
  Reason reason;
  std::string_view name;
  int code;
};

// ServerTimeout is 500 on purpose: Kubernetes sends it so, with a Retry-After.
constexpr Row kRows[] = {
    {Reason::kBadRequest, "BadRequest", 400},
    {Reason::kUnauthorized, "Unauthorized", 401},
    {Reason::kForbidden, "Forbidden", 403},
    {Reason::kNotFound, "NotFound", 404},
    {Reason::kMethodNotAllowed, "MethodNotAllowed", 405},
    {Reason::kNotAcceptable, "NotAcceptable", 406},
    {Reason::kConflict, "Conflict", 409},
    {Reason::kAlreadyExists, "AlreadyExists", 409},
    {Reason::kGone, "Gone", 410},
    {Reason::kExpired, "Expired", 410},
    {Reason::kRequestEntityTooLarge, "RequestEntityTooLarge", 413},
    {Reason::kUnsupportedMediaType, "UnsupportedMediaType", 415},
    {Reason::kInvalid, "Invalid", 422},
    {Reason::kTooManyRequests, "TooManyRequests", 429},
    {Reason::kInternalError, "InternalError", 500},
    {Reason::kServerTimeout, "ServerTimeout", 500},
    {Reason::kServiceUnavailable, "ServiceUnavailable", 503},
    {Reason::kTimeout, "Timeout", 504},
    {Reason::kUnreachable, "Unreachable", 503},
    {Reason::kUntrusted, "Untrusted", 503},
    {Reason::kCancelled, "Cancelled", 499},
};

}  // namespace

std::string_view name_of(Reason reason) {
  for (const Row& row : kRows)
    if (row.reason == reason) return row.name;
  return "";
}

Reason reason_named(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.reason;
  return Reason::kUnknown;
}

int http_code_of(Reason reason) {
  for (const Row& row : kRows)
    if (row.reason == reason) return row.code;
  return 500;
}

Reason reason_of_http_code(int code) {
  for (const Row& row : kRows)
    if (row.code == code) return row.reason;
  return code >= 500 ? Reason::kInternalError : Reason::kUnknown;
}

}  // namespace berth
