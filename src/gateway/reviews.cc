// SPDX-License-Identifier: Apache-2.0
#include "gateway/reviews.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::gateway {
namespace {

void strings(json::Writer& out, std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.member(key).array();
  for (const std::string& text : texts) out.string(text);
  out.end();
}

void text(json::Writer& out, std::string_view key, const std::string& value) {
  if (!value.empty()) out.member(key).string(value);
}

std::vector<std::string> strings(json::Slice list) {
  std::vector<std::string> texts;
  for (const json::Slice one : list.elements()) texts.push_back(one.text());
  return texts;
}

kube::ApiRequest create(kube::KindId kind, std::string json) {
  kube::ApiRequest request;
  request.verb = kube::Verb::kCreate;
  request.kind = kind;
  request.body.bytes = std::make_shared<const std::string>(std::move(json));
  return request;
}

Error not_asked(std::string_view what, const Error& why) {
  if (why.reason == Reason::kForbidden)
    return {
        .reason = Reason::kInternalError,
        .message = fmt::format("the gateway may not ask the API server {}: {}", what, why.message)};
  return {.reason = Reason::kServiceUnavailable,
          .message = fmt::format("the API server could not be asked {}: {}", what, why.message),
          .retry_after = 1s};
}

const kube::Object* object_in(const Result<kube::ApiReply>& reply) {
  return reply ? std::get_if<kube::Object>(&reply->body) : nullptr;
}

}  // namespace

kube::ApiRequest token_review(const std::string& token, const std::vector<std::string>& audiences) {
  json::Writer out;
  out.object().member("apiVersion").string("authentication.k8s.io/v1");
  out.member("kind").string("TokenReview").member("spec").object();
  out.member("token").string(token);
  strings(out, "audiences", audiences);
  out.end().end();
  return create(kube::kTokenReview, out.take());
}

kube::ApiRequest access_review(const kube::User& user, const Access& access) {
  json::Writer out;
  out.object().member("apiVersion").string("authorization.k8s.io/v1");
  out.member("kind").string("SubjectAccessReview").member("spec").object();
  text(out, "user", user.name);
  text(out, "uid", user.uid);
  strings(out, "groups", user.groups);
  if (!user.extra.empty()) {
    out.member("extra").object();
    for (const auto& [key, values] : user.extra) strings(out, key, values);
    out.end();
  }
  if (!access.path.empty()) {
    out.member("nonResourceAttributes").object();
    text(out, "path", access.path);
    text(out, "verb", access.verb);
    out.end().end().end();
    return create(kube::kSubjectAccessReview, out.take());
  }
  out.member("resourceAttributes").object();
  text(out, "namespace", access.ns);
  text(out, "verb", access.verb);
  text(out, "group", access.group);
  text(out, "resource", access.resource);
  text(out, "subresource", access.subresource);
  text(out, "name", access.name);
  out.end().end().end();
  return create(kube::kSubjectAccessReview, out.take());
}

Result<std::optional<kube::User>> reviewed_user(const Result<kube::ApiReply>& reply,
                                                const std::vector<std::string>& audiences) {
  if (!reply) return tl::unexpected(not_asked("who you are", reply.error()));
  const kube::Object* object = object_in(reply);
  if (object == nullptr) return fail(Reason::kInternalError, "a TokenReview came back empty");
  const json::Slice status = object->status();
  if (!status["authenticated"].boolean()) return std::nullopt;
  // A server that knows no audiences says none, and then the token may be meant for others.
  if (!audiences.empty()) {
    const auto meant = strings(status["audiences"]);
    if (std::none_of(meant.begin(), meant.end(), [&](const std::string& one) {
          return std::find(audiences.begin(), audiences.end(), one) != audiences.end();
        }))
      return std::nullopt;
  }
  const json::Slice said = status["user"];
  kube::User user{.name = said["username"].text(),
                  .uid = said["uid"].text(),
                  .groups = strings(said["groups"])};
  for (const auto [key, values] : said["extra"].members())
    user.extra[std::string(key)] = strings(values);
  if (user.name.empty()) return std::nullopt;
  return user;
}

Result<AccessVerdict> reviewed_access(const Result<kube::ApiReply>& reply) {
  if (!reply) return tl::unexpected(not_asked("what you may do", reply.error()));
  const kube::Object* object = object_in(reply);
  if (object == nullptr)
    return fail(Reason::kInternalError, "a SubjectAccessReview came back empty");
  const json::Slice status = object->status();
  return AccessVerdict{status["allowed"].boolean() && !status["denied"].boolean(),
                       status["reason"].text()};
}

}  // namespace berth::gateway
