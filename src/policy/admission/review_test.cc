// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/review.h"

#include <gmock/gmock.h>

#include "policy/admission/reviews_for_test.h"

namespace berth::admission {
namespace {

using testing::HasSubstr;

TEST(AdmissionReview, IsReadWithItsDocuments) {
  const std::string text = Asked{.operation = "UPDATE",
                                 .object = R"({"a":1})",
                                 .old_object = R"({"a":0})",
                                 .dry_run = true}
                               .text();
  const auto review = read_review(text);
  ASSERT_TRUE(review) << review.error().message;
  EXPECT_EQ(review->uid, "u-1");
  EXPECT_EQ(review->resource, "pods");
  EXPECT_EQ(review->user, "jane");
  EXPECT_EQ(review->ns, "team-a");
  EXPECT_TRUE(review->updates());
  EXPECT_TRUE(review->dry_run);
  EXPECT_EQ(review->object["a"].integer(), 1);
  EXPECT_EQ(review->old_object["a"].integer(), 0);
}

TEST(AdmissionReview, ThatIsNoneIsRefusedWithAReason) {
  struct Row {
    const char* name;
    const char* text;
    const char* why;
  };
  const Row rows[] = {
      {"no JSON", "{", "line 1"},
      {"no object", "[]", "not an object"},
      {"another kind", R"({"kind":"Status","apiVersion":"v1"})", "expected apiVersion"},
      {"an older version",
       R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{}})",
       "admission.k8s.io/v1beta1"},
      {"no request", R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})",
       "no request"},
      {"no uid", R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})",
       "request.uid"},
      {"no operation",
       R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","resource":{"resource":"pods"}}})",
       "request.operation"},
      {"nothing to create",
       R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","object":null,"resource":{"resource":"pods"}}})",
       "request.object"},
      {"nothing before an update",
       R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE","object":{},"resource":{"resource":"pods"}}})",
       "request.oldObject"},
  };
  for (const Row& row : rows) {
    const auto review = read_review(row.text);
    ASSERT_FALSE(review) << row.name;
    EXPECT_EQ(review.error().reason, Reason::kBadRequest) << row.name;
    EXPECT_THAT(review.error().message, HasSubstr(row.why)) << row.name;
  }
}

TEST(AdmissionReview, RefusalsCarryPathsAndTheCodeOfTheirReason) {
  const std::string text = Asked{.object = "{}"}.text();
  const auto review = read_review(text);
  ASSERT_TRUE(review);
  const std::string reply =
      reply_json(*review, {.refusals = {{"FieldValueInvalid", "why", "spec.a"}, {"", "that", ""}},
                           .reason = Reason::kInvalid,
                           .patch = "[]",
                           .warnings = {std::string(1000, 'w')}});
  const json::Slice response = json::Slice(reply)["response"];
  EXPECT_FALSE(response["allowed"].boolean(true));
  EXPECT_FALSE(response["patch"].present()) << "what is refused is not changed";
  EXPECT_EQ(response["status"]["code"].integer(), 422);
  EXPECT_EQ(response["status"]["reason"].text(), "Invalid");
  EXPECT_EQ(response["status"]["message"].text(), "spec.a: why; that");
  EXPECT_EQ(response["status"]["details"]["causes"][std::size_t{0}]["field"].text(), "spec.a");
  EXPECT_EQ(response["warnings"][std::size_t{0}].text().size(), 256u);
}

TEST(AdmissionReview, IsAnsweredAtKnownPathsOnly) {
  const auto reply = answer("/elsewhere", Asked{.object = "{}"}.text(), {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().reason, Reason::kNotFound);
}

}  // namespace
}  // namespace berth::admission
