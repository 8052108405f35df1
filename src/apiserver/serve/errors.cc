// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/errors.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/writer.h"

namespace berth::apiserver {

std::string resource_name(const kube::Kind& kind) {
  return kind.group.empty() ? kind.plural : fmt::format("{}.{}", kind.plural, kind.group);
}

namespace {

std::shared_ptr<const About> about_resource(const kube::Kind& kind, std::string_view name) {
  return std::make_shared<const About>(
      About{.name = std::string(name), .group = kind.group, .kind = kind.plural});
}

}  // namespace

Error not_found(const kube::Kind& kind, std::string_view name) {
  return {.reason = Reason::kNotFound,
          .message = fmt::format("{} {} not found", resource_name(kind), json::quoted(name)),
          .about = about_resource(kind, name)};
}

Error already_exists(const kube::Kind& kind, std::string_view name) {
  return {.reason = Reason::kAlreadyExists,
          .message = fmt::format("{} {} already exists", resource_name(kind), json::quoted(name)),
          .about = about_resource(kind, name)};
}

Error conflict(const kube::Kind& kind, std::string_view name, std::string_view why) {
  return {.reason = Reason::kConflict,
          .message = fmt::format("Operation cannot be fulfilled on {} {}: {}", resource_name(kind),
                                 json::quoted(name), why),
          .about = about_resource(kind, name)};
}

Error modified(const kube::Kind& kind, std::string_view name) {
  return conflict(kind, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Error storage_conflict(const kube::Kind& kind, const kube::Key& key, std::string_view why) {
  return conflict(kind, key.name,
                  fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}, "
                              "ResourceVersion: 0, AdditionalErrorMsg: {}",
                              kind.plural, key.text(), why));
}

Error uid_mismatch(const kube::Kind& kind, const kube::Key& key, std::string_view wanted,
                   std::string_view found) {
  return storage_conflict(
      kind, key,
      fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", wanted,
                  found));
}

Error bad_request(std::string message) {
  return {.reason = Reason::kBadRequest, .message = std::move(message)};
}

Error unknown_resource() {
  return {.reason = Reason::kNotFound,
          .message = "the server could not find the requested resource",
          .about = std::make_shared<const About>()};
}

Error not_allowed() {
  return {.reason = Reason::kMethodNotAllowed,
          .message = "the server does not allow this method on the requested resource",
          .about = std::make_shared<const About>()};
}

Error plain_error(std::string message) {
  return {.reason = Reason::kUnknown,
          .message = std::move(message),
          .code = 500,
          .about = std::make_shared<const About>()};
}

Error internal_error(std::string_view what) {
  return {.reason = Reason::kInternalError,
          .message = fmt::format("Internal error occurred: {}", what),
          .causes = {{"", std::string(what), ""}},
          .about = std::make_shared<const About>()};
}

Error unlike_a_list(Error error) {
  constexpr std::string_view kOfLists = "invalid resource version: ";
  if (!error.message.starts_with(kOfLists)) return error;
  return plain_error(error.message.substr(kOfLists.size()));
}

Error invalid_about(std::string_view kind, std::string_view group, std::string_view name,
                    std::vector<Cause> causes) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes)
    texts.push_back(fmt::format("{}: {}", cause.field, cause.message));
  const std::string all =
      texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
  return {.reason = Reason::kInvalid,
          .message = fmt::format("{}{}{} {} is invalid: {}", kind, group.empty() ? "" : ".", group,
                                 json::quoted(name), all),
          .causes = std::move(causes),
          .about = std::make_shared<const About>(About{
              .name = std::string(name), .group = std::string(group), .kind = std::string(kind)})};
}

void complete(Error& error, const kube::Kind& kind, std::string_view name) {
  if (error.about) return;
  // k8s 1.36: conflicts between managers speak of fields alone.
  if (error.reason == Reason::kConflict && !error.causes.empty()) {
    error.about = std::make_shared<const About>();
    return;
  }
  switch (error.reason) {
    case Reason::kNotFound:
    case Reason::kAlreadyExists:
    case Reason::kConflict:
    case Reason::kForbidden:
      error.about = about_resource(kind, name);
      break;
    case Reason::kInvalid:
      error.about = std::make_shared<const About>(
          About{.name = std::string(name), .group = kind.group, .kind = kind.kind});
      break;
    case Reason::kUnsupportedMediaType:
    case Reason::kNotAcceptable:
      break;  // k8s 1.36: only what routes requests gives these details
    default:
      error.about = std::make_shared<const About>();
      break;
  }
}

}  // namespace berth::apiserver
