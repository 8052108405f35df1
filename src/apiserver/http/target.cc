// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/target.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {
namespace {

using Parts = std::span<const std::string_view>;

// Without the slashes around it; nothing where a part is empty.
std::vector<std::string_view> split(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string_view> parts;
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty()) return {};
    parts.push_back(part);
    if (part.size() == path.size()) return parts;
    path.remove_prefix(part.size() + 1);
  }
}

// k8s 1.36: IsPathSegmentName.
std::string mistake_in(std::string_view name) {
  if (name == "." || name == "..") return fmt::format("may not be '{}'", name);
  if (name.find('%') != std::string_view::npos) return "may not contain '%'";
  return "";
}

bool is_below_group(const Kinds& kinds, std::string_view path) {
  if (path.starts_with("/api/")) return true;
  constexpr std::string_view kApis = "/apis/";
  if (!path.starts_with(kApis)) return false;
  path.remove_prefix(kApis.size());
  const std::string_view group = path.substr(0, path.find('/'));
  return group.size() < path.size() &&
         std::any_of(kinds.rows().begin(), kinds.rows().end(),
                     [&](const KindRow* row) { return !row->custom && row->kind.group == group; });
}

bool is_namespace_subresource(std::string_view part) {
  return part == "status" || part == "finalize";
}

}  // namespace

Target find_target(const Kinds& kinds, std::string_view path) {
  const Target none{.below_group = is_below_group(kinds, path)};
  const std::vector<std::string_view> all = split(path);
  Parts parts = all;
  if (parts.size() < 2 || (parts[0] != "api" && parts[0] != "apis")) return none;
  std::string_view group;
  if (parts[0] == "apis") {
    group = parts[1];
    parts = parts.subspan(1);
  }
  if (parts.size() < 2) return none;
  const std::string_view version = parts[1];
  parts = parts.subspan(2);
  if (parts.empty() || !kinds.serves(group, version)) return none;

  Target target;
  if (parts[0] == "watch") {
    target.watched = true;
    parts = parts.subspan(1);
    if (parts.empty()) return none;
  }
  bool in_namespace = false;
  const bool further = parts.size() > 2 && !is_namespace_subresource(parts[2]);
  if (parts[0] == "namespaces" && further) {
    in_namespace = true;
    target.ns = parts[1];
    parts = parts.subspan(2);
  }
  target.row = kinds.find(group, version, parts[0]);
  if (target.row == nullptr || parts.size() > 3 || !mistake_in(target.ns).empty()) return none;
  if (parts.size() > 1) target.name = parts[1];
  if (parts.size() > 2) target.subresource = parts[2];
  const bool namespaced = target.row->kind.namespaced;
  if (in_namespace && !namespaced) return none;
  if (namespaced && !in_namespace && !target.name.empty()) return none;
  if (!target.subresource.empty() &&
      (target.watched || target.row->subresource(target.subresource) == nullptr))
    return none;
  if (const std::string mistake = mistake_in(target.name); !mistake.empty())
    target.mistake =
        fmt::format("Name parameter invalid: {}: {}", json::quoted(target.name), mistake);
  return target;
}

}  // namespace berth::apiserver
