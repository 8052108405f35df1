// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gateway/routes.h"

namespace berth::gateway {

// The page at /ui/, and the way there from /.
void mount_page(Routes&);

}  // namespace berth::gateway
