// SPDX-License-Identifier: Apache-2.0
// Sentences on terminals.
#pragma once

#include <cstddef>
#include <ostream>
#include <string_view>

namespace berth::cli {

// Breaks at spaces; every line begins with `indent` of them. A longer word has a line of its own.
void wrap(std::string_view text, std::size_t indent, std::size_t columns, std::ostream&);

}  // namespace berth::cli
