// SPDX-License-Identifier: Apache-2.0
// Reviews as an API server would send them, and verdicts as text.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "json/slice.h"
#include "policy/admission/webhooks.h"

namespace berth::admission {

struct Asked {
  std::string_view group = "", resource = "pods", kind = "Pod";
  std::string_view operation = "CREATE";
  std::string_view user = "jane";
  std::string object, old_object = "null";
  bool dry_run = false;
  std::string_view subresource = "";

  std::string text() const {
    return fmt::format(
        R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u-1",)"
        R"("kind":{{"group":"{0}","version":"v1","kind":"{2}"}},)"
        R"("resource":{{"group":"{0}","version":"v1","resource":"{1}"}},"subResource":"{8}",)"
        R"("name":"x","namespace":"team-a","operation":"{3}",)"
        R"("userInfo":{{"username":"{4}","groups":["system:authenticated"]}},)"
        R"("object":{5},"oldObject":{6},"dryRun":{7},"options":null}}}})",
        group, resource, kind, operation, user, object, old_object, dry_run, subresource);
  }
};

// "yes", "yes: <patch>" or "no: <what is wrong>"; warnings follow in brackets.
inline std::string verdict_text(std::string_view path, const Asked& asked,
                                const Surroundings& surroundings = {}) {
  const auto reply = answer(path, asked.text(), surroundings);
  if (!reply) return "error: " + reply.error().message;
  const json::Slice review(*reply), response = review["response"];
  EXPECT_EQ(response["uid"].text(), "u-1");
  EXPECT_EQ(review["kind"].text(), "AdmissionReview");
  std::string text;
  if (!response["allowed"].boolean())
    text = "no: " + response["status"]["message"].text();
  else if (response["patch"].present())
    text = "yes: " + from_base64(response["patch"].text()).value_or("?");
  else
    text = "yes";
  for (const json::Slice warning : response["warnings"].elements())
    text += " [" + warning.text() + "]";
  return text;
}

}  // namespace berth::admission
