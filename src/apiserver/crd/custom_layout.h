// SPDX-License-Identifier: Apache-2.0
// How documents of a custom kind merge when they are applied, from its schema.
#pragma once

#include <memory>

#include "apiserver/apply/layout.h"
#include "apiserver/kinds/extensions/structural.h"

namespace berth::apiserver {

std::shared_ptr<const Layout> custom_layout(const Structural&);

}  // namespace berth::apiserver
