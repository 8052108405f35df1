// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/definition_names.h"

#include <vector>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/definition_status.h"

namespace berth::apiserver {

void NamesInUse::add(Peek names) {
  for (const std::string_view field : {"plural", "singular"})
    resources.emplace(names[field].text());
  for (const json::Value& each : names["shortNames"].elements())
    resources.emplace(Peek(each).text());
  for (const std::string_view field : {"kind", "listKind"}) kinds.emplace(names[field].text());
}

namespace {

struct Verdict {
  std::string reason, message;  // "": all names are accepted
};

Verdict choose(Peek wanted, json::Dict& accepted, const NamesInUse& used) {
  Verdict out;
  const auto one = [&](std::string_view field, const auto& taken, std::string_view reason) {
    const std::string_view name = wanted[field].text();
    if (name != Peek(accepted)[field].text() && taken.contains(name)) {
      out = {std::string(reason), fmt::format("\"{}\" is already in use", name)};
      return;
    }
    accepted[bj(field)] = bj(name);
  };
  one("plural", used.resources, "PluralConflict");
  one("singular", used.resources, "SingularConflict");
  const Peek short_names = wanted["shortNames"];
  if (!same(short_names, Peek(accepted)["shortNames"])) {
    std::set<std::string_view> own;
    for (const json::Value& each : Peek(accepted)["shortNames"].elements())
      own.insert(Peek(each).text());
    std::vector<std::string> taken;
    for (const json::Value& each : short_names.elements())
      if (!own.contains(Peek(each).text()) && used.resources.contains(Peek(each).text()))
        taken.push_back(fmt::format("\"{}\" is already in use", Peek(each).text()));
    if (taken.empty()) {
      if (short_names)
        accepted["shortNames"] = *short_names.value();
      else
        json::erase(accepted, "shortNames");
    } else {
      out = {"ShortNamesConflict",
             taken.size() == 1 ? taken[0] : fmt::format("[{}]", fmt::join(taken, ", "))};
    }
  }
  one("kind", used.kinds, "KindConflict");
  one("listKind", used.kinds, "ListKindConflict");
  if (wanted["categories"])
    accepted["categories"] = *wanted["categories"].value();
  else
    json::erase(accepted, "categories");
  return out;
}

}  // namespace

void settle_names(Peek spec, json::Value& status, const NamesInUse& used, WallTime now) {
  if (!status.is_object()) status.emplace_object();
  const Peek wanted = spec["names"];
  if (!same(wanted, Peek(status)["acceptedNames"]) ||
      !definition_condition(Peek(status), "NamesAccepted")) {
    json::Dict& accepted = make_dict(status.get_object(), "acceptedNames");
    const Verdict verdict = choose(wanted, accepted, used);
    if (verdict.reason.empty())
      set_condition(status, {"NamesAccepted", true, "NoConflicts", "no conflicts found"}, now);
    else
      set_condition(status, {"NamesAccepted", false, verdict.reason, verdict.message}, now);
  }
  if (definition_has_condition(Peek(status), "Established")) return;
  if (definition_has_condition(Peek(status), "NamesAccepted"))
    set_condition(
        status,
        {"Established", true, "InitialNamesAccepted", "the initial names have been accepted"}, now);
  else
    set_condition(status, {"Established", false, "NotAccepted", "not all names are accepted"}, now);
}

}  // namespace berth::apiserver
