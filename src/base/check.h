// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace berth {
// Prints the place and the message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               std::string_view message);
}  // namespace berth

// For what must never happen. Always on: a crash that names its place beats running on with wrong
// state.
#define BERTH_CHECK(condition, ...)                                                         \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::berth::check_failed(__FILE__, __LINE__, #condition, std::string_view{__VA_ARGS__}); \
  } while (false)
