// SPDX-License-Identifier: Apache-2.0
// testdata/compiled.jsonl holds what the real code (kube-scheduler v1.36.4's PodInfo and NodeInfo,
// component-helpers' requests, declared features and zones) made of random pods and nodes.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {
namespace {

using Texts = std::vector<std::string>;

Texts texts(json::Slice list) {
  Texts out;
  for (const json::Slice one : list.elements()) out.push_back(one.text());
  return out;
}

Resources resources(json::Slice json) {
  const auto number = [&](std::string_view name) { return json[name].integer().value(); };
  Resources out{number("cpu"), number("memory"), number("disk"), {}};
  for (const auto& [name, amount] : json["scalars"].members())
    out.scalars.emplace_back(name, amount.integer().value());
  return out;
}

// As the program that recorded the answers printed a term.
Texts texts(const std::vector<AffinityTerm>& terms, const std::string& ns) {
  Texts out;
  for (const AffinityTerm& term : terms) {
    const Texts namespaces = term.own_namespace ? Texts{ns} : term.namespaces;
    const kube::LabelSelector chosen =
        term.namespace_selector.value_or(kube::LabelSelector::nothing());
    out.push_back(fmt::format("[{}]|{}|{}|{}|{}|{}|{}", fmt::join(namespaces, " "),
                              term.selector.text(), term.selector.everything(), chosen.text(),
                              chosen.everything(), term.topology_key, term.weight));
  }
  return out;
}

void check_pod(json::Slice row, PodCompiler& compiler) {
  const Result<PodPtr> made = compiler.compile(*kube::Object::parse(kube::kPod, row["pod"].raw()));
  ASSERT_TRUE(made) << made.error().message;
  const Pod& pod = **made;
  EXPECT_EQ(pod.used(), resources(row["used"]));
  EXPECT_EQ(pod.used_nonzero_millicores(), row["non0cpu"].integer());
  EXPECT_EQ(pod.used_nonzero_memory(), row["non0mem"].integer());
  EXPECT_EQ(pod.spec->asked, resources(row["asked"]));
  EXPECT_EQ(pod.spec->asked_nonzero, resources(row["askedNonzero"]));
  EXPECT_EQ(pod.spec->needed_features, texts(row["features"]));
  Texts ports;
  for (const HostPort& port : pod.spec->host_ports)
    ports.push_back(fmt::format("{} {} {}", port.ip, port.protocol, port.port));
  EXPECT_EQ(ports, texts(row["ports"]));
  const PodAffinity& affinity = pod.spec->affinity;
  EXPECT_EQ(affinity.error, row["error"].text());
  EXPECT_EQ(texts(affinity.required, pod.ns), texts(row["required"]));
  EXPECT_EQ(texts(affinity.required_anti, pod.ns), texts(row["requiredAnti"]));
  EXPECT_EQ(texts(affinity.preferred, pod.ns), texts(row["preferred"]));
  EXPECT_EQ(texts(affinity.preferred_anti, pod.ns), texts(row["preferredAnti"]));
}

void check_node(json::Slice row) {
  const Result<NodePtr> made = Node::compile(*kube::Object::parse(kube::kNode, row["node"].raw()));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->allocatable, resources(row["allocatable"]));
  EXPECT_EQ((*made)->allowed_pods, row["allocatable"]["pods"].integer());
  EXPECT_EQ((*made)->zone_key, row["zone"].text());
}

TEST(RealAnswers, OfKubeSchedulerAreOursToo) {
  PodCompiler compiler;
  int pods = 0, nodes = 0, resized = 0;
  std::ifstream file("src/scheduler/cache/testdata/compiled.jsonl");
  for (std::string line; std::getline(file, line);) {
    SCOPED_TRACE(line);
    const json::Slice row(line);
    if (row["pod"]) {
      check_pod(row, compiler);
      ++pods;
      resized += row["used"].raw() != row["asked"].raw();
    } else {
      check_node(row);
      ++nodes;
    }
  }
  EXPECT_GE(pods, 240);
  EXPECT_GE(nodes, 60);
  EXPECT_GE(resized, 30);
}

}  // namespace
}  // namespace berth::scheduler
