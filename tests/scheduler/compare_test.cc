// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/compare.h"

#include <gmock/gmock.h>

#include "lab.h"
#include "scheduler/cache/test_builders.h"

namespace berth::scheduler::stories {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PodPtr placed(const std::string& name, const std::string& node) {
  return test::PodBuilder(name).on(node).compile();
}
kube::Object listed(const std::string& name, const std::string& node) {
  return kube::Object::
      parse(kube::kPod,
            fmt::format(
                R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{0}"}},"spec":{{"nodeName":"{1}"}}}})",
                name, node))
          .value();
}
kube::Object listed_node(const std::string& name) {
  return kube::Object::parse(kube::kNode, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name))
      .value();
}

TEST(Comparing, NamesEveryKindOfDifference) {
  ClusterState cluster;
  for (const char* name : {"n1", "old"}) cluster.put_node(*Node::compile(listed_node(name), false));
  cluster.add_pod(placed("same", "n1"));
  cluster.add_pod(placed("gone", "n1"));
  cluster.add_pod(placed("moved", "n1"));
  cluster.add_pod(placed("unbound", "n1"));
  cluster.assume_pod(placed("assumed", "n1"));
  cluster.assume_pod(placed("stuck", "n1"));
  cluster.assume_pod(placed("nobodys", "n1"));
  cluster.assume_pod(placed("quick", "n1"));  // bound there, not yet told here
  const auto under_way = [](std::string_view uid) -> std::optional<Duration> {
    if (uid == "assumed") return 5s;
    if (uid == "stuck") return 45min;
    return std::nullopt;
  };
  EXPECT_THAT(differences(cluster, {listed_node("n1"), listed_node("new")},
                          {listed("same", "n1"), listed("moved", "n2"), listed("unbound", ""),
                           listed("assumed", ""), listed("stuck", ""), listed("nobodys", ""),
                           listed("quick", "n1"), listed("unknown", "n1"), listed("waiting", "")},
                          under_way),
              ElementsAre("node new is missing here", "node old is known here only",
                          "pod default/gone is known here only, on n1",
                          "pod default/moved is on n1 here and on n2 there",
                          "pod default/nobodys is assumed on n1 and nobody is binding it",
                          "pod default/stuck has been assumed on n1 for 45m0s",
                          "pod default/unbound is bound to n1 here and to none there",
                          "pod default/unknown on n1 is missing here"));
}

TEST(Comparing, ARunningSchedulerAgreesWithItsApiServer) {
  Lab lab;
  lab.node("n1");
  lab.pod("web");
  lab.run();
  std::optional<std::vector<std::string>> found;
  const auto keep = [&](const std::vector<std::string>& lines) { found = lines; };
  lab.replica.app->compare(keep);
  lab.run(10s);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(*found, IsEmpty());

  // What is only on its way is not reported.
  found.reset();
  lab.replica.app->compare(keep);
  lab.node("n2");
  lab.run(10s);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(*found, IsEmpty());
}

}  // namespace
}  // namespace berth::scheduler::stories
