// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/chain.h"

#include <utility>

namespace berth::apiserver {

namespace {

// For what is about to be made; k8s 1.36 waits as long for a namespace's default account.
constexpr Duration kWait = std::chrono::milliseconds(150);
constexpr int kMostWaits = 9;

}  // namespace

Chain::Chain(Call& of, Operation operation, std::string name, Edit* edit, const kube::Object& old,
             json::Value* posted)
    : call{.operation = operation,
           .row = *of.row,
           .request = of.request,
           .name = std::move(name),
           .edit = edit,
           .old = old,
           .posted = posted,
           .now = of.core.wall()},
      of_(of) {}

void Chain::finish(Then& then, Result<Ok> result) {
  for (std::string& warning : std::exchange(call.warnings, {}))
    of_.warnings.push_back(std::move(warning));
  then(std::move(result));
}

void Chain::mutate(Then then) {
  Admission& admission = of_.core.admission;
  for (const auto& step : admission.steps) {
    call.worth_waiting = false;
    Result<Ok> done = step->mutate(call);
    if (done) continue;
    if (!call.worth_waiting || ++patience_used_ > kMostWaits) return finish(then, std::move(done));
    // Steps may be asked twice: the second time changes nothing that the first has settled.
    waited_ = true;
    of_.core.scope.after(kWait,
                         [this, then = std::move(then)]() mutable { mutate(std::move(then)); });
    return;
  }
  if (admission.webhooks == nullptr || !admission.webhooks->mutates(call))
    return finish(then, Ok{});
  waited_ = true;
  admission.webhooks->mutate(
      call,
      of_.core.scope.done<Ok>(kNoLimit, [this, then = std::move(then)](Result<Ok> done) mutable {
        finish(then, std::move(done));
      }));
}

void Chain::validate(Then then) {
  Admission& admission = of_.core.admission;
  for (std::size_t i = 0; i + 1 < admission.steps.size(); ++i)
    if (Result<Ok> done = admission.steps[i]->validate(call); !done)
      return finish(then, std::move(done));
  if (admission.webhooks == nullptr || !admission.webhooks->validates(call))
    return finish_validation(then, Ok{});
  waited_ = true;
  admission.webhooks->validate(
      call,
      of_.core.scope.done<Ok>(kNoLimit, [this, then = std::move(then)](Result<Ok> done) mutable {
        finish_validation(then, std::move(done));
      }));
}

// The last step reserves what it allows, so it is asked when nobody else can refuse any more.
void Chain::finish_validation(Then& then, Result<Ok> done) {
  Admission& admission = of_.core.admission;
  if (done && !admission.steps.empty()) done = admission.steps.back()->validate(call);
  finish(then, std::move(done));
}

}  // namespace berth::apiserver
