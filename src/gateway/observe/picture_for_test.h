// SPDX-License-Identifier: Apache-2.0
// A small cluster as a Snapshot, from manifests in a few words.
#pragma once

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gateway/observe/tap.h"
#include "kube/kind.h"
#include "scheduler/cache/cluster_state.h"

namespace berth::gateway {

class TestPicture {
 public:
  TestPicture() {
    snapshot.cluster = std::make_unique<scheduler::ClusterState>();
    snapshot.time = {.unix_nanos = std::int64_t{1'700'000'000} * 1'000'000'000};
  }
  static kube::Object object(kube::KindId kind, const std::string& json) {
    Result<kube::Object> made = kube::Object::parse(kind, json);
    EXPECT_TRUE(made) << made.error().message << "\n" << json;
    return *made;
  }
  // `spec`: members of the node's spec.
  kube::Object node(const std::string& name, int cpu, const std::string& spec = "",
                    const std::string& zone = "a") {
    kube::Object made = object(
        kube::kNode,
        fmt::format(
            R"({{"metadata":{{"name":"{}","uid":"{}","creationTimestamp":"2023-11-14T21:13:20Z","labels":{{"topology.kubernetes.io/zone":"{}","kubernetes.io/hostname":"{}"}}}},)"
            R"("spec":{{{}}},"status":{{"allocatable":{{"cpu":"{}","memory":"8Gi","pods":"10"}},"conditions":[{{"type":"Ready","status":"True"}}],"nodeInfo":{{"kubeletVersion":"v1.36.4"}}}}}})",
            name, name, zone, name, spec, cpu));
    auto compiled = scheduler::Node::compile(made);
    EXPECT_TRUE(compiled);
    snapshot.cluster->put_node(*compiled);
    return made;
  }
  // `spec`: further members of the pod's spec.
  static kube::Object pod(const std::string& name, const std::string& cpu,
                          const std::string& spec = "") {
    return object(
        kube::kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{}","namespace":"d","uid":"u-{}"}},"spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"c","image":"i:1","resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}}}}]{}{}}}}})",
            name, name, cpu, spec.empty() ? "" : ",", spec));
  }
  void run(const std::string& name, const std::string& cpu, const std::string& on) {
    auto compiled = compiler_.compile(pod(name, cpu, fmt::format(R"("nodeName":"{}")", on)));
    EXPECT_TRUE(compiled);
    snapshot.cluster->add_pod(*compiled);
  }

  Snapshot snapshot;

 private:
  scheduler::PodCompiler compiler_;
};

}  // namespace berth::gateway
