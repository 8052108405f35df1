// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/continue_token.h"

#include <optional>

#include <fmt/format.h>

#include "base/base64.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

// Would path.Clean leave "/" + key alone? What it changes could reach above the list's own place.
bool clean(std::string_view key) {
  if (!key.empty() && key.front() == '/') key.remove_prefix(1);
  if (key.empty()) return false;
  for (;;) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    key.remove_prefix(slash + 1);
  }
}

tl::unexpected<Error> bad(std::string_view why) {
  return fail(Reason::kBadRequest,
              fmt::format("invalid continue token: continue key is not valid{}", why));
}

}  // namespace

std::string ContinueToken::text() const {
  json::Writer w;
  w.object().member("v").string("meta.k8s.io/v1").member("rv").integer(revision);
  w.member("start").string(start).end();
  return base64url(w.text());
}

Result<ContinueToken> ContinueToken::parse(std::string_view text) {
  const std::optional<std::string> bytes = from_base64url(text);
  if (!bytes) return bad(": illegal base64 data");
  json::Cursor cursor(*bytes, {.max_bytes = 64 << 10, .max_depth = 4});
  cursor.skip();
  if (!cursor.finish()) return bad(fmt::format(": {}", cursor.error().message));
  const json::Slice token(*bytes);
  if (!token.is_object()) return bad(": not an object");
  const json::Slice version = token["v"], revision = token["rv"], start = token["start"];
  if ((version.present() && !version.is_string()) || (start.present() && !start.is_string()) ||
      (revision.present() && !revision.integer()))
    return bad(": a member of the wrong type");
  if (!version.equals("meta.k8s.io/v1"))
    return bad(fmt::format(": server does not recognize this encoded version {}", version.text()));
  ContinueToken out{revision.integer().value_or(0), start.text()};
  if (out.revision == 0)
    return bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (out.start.empty()) return bad(": encoded start key empty (version meta.k8s.io/v1)");
  if (!clean(out.start)) return bad(fmt::format(": {}", out.start));
  if (out.start.front() == '/') out.start.erase(0, 1);
  return out;
}

}  // namespace berth::apiserver
