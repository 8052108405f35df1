// SPDX-License-Identifier: Apache-2.0
// What we say we serve, against what the real server says about the same kinds.
#include "apiserver/discovery/discovery.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/kinds.h"
#include "golden_file.h"
#include "json/slice.h"

namespace berth::apiserver {
namespace {

std::vector<const KindRow*> rows() {
  std::vector<const KindRow*> out;
  for (const KindRow& row : built_in_kinds()) out.push_back(&row);
  return out;
}

// An object as text with its members in order, without what is only a hint.
std::string sorted(json::Slice value) {
  std::string out;
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const auto [key, member] : value.members())
      if (key != "storageVersionHash") members[std::string(key)] = sorted(member);
    for (const auto& [key, text] : members) out += key + ":" + text + ",";
    return "{" + out + "}";
  }
  if (value.is_array()) {
    for (const json::Slice each : value.elements()) out += sorted(each) + ",";
    return "[" + out + "]";
  }
  return std::string(value.raw());
}

class Discovery : public testing::Test {
 protected:
  std::vector<std::string> lines_ = golden_lines("discovery");
  json::Slice real_{lines_.at(0)};
  std::vector<const KindRow*> rows_ = rows();
};

TEST_F(Discovery, EachResourceIsListedAsByTheRealServer) {
  for (const auto [path, list] : real_["legacy"].members()) {
    if (path == "/api" || path == "/apis") continue;
    const std::string named = list["groupVersion"].text();
    const std::size_t slash = named.find('/');
    const std::string group = slash == std::string::npos ? "" : named.substr(0, slash);
    const std::string version = slash == std::string::npos ? named : named.substr(slash + 1);
    const std::optional<std::string> ours = api_resource_list(rows_, group, version);
    if (!ours) {
      EXPECT_EQ(group, "apiregistration.k8s.io") << "no such group";
      continue;
    }
    std::map<std::string, std::string> theirs;
    for (const json::Slice each : list["resources"].elements())
      theirs[each["name"].text()] = sorted(each);
    for (const json::Slice each : json::Slice(*ours)["resources"].elements())
      EXPECT_EQ(sorted(each), theirs[each["name"].text()]) << path;
  }
}

TEST_F(Discovery, GroupsComeInTheRealServersOrder) {
  std::vector<std::string> theirs, ours;
  const std::string list = api_group_list(rows_);
  for (const json::Slice group : json::Slice(list)["groups"].elements())
    ours.push_back(group["name"].text());
  for (const json::Slice group : real_["legacy"]["/apis"]["groups"].elements())
    if (std::find(ours.begin(), ours.end(), group["name"].text()) != ours.end())
      theirs.push_back(group["name"].text());
  EXPECT_EQ(ours, theirs);
}

TEST_F(Discovery, TheAggregatedDocumentSaysTheSame) {
  for (const Root root : {Root::kApi, Root::kApis}) {
    const std::string text = aggregated_discovery(rows_, root, "v2");
    const json::Slice ours(text);
    const json::Slice real = real_["aggregated"][root == Root::kApi ? "/api v2" : "/apis v2"];
    EXPECT_EQ(ours["apiVersion"].raw(), real["apiVersion"].raw());
    std::map<std::string, std::string> theirs;
    for (const json::Slice group : real["items"].elements())
      for (const json::Slice version : group["versions"].elements())
        for (const json::Slice resource : version["resources"].elements())
          theirs[group["metadata"]["name"].text() + "/" + version["version"].text() + "/" +
                 resource["resource"].text()] = sorted(resource);
    std::size_t seen = 0;
    for (const json::Slice group : ours["items"].elements())
      for (const json::Slice version : group["versions"].elements())
        for (const json::Slice resource : version["resources"].elements()) {
          const std::string name = group["metadata"]["name"].text() + "/" +
                                   version["version"].text() + "/" + resource["resource"].text();
          EXPECT_EQ(sorted(resource), theirs[name]) << name;
          ++seen;
        }
    EXPECT_GT(seen, root == Root::kApi ? 15U : 35U);
  }
}

TEST_F(Discovery, WhatIsNotServedIsNotListed) {
  EXPECT_FALSE(api_resource_list(rows_, "apps", "v1beta1").has_value());
  EXPECT_FALSE(api_resource_list(rows_, "example.com", "v1").has_value());
  EXPECT_FALSE(api_group(rows_, "example.com").has_value());
  EXPECT_TRUE(api_group(rows_, "apps").has_value());
}

TEST_F(Discovery, TheSameRowsGiveTheSameBytes) {
  EXPECT_EQ(aggregated_discovery(rows_, Root::kApis, "v2"),
            aggregated_discovery(rows(), Root::kApis, "v2"));
}

}  // namespace
}  // namespace berth::apiserver
