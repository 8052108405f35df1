// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/batchjob.h"

#include "controllers/batchjob/batchjob_run.h"
#include "controllers/pods.h"
#include "controllers/registry.h"
#include "controllers/slot_sight.h"
#include "kube/ours/batch_job_view.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language

// Pods are found by the grant they are of, jobs by the first part of their grants.
constexpr std::string_view kByGrantee = "grantee";
std::vector<std::string> grant_of_pod(const Object& pod) {
  std::string grant = pod.label(kube::kGrantLabel);
  return grant.empty() ? std::vector<std::string>() : std::vector<std::string>{std::move(grant)};
}
std::string without_run(std::string grant) { return grant.substr(0, grant.rfind('-')); }
std::vector<std::string> grantee(const Object& job) {
  return {without_run(slots::grant_id(job.uid(), 1))};
}

class BatchJobController final : public Controller {
 public:
  explicit BatchJobController(BatchJobOptions options) : options_(std::move(options)) {}

  Spec spec() const override {
    const kube::SlotKinds& kinds = *options_.kinds;
    Spec spec(options_.name);
    spec.reconciles(kinds.batch_job).reads(kinds.testbed).reads(kube::kNode);
    spec.index(kinds.batch_job, kByGrantee, &grantee)
        .index(kinds.batch_job, kByOrder, &order_of_job);
    spec.watches(
        kinds.ledger,
        each_state([&kinds](const View& view, const Object& ledger, std::vector<Key>& wake) {
          for (const Object* job : view.by_index(kinds.batch_job, kByOrder, ledger.key().text()))
            wake.push_back(job->key());
        }));
    spec.watches(
        kube::kPod,
        each_state([&kinds](const View& view, const Object& pod, std::vector<Key>& wake) {
          const std::string grant = pod.label(kube::kGrantLabel);
          if (grant.empty()) return;
          for (const Object* job : view.by_index(kinds.batch_job, kByGrantee, without_run(grant)))
            wake.push_back(job->key());
        }));
    spec.index(kube::kPod, kByGrant, &grant_of_pod).patches(kube::kPod).erases(kube::kPod);
    for (const JobKind& kind : options_.job_kinds) {
      const KindId application = application_kind(kind);
      spec.watches_if_served(application, owner_of(kinds.batch_job));
      spec.creates(application).erases(application);
      if (!kind.resize.empty()) spec.patches(application);
    }
    return spec.patches(kinds.batch_job).patches_status(kinds.batch_job).tells();
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* job = view.get(options_.kinds->batch_job, key);
    return job == nullptr ? Plan::done() : plan_batch_job(view, options_, *job, now);
  }

 private:
  BatchJobOptions options_;
};

}  // namespace

std::unique_ptr<runtime::Controller> make_batch_job_controller(BatchJobOptions options) {
  return std::make_unique<BatchJobController>(std::move(options));
}
std::unique_ptr<runtime::Controller> make_batch_job(const ControllerOptions& options) {
  return make_batch_job_controller(
      {.job_kinds = all_job_kinds(options.job_kinds), .executors = options.executors});
}
std::unique_ptr<runtime::Controller> make_batch_job_alias(const ControllerOptions& options) {
  return make_batch_job_controller({.name = "batchjob-alias-controller",
                                    .kinds = &kube::alias_kinds(),
                                    .job_kinds = all_job_kinds(options.job_kinds),
                                    .executors = options.executors});
}

}  // namespace berth::controllers
