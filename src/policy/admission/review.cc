// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/review.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "json/cursor.h"
#include "json/writer.h"

namespace berth::admission {
namespace {

constexpr std::string_view kVersion = "admission.k8s.io/v1";

tl::unexpected<Error> bad(std::string text) {
  return fail(Reason::kBadRequest, "AdmissionReview: " + std::move(text));
}

json::Slice or_absent(json::Slice given) { return given.is_object() ? given : json::Slice(); }

// k8s 1.36: cuts every warning at 256 characters, and all of them at 4096.
constexpr std::size_t kLongestWarning = 256, kMostWarnings = 16;

}  // namespace

Result<Review> read_review(std::string_view text) {
  if (const auto good = json::check(text); !good) return bad(good.error().message);
  const json::Slice review(text);
  if (!review.is_object()) return bad("not an object");
  if (!review["kind"].equals("AdmissionReview") || !review["apiVersion"].equals(kVersion))
    return bad(fmt::format("expected apiVersion {} and kind AdmissionReview, got {} and {}",
                           kVersion, json::quoted(review["apiVersion"].text()),
                           json::quoted(review["kind"].text())));
  const json::Slice request = review["request"];
  if (!request.is_object()) return bad("it has no request");
  Review out{.uid = request["uid"].text(),
             .group = request["resource"]["group"].text(),
             .resource = request["resource"]["resource"].text(),
             .subresource = request["subResource"].text(),
             .kind = request["kind"]["kind"].text(),
             .operation = request["operation"].text(),
             .ns = request["namespace"].text(),
             .name = request["name"].text(),
             .user = request["userInfo"]["username"].text(),
             .dry_run = request["dryRun"].boolean(),
             .object = or_absent(request["object"]),
             .old_object = or_absent(request["oldObject"])};
  if (out.uid.empty()) return bad("request.uid: required");
  if (out.resource.empty()) return bad("request.resource.resource: required");
  if (!out.creates() && !out.updates() && out.operation != "DELETE" && out.operation != "CONNECT")
    return bad(fmt::format("request.operation: {} is none", json::quoted(out.operation)));
  if ((out.creates() || out.updates()) && !out.object) return bad("request.object: required");
  if (out.updates() && !out.old_object) return bad("request.oldObject: required");
  return out;
}

std::string text_of(const std::vector<Cause>& causes) {
  std::string text;
  for (const Cause& cause : causes) {
    if (!text.empty()) text += "; ";
    text += cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  }
  return text;
}

std::string reply_json(const Review& review, const Verdict& verdict) {
  json::Writer w;
  w.object().member("kind").string("AdmissionReview").member("apiVersion").string(kVersion);
  w.member("response").object().member("uid").string(review.uid);
  w.member("allowed").boolean(verdict.allowed());
  if (!verdict.allowed()) {
    w.member("status").object().member("status").string("Failure");
    w.member("message").string(text_of(verdict.refusals));
    w.member("reason").string(name_of(verdict.reason));
    w.member("code").integer(http_code_of(verdict.reason));
    w.member("details").object();
    if (!review.name.empty()) w.member("name").string(review.name);
    if (!review.group.empty()) w.member("group").string(review.group);
    w.member("kind").string(review.kind).member("causes").array();
    for (const Cause& cause : verdict.refusals) {
      w.object().member("reason").string(cause.reason).member("message").string(cause.message);
      if (!cause.field.empty()) w.member("field").string(cause.field);
      w.end();
    }
    w.end().end().end();
  } else if (!verdict.patch.empty()) {
    w.member("patchType").string("JSONPatch").member("patch").string(base64(verdict.patch));
  }
  if (!verdict.warnings.empty()) {
    w.member("warnings").array();
    for (std::size_t i = 0; i < verdict.warnings.size() && i < kMostWarnings; ++i)
      w.string(verdict.warnings[i].substr(0, kLongestWarning));
    w.end();
  }
  w.end().end();
  return w.take();
}

}  // namespace berth::admission
