// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/waiting.h"

namespace berth::apiserver {

void when_there(Call& call, kube::Revision revision, Task then) {
  Core& core = call.core;
  if (revision <= core.store.published()) return then();
  core.store.when_published(
      revision,
      core.scope.done<Ok>(core.options.revision_wait, [&call, revision, then = std::move(then)](
                                                          Result<Ok> come) mutable {
        if (!come) return call.answer(too_large_revision(revision, call.core.store.published()));
        then();
      }));
}

}  // namespace berth::apiserver
