// SPDX-License-Identifier: Apache-2.0
#include "apiserver/discovery/discovery.h"

#include <algorithm>
#include <map>
#include <vector>

namespace berth::apiserver {
namespace {

struct Version {
  std::string_view name;
  std::vector<const KindRow*> rows;  // by resource
};
struct Group {
  std::string_view name;
  std::vector<Version> versions;
};

std::vector<Group> groups_of(Rows rows) {
  std::vector<Group> groups;
  for (const KindRow* row : rows) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.name == row->kind.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {row->kind.group, {}});
    auto version = std::find_if(group->versions.begin(), group->versions.end(),
                                [&](const Version& v) { return v.name == row->kind.version; });
    if (version == group->versions.end())
      version = group->versions.insert(group->versions.end(), {row->kind.version, {}});
    version->rows.push_back(row);
  }
  for (Group& group : groups)
    for (Version& version : group.versions)
      std::sort(version.rows.begin(), version.rows.end(),
                [](const KindRow* a, const KindRow* b) { return a->kind.plural < b->kind.plural; });
  return groups;
}

template <class Words>
void write_words(json::Writer& w, std::string_view member, const Words& words) {
  if (words.empty()) return;
  w.member(member).array();
  for (const std::string_view word : words) w.string(word);
  w.end();
}

void write_version(json::Writer& w, std::string_view group, std::string_view version) {
  w.object().member("groupVersion").string(std::string(group) + "/" + std::string(version));
  w.member("version").string(version).end();
}

void write_group(json::Writer& w, const Group& group) {
  w.member("name").string(group.name).member("versions").array();
  for (const Version& version : group.versions) write_version(w, group.name, version.name);
  w.end().member("preferredVersion");
  write_version(w, group.name, group.versions.front().name);
}

void write_resource(json::Writer& w, const KindRow& row) {
  w.object().member("name").string(row.kind.plural).member("singularName").string(row.singular);
  w.member("namespaced").boolean(row.kind.namespaced).member("kind").string(row.kind.kind);
  write_words(w, "verbs", row.verbs);
  write_words(w, "shortNames", row.short_names);
  write_words(w, "categories", row.categories);
  w.end();
  for (const Subresource& sub : row.subresources) {
    w.object().member("name").string(row.kind.plural + "/" + sub.name);
    w.member("singularName").string("").member("namespaced").boolean(row.kind.namespaced);
    if (!sub.group.empty()) w.member("group").string(sub.group);
    if (!sub.version.empty()) w.member("version").string(sub.version);
    w.member("kind").string(sub.kind);
    write_words(w, "verbs", sub.verbs);
    w.end();
  }
}

void write_response_kind(json::Writer& w, std::string_view group, std::string_view version,
                         std::string_view kind) {
  // k8s 1.36: empty where it is the resource's own.
  w.member("responseKind").object().member("group").string(group);
  w.member("version").string(version).member("kind").string(kind).end();
}

void write_aggregated(json::Writer& w, const KindRow& row) {
  w.object().member("resource").string(row.kind.plural);
  write_response_kind(w, "", "", row.kind.kind);
  w.member("scope").string(row.kind.namespaced ? "Namespaced" : "Cluster");
  w.member("singularResource").string(row.singular);
  write_words(w, "verbs", row.verbs);
  write_words(w, "shortNames", row.short_names);
  write_words(w, "categories", row.categories);
  if (!row.subresources.empty()) {
    w.member("subresources").array();
    for (const Subresource& sub : row.subresources) {
      w.object().member("subresource").string(sub.name);
      write_response_kind(w, sub.group, sub.version, sub.kind);
      write_words(w, "verbs", sub.verbs);
      w.end();
    }
    w.end();
  }
  w.end();
}

}  // namespace

std::string api_versions(std::string_view server_address) {
  json::Writer w;
  w.object().member("kind").string("APIVersions").member("versions").array().string("v1").end();
  w.member("serverAddressByClientCIDRs").array().object();
  w.member("clientCIDR").string("0.0.0.0/0").member("serverAddress").string(server_address);
  w.end().end().end();
  return w.take();
}

std::string api_group_list(Rows rows) {
  json::Writer w;
  w.object().member("kind").string("APIGroupList").member("apiVersion").string("v1");
  w.member("groups").array();
  for (const Group& group : groups_of(rows)) {
    if (group.name.empty()) continue;
    w.object();
    write_group(w, group);
    w.end();
  }
  w.end().end();
  return w.take();
}

std::optional<std::string> api_group(Rows rows, std::string_view name) {
  for (const Group& group : groups_of(rows)) {
    if (group.name != name || name.empty()) continue;
    json::Writer w;
    w.object().member("kind").string("APIGroup").member("apiVersion").string("v1");
    write_group(w, group);
    w.end();
    return w.take();
  }
  return std::nullopt;
}

std::optional<std::string> api_resource_list(Rows rows, std::string_view group,
                                             std::string_view version) {
  for (const Group& each : groups_of(rows)) {
    if (each.name != group) continue;
    for (const Version& found : each.versions) {
      if (found.name != version) continue;
      json::Writer w;
      w.object().member("kind").string("APIResourceList");
      if (!group.empty()) w.member("apiVersion").string("v1");
      w.member("groupVersion").string(found.rows.front()->kind.api_version());
      w.member("resources").array();
      for (const KindRow* row : found.rows) write_resource(w, *row);
      w.end().end();
      return w.take();
    }
  }
  return std::nullopt;
}

std::string aggregated_discovery(Rows rows, Root root, std::string_view version) {
  json::Writer w;
  w.object().member("kind").string("APIGroupDiscoveryList");
  w.member("apiVersion").string("apidiscovery.k8s.io/" + std::string(version));
  w.member("metadata").object().end().member("items").array();
  for (const Group& group : groups_of(rows)) {
    if (group.name.empty() != (root == Root::kApi)) continue;
    w.object().member("metadata").object();
    if (!group.name.empty()) w.member("name").string(group.name);
    w.end().member("versions").array();
    for (const Version& each : group.versions) {
      w.object().member("version").string(each.name).member("resources").array();
      for (const KindRow* row : each.rows) write_aggregated(w, *row);
      w.end().member("freshness").string("Current").end();
    }
    w.end().end();
  }
  w.end().end();
  return w.take();
}

}  // namespace berth::apiserver
