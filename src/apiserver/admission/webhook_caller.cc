// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/webhook_caller.h"

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {

void LocalWebhookCaller::call(const WebhookTarget& target, std::string review, Duration,
                              Done<std::string> done) {
  const auto found = handlers_.find(target.url);
  if (found == handlers_.end())
    return done(fail(Reason::kUnreachable,
                     fmt::format("Post {}: nobody listens there", json::quoted(target.url))));
  done(found->second(review));
}

}  // namespace berth::apiserver
