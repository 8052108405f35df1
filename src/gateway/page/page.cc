// SPDX-License-Identifier: Apache-2.0
#include "gateway/page/page.h"

#include <cstdint>

#include <fmt/format.h>

#include "gateway/page/embedded.h"

namespace berth::gateway {
namespace {

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

// FNV-1a: only to tell one build's bytes from another's.
std::string etag(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("\"{:016x}\"", hash);
}

const std::string& excuse() {
  static const std::string html = fmt::format(
      "<!doctype html><title>Berth</title><p>This binary was built without the web page: {}.",
      left_out_because());
  return html;
}

}  // namespace

std::optional<PageFile> page_file(std::string_view path) {
  const std::string_view name = path.empty() ? "index.html" : path;
  if (!left_out_because().empty() && name == "index.html")
    return PageFile{content_type(name), excuse(), false, etag(excuse())};
  for (const EmbeddedFile& file : embedded_files())
    if (file.name == name) return PageFile{content_type(name), file.gzip, true, etag(file.gzip)};
  return std::nullopt;
}

std::string_view page_security_policy() {
  return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
         "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'";
}

}  // namespace berth::gateway
