// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/refusal.h"

#include <set>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::apiserver {

std::string resource_text(const kube::Kind& kind) {
  return kind.group.empty() ? kind.plural : kind.plural + "." + kind.group;
}

Error refusal(const AdmissionCall& call, std::string_view text) {
  const kube::Kind& kind = call.row.kind;
  std::string name = call.name;
  if (name.empty() && call.edit != nullptr)
    name = Peek(call.edit->metadata())["generateName"].text();
  if (name.empty()) name = "Unknown";
  return {.reason = Reason::kForbidden,
          .message =
              fmt::format("{} {} is forbidden: {}", resource_text(kind), json::quoted(name), text),
          .about = std::make_shared<const About>(
              About{.name = name, .group = kind.group, .kind = kind.plural})};
}

std::string aggregate_text(const std::vector<std::string>& problems) {
  std::string out;
  std::set<std::string_view> seen;
  for (const std::string& each : problems)
    if (seen.insert(each).second) out += (out.empty() ? "" : ", ") + each;
  return seen.size() > 1 ? "[" + out + "]" : out;
}

kube::Object written(AdmissionCall& call) {
  Result<kube::Object> object = kube::Object::parse(call.row.id, call.edit->text());
  BERTH_CHECK(object.has_value(), "what is being written has been decoded before");
  return std::move(*object);
}

std::vector<kube::Object> all_at_tip(const Store& store, kube::KindId kind, std::string_view ns) {
  auto page = store.list({.kind = kind, .range = {.ns = std::string(ns)}});
  if (!page) return {};
  std::vector<kube::Object> found;
  found.reserve(page->items.size());
  for (const kube::Object& item : page->items)
    if (const kube::Object* now = store.get(kind, KeyRef(item), View::kTip)) found.push_back(*now);
  return found;
}

}  // namespace berth::apiserver
