// SPDX-License-Identifier: Apache-2.0
// Subresources through which one part of a spec is written and nothing else: the finalizers of a
// namespace, ephemeral containers and the resources of a pod.
#pragma once

#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {

void begin_finalize(const KindRow&, Edit&);
void begin_ephemeral(const KindRow&, Edit&);
Findings check_ephemeral(Edit&);
void begin_resize(const KindRow&, Edit&);
Findings check_resize(Edit&);

}  // namespace berth::apiserver
