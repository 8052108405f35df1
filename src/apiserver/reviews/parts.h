// SPDX-License-Identifier: Apache-2.0
// What the answers of this folder are made with.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/edit/peek.h"
#include "apiserver/reviews/reviews.h"
#include "json/writer.h"

namespace berth::apiserver {

using Question = Server::Question;
using Reply = Result<kube::ApiReply>;

Reply answer_token_review(const ReviewParts&, Question&);
Reply answer_self_subject_review(const ReviewParts&, Question&);
Reply answer_access_review(const ReviewParts&, Question&);  // SubjectAccessReview
Reply answer_local_access_review(const ReviewParts&, Question&);
Reply answer_self_access_review(const ReviewParts&, Question&);
Reply answer_rules_review(const ReviewParts&, Question&);
Reply answer_token_request(const ReviewParts&, Store&, Random&, Question&);

// A document of that kind from its members, which the writer has begun after kind and apiVersion.
Reply reply_of(kube::KindId, std::string members);
void write_user_info(json::Writer&, const kube::User&);  // an object
void write_words(json::Writer&, std::string_view key, const std::vector<std::string>&);
std::string raw(Peek);  // as JSON; "{}" when absent

}  // namespace berth::apiserver
