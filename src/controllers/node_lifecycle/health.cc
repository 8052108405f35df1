// SPDX-License-Identifier: Apache-2.0
#include "controllers/node_lifecycle/health.h"

#include <algorithm>

#include "json/slice.h"
#include "json/writer.h"

namespace berth::controllers {
namespace {

std::optional<WallTime> heard(std::optional<Pulse::Mark>& mark, std::optional<WallTime> theirs,
                              WallTime now) {
  if (!theirs) {
    mark.reset();
    return std::nullopt;
  }
  // The first one, or a clock that was put back or far ahead: from here on it counts.
  if (!mark || *theirs < mark->theirs || mark->ours + (*theirs - mark->theirs) > now)
    mark = Pulse::Mark{*theirs, now};
  return mark->ours + (*theirs - mark->theirs);
}

void write(json::Writer& w, std::string_view name, const std::optional<Pulse::Mark>& mark) {
  if (!mark) return;
  w.member(name).array().integer(mark->theirs.unix_nanos).integer(mark->ours.unix_nanos).end();
}

std::optional<Pulse::Mark> read(json::Slice pair) {
  if (pair.size() != 2) return std::nullopt;
  return Pulse::Mark{{pair[std::size_t{0}].integer().value_or(0)},
                     {pair[std::size_t{1}].integer().value_or(0)}};
}

}  // namespace

WallTime Pulse::listen(std::optional<WallTime> renewed, std::optional<WallTime> posted,
                       WallTime otherwise, WallTime now) {
  const auto by_lease = heard(lease, renewed, now);
  const auto by_status = heard(status, posted, now);
  if (by_lease && by_status) return std::max(*by_lease, *by_status);
  return by_lease ? *by_lease : by_status.value_or(otherwise);
}

std::string Pulse::text() const {
  json::Writer w;
  w.object().member("uid").string(uid);
  write(w, "lease", lease);
  write(w, "status", status);
  w.end();
  return w.take();
}

Pulse Pulse::parse(std::string_view text) {
  const json::Slice document{text};
  return {document["uid"].text(), read(document["lease"]), read(document["status"])};
}

}  // namespace berth::controllers
