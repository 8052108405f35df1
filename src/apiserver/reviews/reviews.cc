// SPDX-License-Identifier: Apache-2.0
#include "apiserver/reviews/reviews.h"

#include "apiserver/auth/user_info.h"
#include "apiserver/reviews/parts.h"
#include "kube/time.h"

namespace berth::apiserver {

Reply reply_of(kube::KindId kind, std::string members) {
  auto object = kube::Object::parse(kind, members);
  if (!object) return tl::unexpected(object.error());
  kube::ApiReply reply{.code = 201, .body = std::move(*object), .warnings = {}};
  return reply;
}

std::string raw(Peek value) {
  return value.value() == nullptr ? "{}" : json::print(*value.value());
}

Reply answer_token_review(const ReviewParts& parts, Question& question) {
  const Peek spec = Peek(question.posted)["spec"];
  if (spec["token"].text().empty())
    return fail(Reason::kBadRequest, "token is required for TokenReview in authentication");
  std::vector<std::string> audiences;
  for (const json::Value& each : spec["audiences"].elements())
    audiences.emplace_back(Peek(each).text());
  const auto known =
      parts.authenticator.review(spec["token"].text(), audiences, parts.clock.wall());
  json::Writer w;
  w.object().member("metadata").object().end().member("spec").raw(raw(spec));
  w.member("status").object();
  if (known) {
    w.member("authenticated").boolean(true).member("user");
    write_user_info(w, known->user);
    write_words(w, "audiences", known->audiences);
  } else {
    w.member("user").object().end().member("error").string(known.error().message);
  }
  w.end().end();
  return reply_of(kube::kTokenReview, w.take());
}

Reply answer_self_subject_review(const ReviewParts& parts, Question& question) {
  json::Writer w;
  w.object().member("metadata").object().member("creationTimestamp");
  w.string(kube::time_text(parts.clock.wall())).end();
  w.member("status").object().member("userInfo");
  write_user_info(w, question.request.user);
  w.end().end();
  return reply_of(kube::kSelfSubjectReview, w.take());
}

void register_reviews(Server& server, const ReviewParts& parts) {
  const auto with = [&](kube::KindId kind, Reply (*answer)(const ReviewParts&, Question&)) {
    server.answer(kind, "",
                  [parts, answer](Question& question) { return answer(parts, question); });
  };
  with(kube::kTokenReview, &answer_token_review);
  with(kube::kSelfSubjectReview, &answer_self_subject_review);
  with(kube::kSubjectAccessReview, &answer_access_review);
  with(kube::kLocalSubjectAccessReview, &answer_local_access_review);
  with(kube::kSelfSubjectAccessReview, &answer_self_access_review);
  with(kube::kSelfSubjectRulesReview, &answer_rules_review);
  server.answer(kube::kServiceAccount, "token",
                [parts, &server, random = parts.random](Question& question) mutable {
                  return answer_token_request(parts, server.store(), random, question);
                });
}

}  // namespace berth::apiserver
