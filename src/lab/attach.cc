// SPDX-License-Identifier: Apache-2.0
#include "lab/attach.h"

#include "lab/logs.h"
#include "lab/metrics_api.h"

namespace berth::lab {

void attach(Scope& scope, apiserver::Server& server, Lab& lab,
            std::shared_ptr<const UsageRules> rules, IdleSigns signs) {
  server.kinds().serve("metrics.k8s.io", metrics_kinds(lab, std::move(rules)));
  server.answer(kube::kPod, "log", [&lab](apiserver::Server::Question& question) {
    return answer_log(*question.object, question.request.raw_path, lab.wall());
  });
  if (lab.options().heartbeat == Heartbeat::kOnDemand)
    server.on_look(kube::kLease, [&lab](const kube::ApiRequest& asked) -> std::shared_ptr<void> {
      if (!asked.ns.empty() && asked.ns != "kube-node-lease") return nullptr;
      // The garbage collector looks at every kind, and cares for nobody's heartbeat; who judges
      // nodes knows the silent ones from the lab.
      if (asked.user.inside && lab.options().every_node) return nullptr;
      lab.renew_due();
      return asked.verb == kube::Verb::kWatch ? lab.watch_leases() : nullptr;
    });
  const auto deeds = std::make_shared<Deeds>(scope, lab, server, std::move(signs));
  server.page("/lab/status", [deeds](const kube::ApiRequest&) { return deeds->status(); });
  server.deed("/lab/", [deeds](const kube::ApiRequest& asked, Done<kube::ApiReply> done) {
    deeds->perform(asked, std::move(done));
  });
}

}  // namespace berth::lab
