// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/chain.h"

#include <utility>

namespace berth::apiserver {

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
  for (const auto& step : admission.steps)
    if (Result<Ok> done = step->mutate(call); !done) return finish(then, std::move(done));
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
  for (const auto& step : admission.steps)
    if (Result<Ok> done = step->validate(call); !done) return finish(then, std::move(done));
  if (admission.webhooks == nullptr || !admission.webhooks->validates(call))
    return finish(then, Ok{});
  waited_ = true;
  admission.webhooks->validate(
      call,
      of_.core.scope.done<Ok>(kNoLimit, [this, then = std::move(then)](Result<Ok> done) mutable {
        finish(then, std::move(done));
      }));
}

}  // namespace berth::apiserver
