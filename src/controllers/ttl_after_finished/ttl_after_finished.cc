// SPDX-License-Identifier: Apache-2.0
// Removes finished Jobs once their time to live is over.
#include "kube/job_view.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language

class TtlAfterFinished final : public Controller {
 public:
  Spec spec() const override {
    return Spec("ttl-after-finished-controller").reconciles(kube::kJob).erases(kube::kJob);
  }

  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* found = view.get(kube::kJob, key);
    if (found == nullptr || found->deleting()) return Plan::done();
    const kube::JobView job(*found);
    const auto ttl = job.ttl();
    const auto finished = job.finished_at();
    if (!ttl || !finished) return Plan::done();
    const WallTime due = *finished + *ttl;
    if (now < due) return Plan().again_at(due);
    // k8s 1.36: dependents before the Job itself.
    return Plan().erase(*found, kube::Propagation::kForeground);
  }
};

}  // namespace

std::unique_ptr<Controller> make_ttl_after_finished() {
  return std::make_unique<TtlAfterFinished>();
}

}  // namespace berth::controllers
