// SPDX-License-Identifier: Apache-2.0
#include "controllers/pod_template.h"

#include <map>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"

namespace berth::controllers {

std::string canonical(json::Slice value) {
  if (value.is_null() || !value.present()) return "";
  if (value.is_array()) {
    std::string out;
    for (const json::Slice one : value.elements()) {
      const std::string text = canonical(one);
      out += (out.empty() ? "[" : ",") + (text.empty() ? "null" : text);
    }
    return out.empty() ? "" : out + "]";
  }
  if (value.is_string()) {
    std::string quoted;
    json::append_quoted(quoted, value.text());
    return quoted;
  }
  if (!value.is_object()) return std::string(value.raw());
  std::map<std::string, std::string> members;
  for (auto at = value.members().begin(); at != nullptr; ++at)
    if (std::string text = canonical((*at).value); !text.empty())
      members[std::string((*at).key)] = std::move(text);
  if (members.empty()) return "";
  json::Writer w;
  w.object();
  for (const auto& [name, text] : members) w.member(name).raw(text);
  w.end();
  return w.take();
}

std::string with_label(json::Slice pod_template, std::string_view label,
                       std::optional<std::string_view> value) {
  json::Writer w;
  w.object().member("metadata").object().member("labels").object();
  for (auto at = pod_template["metadata"]["labels"].members().begin(); at != nullptr; ++at)
    if ((*at).key != label) w.member((*at).key).raw((*at).value.raw());
  if (value) w.member(label).string(*value);
  w.end();
  for (auto at = pod_template["metadata"].members().begin(); at != nullptr; ++at)
    if ((*at).key != "labels") w.member((*at).key).raw((*at).value.raw());
  w.end();
  for (auto at = pod_template.members().begin(); at != nullptr; ++at)
    if ((*at).key != "metadata") w.member((*at).key).raw((*at).value.raw());
  w.end();
  return w.take();
}

bool same_template(json::Slice a, json::Slice b, std::string_view but_for_label) {
  const std::string one = with_label(a, but_for_label, std::nullopt);
  const std::string other = with_label(b, but_for_label, std::nullopt);
  return canonical(json::Slice(one)) == canonical(json::Slice(other));
}

std::string template_hash(json::Slice pod_template, std::int64_t collisions) {
  std::string text = canonical(pod_template);
  if (collisions > 0) text += fmt::format("#{}", collisions);
  return safe_hash(fnv32a(text));
}

}  // namespace berth::controllers
