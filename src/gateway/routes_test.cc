// SPDX-License-Identifier: Apache-2.0
#include "gateway/routes.h"

#include <gmock/gmock.h>

namespace berth::gateway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Route open(std::string method, std::string path) {
  return {.method = std::move(method),
          .path = std::move(path),
          .entry = Entry::kOpen,
          .handle = [](Request, const kube::User&, Done<Reply>) {}};
}

Routes some() {
  Routes routes;
  routes.add(open("GET", "/{rest...}"));
  routes.add(open("GET", "/external/jobs"));
  routes.add(open("PUT", "/external/jobs/"));
  routes.add(open("GET", "/external/jobs/{name}"));
  routes.add(open("GET", "/external/jobs/all"));
  routes.add(open("GET", "/external/{kind}/{name}"));
  routes.add(open("DELETE", "/external/{kind}/{name}"));
  return routes;
}

std::string found(std::string_view method, std::string_view path) {
  const Routes routes = some();
  const Routes::Found found = routes.find(method, path);
  return found.route == nullptr ? "" : found.route->path;
}

TEST(Routes, TheClosestPathWins) {
  EXPECT_EQ(found("GET", "/external/jobs"), "/external/jobs");
  EXPECT_EQ(found("GET", "/external/jobs/all"), "/external/jobs/all");
  EXPECT_EQ(found("GET", "/external/jobs/a"), "/external/jobs/{name}");
  EXPECT_EQ(found("GET", "/external/testbeds/a"), "/external/{kind}/{name}");
  EXPECT_EQ(found("GET", "/"), "/{rest...}");
  EXPECT_EQ(found("GET", "/a/b/c"), "/{rest...}");
  EXPECT_EQ(found("HEAD", "/external/jobs"), "/external/jobs");
}

TEST(Routes, ESI_101_TheSlashAtTheEndIsAPathOfItsOwn) {
  EXPECT_EQ(found("PUT", "/external/jobs/"), "/external/jobs/");
  EXPECT_EQ(found("PUT", "/external/jobs"), "");
}

TEST(Routes, AnotherMethodsAreTold) {
  const Routes routes = some();
  EXPECT_THAT(routes.find("POST", "/external/jobs").methods, ElementsAre("GET"));
  EXPECT_THAT(routes.find("POST", "/external/x/y").methods, ElementsAre("GET", "DELETE"));
  Routes few;
  few.add(open("GET", "/a"));
  EXPECT_THAT(few.find("GET", "/b").methods, IsEmpty());
}

TEST(Routes, ValuesAreDecodedAfterThePathWasCut) {
  const Routes routes = some();
  EXPECT_THAT(routes.find("GET", "/external/jobs/a%2Fb").values, ElementsAre(Pair("name", "a/b")));
  EXPECT_THAT(routes.find("GET", "/x/y").values, ElementsAre(Pair("rest", "x/y")));
  EXPECT_EQ(routes.find("GET", "/external/jobs/%zz").route, nullptr);
  EXPECT_EQ(routes.find("GET", "/external/jobs/a%00b").route, nullptr);
}

TEST(Routes, ARightTakesItsNamesFromThePath) {
  const Access right =
      resolved({.verb = "get", .group = "g", .resource = "{kind}", .ns = "{ns}", .name = "{name}"},
               {{"ns", "default"}, {"name", "a"}, {"kind", "batchjobs"}});
  EXPECT_EQ(right.resource, "batchjobs");
  EXPECT_EQ(right.ns, "default");
  EXPECT_EQ(right.name, "a");
}

TEST(RoutesDeathTest, AMistakeInATableIsFoundAtOnce) {
  Routes routes;
  routes.add(open("GET", "/a"));
  EXPECT_DEATH(routes.add(open("GET", "/a")), "mounted once");
  Route reviewed = open("GET", "/b");
  reviewed.entry = Entry::kReviewed;
  EXPECT_DEATH(routes.add(reviewed), "has rights");
  reviewed.rights = {{.verb = "get", .resource = "pods", .ns = "{ns}"}};
  EXPECT_DEATH(routes.add(reviewed), "does not have");
}

}  // namespace
}  // namespace berth::gateway
