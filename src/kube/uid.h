// SPDX-License-Identifier: Apache-2.0
// Identifiers of objects: random UUIDs (RFC 9562, version 4).
#pragma once

#include <string>

#include "base/random.h"

namespace berth::kube {

std::string random_uid(Random&);

}  // namespace berth::kube
