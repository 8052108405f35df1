// SPDX-License-Identifier: Apache-2.0
// How documents of a custom kind merge when they are applied, and how the kind is described to
// others, both from its schema.
#pragma once

#include <memory>
#include <string>

#include "apiserver/apply/layout.h"
#include "apiserver/kinds/extensions/structural.h"

namespace berth::apiserver {

std::shared_ptr<const Layout> custom_layout(const Structural&);

// The OpenAPI v3 schema as JSON, with what every object has.
std::string custom_open_api(const kube::Kind&, Peek schema);

}  // namespace berth::apiserver
