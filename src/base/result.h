// SPDX-License-Identifier: Apache-2.0
// How fallible functions answer. Reasons carry the names that Kubernetes gives them, so that one
// table maps them to HTTP.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "base/time.h"

namespace berth {

enum class Reason : unsigned char {
  kUnknown,
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kNotAcceptable,
  kAlreadyExists,
  kConflict,
  kGone,
  kExpired,
  kRequestEntityTooLarge,
  kUnsupportedMediaType,
  kInvalid,
  kTooManyRequests,
  kInternalError,
  kServerTimeout,
  kServiceUnavailable,
  kTimeout,
  // Ours alone; these never come from a Status body.
  kUnreachable,  // no connection, or it broke
  kUntrusted,    // the other side could not prove who it is; asking again will not help
  kCancelled,    // the scope that asked has closed
};

// What is known about a request that failed.
enum class Outcome : unsigned char {
  kRefused,  // the other side answered and did nothing
  kNotSent,  // it never left
  kUnknown,  // it left, and no answer came: it may have been carried out
};

// One violated rule inside an error, with the path of the field it is about.
struct Cause {
  std::string reason;  // "FieldValueInvalid", "FieldManagerConflict", …
  std::string message;
  std::string field;  // "spec.containers[0].image"
  friend bool operator==(const Cause&, const Cause&) = default;
};

// What an error speaks of, where a server has to say it; empty members are left out.
struct About {
  std::string name = {}, group = {}, kind = {}, uid = {};
  std::string continue_token = {};  // how to go on with a list that expired
  std::string reason = {};          // as a webhook words it; Kubernetes may have no such name
};

struct Error {
  Reason reason = Reason::kUnknown;
  std::string message;
  std::optional<Duration> retry_after = {};
  Outcome outcome = Outcome::kRefused;
  std::vector<Cause> causes = {};
  int code = 0;                             // the HTTP code when one was received
  std::shared_ptr<const About> about = {};  // a server's own errors; else from the request
};

template <class T>
using Result = tl::expected<T, Error>;

// The value of a Result that has nothing to say but "it worked".
struct Ok {
  friend bool operator==(Ok, Ok) = default;
};

inline tl::unexpected<Error> fail(Reason reason, std::string message) {
  return tl::unexpected(Error{.reason = reason, .message = std::move(message)});
}
inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Reason::kInvalid, std::move(message));
}

std::string_view name_of(Reason);       // "NotFound"; "" for kUnknown
Reason reason_named(std::string_view);  // the inverse; kUnknown for names we do not know
int http_code_of(Reason);               // 404
Reason reason_of_http_code(
    int code);  // what a reply without a Status body means; 409 gives kConflict

}  // namespace berth
