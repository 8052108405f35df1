// SPDX-License-Identifier: Apache-2.0
// A reader may ask for a revision that is still on its way.
#pragma once

#include "apiserver/serve/call.h"

namespace berth::apiserver {

// Goes on once the revision is published, at once if it is; else the call is refused with 504.
// `then` holds the call.
void when_there(Call&, kube::Revision, Task then);

}  // namespace berth::apiserver
