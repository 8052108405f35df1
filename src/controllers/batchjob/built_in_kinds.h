// SPDX-License-Identifier: Apache-2.0
// The files of kinds/, as they were when this was built.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace berth::controllers {

extern const std::span<const std::pair<std::string_view, std::string_view>>
    kBuiltInKinds;  // name, text

}  // namespace berth::controllers
