// SPDX-License-Identifier: Apache-2.0
#include "runtime/served_kinds.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "json/slice.h"

namespace berth::runtime {
namespace {

using Found = std::map<std::pair<std::string, std::string>, ServedKind>;  // group and plural

Result<Ok> collect(std::string_view text, Found& found, std::vector<std::string>& stale) {
  if (const auto good = json::check(text); !good) return tl::unexpected(good.error());
  const json::Slice document{text};
  if (!document["kind"].equals("APIGroupDiscoveryList"))
    return fail(Reason::kNotAcceptable,
                "the API server does not list its kinds in one document (aggregated discovery)");
  for (const json::Slice group : document["items"].elements()) {
    const std::string group_name = group["metadata"]["name"].text();
    // The preferred version comes first; a later one counts for what only it has.
    for (const json::Slice version : group["versions"].elements()) {
      const std::string version_name = version["version"].text();
      if (version["freshness"].equals("Stale"))
        stale.push_back(group_name.empty() ? version_name
                                           : fmt::format("{}/{}", group_name, version_name));
      for (const json::Slice resource : version["resources"].elements()) {
        std::string plural = resource["resource"].text();
        const auto [at, fresh] = found.try_emplace({group_name, plural});
        at->second.versions.push_back(version_name);
        if (!fresh) continue;
        for (const json::Slice verb : resource["verbs"].elements())
          at->second.verbs.insert(verb.text());
        for (const json::Slice part : resource["subresources"].elements())
          at->second.scales |=
              part["subresource"].equals("scale") && part["responseKind"]["kind"].equals("Scale");
        at->second.kind = kube::learn_kind({.group = group_name,
                                            .version = version_name,
                                            .kind = resource["responseKind"]["kind"].text(),
                                            .plural = std::move(plural),
                                            .namespaced = resource["scope"].equals("Namespaced")});
      }
    }
  }
  return Ok{};
}

}  // namespace

kube::ApiRequest discovery_request(std::string_view root) {
  kube::ApiRequest request;
  request.verb = kube::Verb::kRaw;
  request.raw_method = "GET";
  request.raw_path = root;
  request.accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  return request;
}

Result<ServedKinds> served_kinds(std::string_view api, std::string_view apis) {
  Found found;
  ServedKinds served;
  for (const std::string_view text : {api, apis})
    if (const auto good = collect(text, found, served.stale); !good)
      return tl::unexpected(good.error());
  for (auto& [name, kind] : found) served.kinds.push_back(std::move(kind));
  return served;
}

}  // namespace berth::runtime
