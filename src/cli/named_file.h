// SPDX-License-Identifier: Apache-2.0
// Files that the command line names.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::cli {

// The whole of it. Where it cannot be read, the error says why and is one of usage.
Result<std::string> read_named_file(const std::string& path);

}  // namespace berth::cli
