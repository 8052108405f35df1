// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

// The old way to bind a pod; pods/binding does the same.
KindRow binding() { return Kind("v1", "Binding", "bindings").request(); }

}  // namespace berth::apiserver
