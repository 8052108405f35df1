// SPDX-License-Identifier: Apache-2.0
// What the build put into the binary.
#pragma once

#include <span>
#include <string_view>

namespace berth::gateway {

struct EmbeddedFile {
  std::string_view name;
  std::string_view gzip;  // compressed
};

std::span<const EmbeddedFile> embedded_files();
std::string_view left_out_because();  // "": the page is there

}  // namespace berth::gateway
