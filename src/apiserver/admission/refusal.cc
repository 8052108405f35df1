// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/refusal.h"

#include <set>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::apiserver {

namespace {

Error refused(const kube::Kind& kind, std::string_view name, std::string_view text) {
  return {.reason = Reason::kForbidden,
          .message =
              fmt::format("{} {} is forbidden: {}", resource_text(kind), json::quoted(name), text),
          .about = std::make_shared<const About>(
              About{.name = std::string(name), .group = kind.group, .kind = kind.plural})};
}

}  // namespace

std::string resource_text(const kube::Kind& kind) {
  return kind.group.empty() ? kind.plural : kind.plural + "." + kind.group;
}

Error refusal(const AdmissionCall& call, std::string_view text) {
  return refused(call.row.kind, call.name.empty() ? "Unknown" : std::string_view(call.name), text);
}

Error early_refusal(AdmissionCall& call, std::string_view text) {
  if (call.operation == Operation::kCreate && call.edit != nullptr) {
    const std::string_view base = Peek(call.edit->metadata())["generateName"].text();
    if (!base.empty() && call.name.size() == base.size() + 5 && call.name.starts_with(base))
      return refused(call.row.kind, base, text);
  }
  return refusal(call, text);
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
