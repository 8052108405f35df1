// SPDX-License-Identifier: Apache-2.0
#include "lab/attach.h"

#include "lab/logs.h"
#include "lab/metrics_api.h"

namespace berth::lab {

void attach(apiserver::Server& server, Lab& lab, std::shared_ptr<const UsageRules> rules) {
  server.kinds().serve("metrics.k8s.io", metrics_kinds(lab, std::move(rules)));
  server.answer(kube::kPod, "log", [&lab](apiserver::Server::Question& question) {
    return answer_log(*question.object, question.request.raw_path, lab.wall());
  });
}

}  // namespace berth::lab
