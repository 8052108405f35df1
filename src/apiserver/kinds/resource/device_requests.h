// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/edit/edit.h"

namespace berth::apiserver {

// The defaults of requests for devices, in claims and in their templates.
void fill_devices(Edit&);

}  // namespace berth::apiserver
