// SPDX-License-Identifier: Apache-2.0
// The web page as files to be served: a script, a style sheet and what refers to them, compressed
// at build time. It loads nothing from elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::gateway {

// A value.
struct PageFile {
  std::string_view content_type;
  std::string_view bytes;
  bool gzip = false;  // send with Content-Encoding: gzip
  std::string etag;   // of these bytes
};

// `path` is relative to where the page is mounted; "" is its index. Names nothing: nullopt. Where
// the page was left out of the build the index says so and how to have it. Any thread.
std::optional<PageFile> page_file(std::string_view path);

// What a browser is told to hold the page to: nothing from elsewhere, no frames around it.
std::string_view page_security_policy();

}  // namespace berth::gateway
