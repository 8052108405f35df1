// SPDX-License-Identifier: Apache-2.0
#include "apiserver/auth/policy_rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "json/writer.h"

namespace berth::apiserver {

namespace {

using Words = std::vector<std::string>;

Words words(json::Slice list) {
  Words out;
  for (const json::Slice each : list.elements()) out.push_back(each.text());
  return out;
}
Words words(Peek list) {
  Words out;
  for (const json::Value& each : list.elements()) out.emplace_back(Peek(each).text());
  return out;
}
template <class Source>
PolicyRule read(Source rule) {
  return {.verbs = words(rule["verbs"]),
          .groups = words(rule["apiGroups"]),
          .resources = words(rule["resources"]),
          .names = words(rule["resourceNames"]),
          .urls = words(rule["nonResourceURLs"])};
}

bool has(const Words& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}
bool has_or_star(const Words& list, std::string_view one) {
  for (const std::string& each : list)
    if (each == "*" || each == one) return true;
  return false;
}

// "pods/status" is covered by itself, by "*", and by "*/status".
bool names_resource(const Words& list, std::string_view resource, std::string_view sub) {
  for (const std::string_view each : list) {
    if (each == "*") return true;
    if (sub.empty()) {
      if (each == resource) return true;
      continue;
    }
    if (each.size() <= sub.size() || !each.ends_with(sub)) continue;
    const std::string_view before = each.substr(0, each.size() - sub.size());
    if (before.back() != '/') continue;
    if (before == "*/" || before.substr(0, before.size() - 1) == resource) return true;
  }
  return false;
}

bool url_covers(std::string_view rule, std::string_view path) {
  if (rule == path) return true;
  if (!rule.ends_with('*')) return false;
  while (rule.ends_with('*')) rule.remove_suffix(1);
  return path.starts_with(rule);
}

// `part` has one verb, one group and resource and at most one name, or one verb and one path.
bool covers(const PolicyRule& rule, const PolicyRule& part) {
  if (!has_or_star(rule.verbs, part.verbs.front())) return false;
  if (!part.urls.empty())
    return rule.names.empty() &&
           std::any_of(rule.urls.begin(), rule.urls.end(),
                       [&](const std::string& url) { return url_covers(url, part.urls.front()); });
  if (!has_or_star(rule.groups, part.groups.front())) return false;
  const std::string_view resource = part.resources.front();
  const std::size_t slash = resource.find('/');
  const bool named = has(rule.resources, "*") || has(rule.resources, resource) ||
                     (slash != std::string_view::npos &&
                      has(rule.resources, "*" + std::string(resource.substr(slash))));
  if (!named) return false;
  return rule.names.empty() || (!part.names.empty() && has(rule.names, part.names.front()));
}

std::vector<PolicyRule> broken_down(const PolicyRule& rule) {
  std::vector<PolicyRule> parts;
  for (const std::string& group : rule.groups)
    for (const std::string& resource : rule.resources)
      for (const std::string& verb : rule.verbs) {
        if (rule.names.empty())
          parts.push_back({.verbs = {verb}, .groups = {group}, .resources = {resource}});
        for (const std::string& name : rule.names)
          parts.push_back(
              {.verbs = {verb}, .groups = {group}, .resources = {resource}, .names = {name}});
      }
  for (const std::string& url : rule.urls)
    for (const std::string& verb : rule.verbs) parts.push_back({.verbs = {verb}, .urls = {url}});
  return parts;
}

std::string text(const PolicyRule& rule) {
  std::string out = "{";
  const auto add = [&](std::string_view name, const Words& list) {
    if (list.empty()) return;
    if (out.size() > 1) out += ", ";
    (out += name) += ":[";
    for (const std::string& each : list) {
      if (out.back() != '[') out += ' ';
      out += json::quoted(each);
    }
    out += ']';
  };
  add("APIGroups", rule.groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.urls);
  add("ResourceNames", rule.names);
  add("Verbs", rule.verbs);
  return out + "}";
}

}  // namespace

PolicyRule rule_from(json::Slice rule) { return read(rule); }
PolicyRule rule_from(Peek rule) { return read(rule); }

bool allows_but_for_name(const PolicyRule& rule, const Attributes& wants) {
  if (!has_or_star(rule.verbs, wants.verb)) return false;
  if (!wants.path.empty())
    return std::any_of(rule.urls.begin(), rule.urls.end(),
                       [&](const std::string& url) { return url_covers(url, wants.path); });
  return has_or_star(rule.groups, wants.group) &&
         names_resource(rule.resources, wants.resource, wants.subresource);
}

bool allows_name(const PolicyRule& rule, std::string_view name) {
  return rule.names.empty() || has(rule.names, name);
}

std::vector<PolicyRule> missing_rights(const std::vector<PolicyRule>& held,
                                       const std::vector<PolicyRule>& wanted) {
  std::vector<PolicyRule> missing;
  for (const PolicyRule& rule : wanted)
    for (PolicyRule& part : broken_down(rule))
      if (std::none_of(held.begin(), held.end(),
                       [&](const PolicyRule& own) { return covers(own, part); }))
        missing.push_back(std::move(part));
  return missing;
}

std::string rights_text(const std::vector<PolicyRule>& parts) {
  using Place = std::tuple<Words, Words, Words>;
  std::map<Place, PolicyRule> by_resource;
  std::set<std::string> lines;
  for (const PolicyRule& part : parts) {
    if (!part.urls.empty()) {
      lines.insert(text(part));
      continue;
    }
    auto [at, fresh] = by_resource.try_emplace({part.groups, part.resources, part.names}, part);
    if (!fresh)
      at->second.verbs.insert(at->second.verbs.end(), part.verbs.begin(), part.verbs.end());
  }
  for (const auto& [place, rule] : by_resource) lines.insert(text(rule));
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

}  // namespace berth::apiserver
