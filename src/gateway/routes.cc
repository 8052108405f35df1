// SPDX-License-Identifier: Apache-2.0
#include "gateway/routes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::gateway {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool is_brace(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }
bool is_rest(std::string_view part) { return is_brace(part) && part.ends_with("...}"); }
std::string_view inside(std::string_view part) {
  return part.substr(1, part.size() - (is_rest(part) ? 5 : 2));
}

// How well it fits, larger is better: compared from left to right.
char rank(std::string_view part) {
  if (is_rest(part)) return 'a';
  return is_brace(part) ? 'b' : 'c';
}

struct Match {
  std::string rank;
  Pairs values;
};

std::optional<Match> match(const std::vector<std::string>& pattern,
                           const std::vector<std::string>& path) {
  Match match;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    match.rank += rank(pattern[i]);
    if (is_rest(pattern[i])) {
      std::string rest;
      for (std::size_t j = i; j < path.size(); ++j) {
        if (j > i) rest += '/';
        rest += path[j];
      }
      match.values.emplace_back(inside(pattern[i]), std::move(rest));
      return match;
    }
    if (i >= path.size()) return std::nullopt;
    if (is_brace(pattern[i])) {
      if (path[i].empty()) return std::nullopt;
      match.values.emplace_back(inside(pattern[i]), path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  if (path.size() != pattern.size()) return std::nullopt;
  return match;
}

void fill(std::string& text, const Pairs& values) {
  if (!is_brace(text)) return;
  for (const auto& [name, value] : values)
    if (name == inside(text)) {
      text = value;
      return;
    }
}

void check_braces(const Route& route, const std::vector<std::string>& path) {
  for (const Access& right : route.rights)
    for (const std::string* text : {&right.ns, &right.name, &right.resource})
      BERTH_CHECK(!is_brace(*text) || std::find(path.begin(), path.end(), *text) != path.end(),
                  "a right names what its path does not have");
}

}  // namespace

std::string Request::value(std::string_view name) const {
  for (const auto& [key, text] : values)
    if (key == name) return text;
  return {};
}

std::optional<std::string> Request::asked(std::string_view name) const {
  for (const auto& [key, text] : query)
    if (key == name) return text;
  return std::nullopt;
}

void Routes::add(Route route) {
  std::vector<std::string> path = split(route.path);
  const bool has_rights = !route.rights.empty() || route.rights_of;
  BERTH_CHECK((route.entry == Entry::kReviewed) == has_rights,
              "a reviewed route has rights, others have none");
  BERTH_CHECK((route.handle ? 1 : 0) + (route.stream ? 1 : 0) + (route.socket ? 1 : 0) == 1,
              "a route has one handler");
  for (const auto& other : routes_)
    BERTH_CHECK(other->method != route.method || other->path != route.path,
                "a route is mounted once");
  check_braces(route, path);
  routes_.push_back(std::make_unique<const Route>(std::move(route)));
  segments_.push_back(std::move(path));
}

Routes::Found Routes::find(std::string_view method, std::string_view encoded) const {
  std::vector<std::string> path = split(encoded);
  for (std::string& part : path) {
    auto decoded = net::percent_decode(part);
    if (!decoded || decoded->find('\0') != std::string::npos) return {};
    part = std::move(*decoded);
  }
  Found found;
  std::string best;
  if (method == "HEAD") method = "GET";
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    auto fits = match(segments_[i], path);
    if (!fits || fits->rank < best) continue;
    if (fits->rank > best) {
      found = {};  // what fits less well does not count, whatever its method
      best = fits->rank;
    }
    found.methods.push_back(routes_[i]->method);
    if (routes_[i]->method != method) continue;
    found.route = routes_[i].get();
    found.values = std::move(fits->values);
  }
  return found;
}

Access resolved(const Access& right, const Pairs& values) {
  Access out = right;
  for (std::string* text : {&out.ns, &out.name, &out.resource}) fill(*text, values);
  return out;
}

}  // namespace berth::gateway
