// SPDX-License-Identifier: Apache-2.0
// Whatever is posted to the webhooks is refused as no review, or answered: the reply is JSON, names
// the review, and a refusal says why.
#include <cstdint>
#include <string_view>

#include "base/base64.h"
#include "base/check.h"
#include "json/patch.h"
#include "policy/admission/webhooks.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  admission::Surroundings surroundings;
  surroundings.ordinary.polite = size % 2 == 0;
  surroundings.reserved.granted = [size](std::string_view, std::string_view) {
    return size % 3 == 0;
  };
  for (const std::string& path : admission::webhook_paths()) {
    const auto reply = admission::answer(path, in, surroundings);
    const auto review = admission::read_review(in);
    BERTH_CHECK(reply.has_value() == review.has_value());
    if (!reply) {
      BERTH_CHECK(!reply.error().message.empty());
      continue;
    }
    BERTH_CHECK(json::check(*reply).has_value(), *reply);
    const json::Slice response = json::Slice(*reply)["response"];
    BERTH_CHECK(response["uid"].text() == review->uid);
    const bool allowed = response["allowed"].boolean();
    BERTH_CHECK(allowed || !response["status"]["message"].text().empty());
    const json::Slice patch = response["patch"];
    if (!patch) continue;
    // It can be applied to what was posted.
    BERTH_CHECK(allowed && (path == "/ordinary-priority" || path == "/executors"));
    const auto text = from_base64(patch.text());
    BERTH_CHECK(text && json::json_patch(review->object.raw(), *text).has_value());
  }
  return 0;
}
