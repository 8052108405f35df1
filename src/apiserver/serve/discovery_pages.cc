// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "apiserver/discovery/discovery.h"
#include "apiserver/serve/pages.h"

namespace berth::apiserver {
namespace {

// Which aggregated form the caller takes, if it comes before the plain one; "": the plain one.
std::string_view aggregated_version(std::string_view accept) {
  while (!accept.empty()) {
    const std::size_t end = std::min(accept.find(','), accept.size());
    const std::string_view one = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    if (one.find("as=APIGroupDiscoveryList") == std::string_view::npos) {
      if (one.find("json") != std::string_view::npos || one.find("*/*") != std::string_view::npos)
        return "";
      continue;
    }
    if (one.find("json") == std::string_view::npos) continue;
    if (one.find("v=v2beta1") != std::string_view::npos) return "v2beta1";
    if (one.find("v=v2") != std::string_view::npos) return "v2";
  }
  return "";
}

struct Written {
  std::string text;
  std::string type = "application/json";
};

std::optional<Written> write(const Core& core, const Kinds& kinds, std::string_view path,
                             std::string_view aggregated) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const Rows rows = kinds.rows();
  if (path == "/api" || path == "/apis") {
    const bool api = path == "/api";
    if (!aggregated.empty())
      return Written{
          aggregated_discovery(rows, api ? Root::kApi : Root::kApis, aggregated),
          fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                      aggregated)};
    return Written{api ? api_versions(core.options.address) : api_group_list(rows)};
  }
  std::optional<std::string> found;
  if (path.starts_with("/api/")) {
    found = api_resource_list(rows, "", path.substr(5));
  } else if (path.starts_with("/apis/")) {
    path.remove_prefix(6);
    const std::size_t slash = path.find('/');
    found = slash == std::string_view::npos
                ? api_group(rows, path)
                : api_resource_list(rows, path.substr(0, slash), path.substr(slash + 1));
  }
  if (!found) return std::nullopt;
  return Written{std::move(*found)};
}

}  // namespace

std::optional<kube::ApiReply> discovery(Core& core, std::string_view path,
                                        std::string_view accept) {
  const std::shared_ptr<const Kinds> kinds = core.kinds.now();
  DiscoveryCache& cache = core.discovery;
  if (cache.edition != kinds->edition()) cache = {.edition = kinds->edition()};
  const std::string_view aggregated = aggregated_version(accept);
  const std::string key = fmt::format("{} {}", path, aggregated);
  auto found = cache.pages.find(key);
  if (found == cache.pages.end()) {
    std::optional<Written> made = write(core, *kinds, path, aggregated);
    if (!made) return std::nullopt;
    found = cache.pages.emplace(key, std::pair(std::move(made->text), std::move(made->type))).first;
  }
  kube::ApiReply reply;
  reply.body = found->second.first;
  reply.content_type = found->second.second;
  return reply;
}

}  // namespace berth::apiserver
