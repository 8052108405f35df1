// SPDX-License-Identifier: Apache-2.0
// Whatever a webhook answers is either understood or refused with a reason.
#include <cstdint>
#include <string_view>

#include "apiserver/admission/webhook.h"
#include "base/check.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  for (const char* version : {"v1", "v1beta1"})
    for (const bool mutating : {true, false}) {
      apiserver::Webhook hook;
      hook.name = "hook.example.com";
      hook.review_version = version;
      const auto verdict = apiserver::verdict_of(hook, in, "uid", mutating);
      if (!verdict) {
        BERTH_CHECK(!verdict.error().message.empty());
        continue;
      }
      BERTH_CHECK(verdict->allowed || verdict->denial.code >= 400);
      BERTH_CHECK(verdict->allowed || !verdict->denial.message.empty());
      BERTH_CHECK(mutating || verdict->patch.empty());
    }
  return 0;
}
