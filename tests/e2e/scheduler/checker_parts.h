// SPDX-License-Identifier: Apache-2.0
// Between the files of the checker only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checker.h"
#include "json/slice.h"
#include "kube/label_selector.h"

namespace berth::e2e::checker {

struct NodeFacts {
  kube::Object object;
  std::string name;
  kube::LabelMap labels;
  json::Slice spec, status;
};

struct PodFacts {
  kube::Object object;
  std::string key, ns;
  kube::LabelMap labels;
  json::Slice spec;
  const NodeFacts* node = nullptr;  // null: not bound, or to a node that is not there
  bool leaving = false;             // has a deletionTimestamp
};

struct Facts {
  std::vector<NodeFacts> nodes;
  std::map<std::string, const NodeFacts*, std::less<>> node_by_name;
  std::vector<PodFacts> pods;  // finished ones left out: they hold nothing any more
  std::map<std::string, kube::LabelMap> namespaces;
  const ClusterState* state = nullptr;
  Verdict* verdict = nullptr;

  void violated(std::string kind, const PodFacts& pod, std::string what) const {
    verdict->violations.push_back(
        {std::move(kind), pod.key, pod.node != nullptr ? pod.node->name : "", std::move(what)});
  }
};

kube::LabelMap label_map(json::Slice);
// spec.nodeSelector and the required node affinity.
bool node_wanted(const PodFacts&, const NodeFacts&);
// Taints with NoSchedule or NoExecute that the pod does not tolerate; "" when there is none.
std::string untolerated_taint(const PodFacts&, const NodeFacts&);

void check_nodes(const Facts&);      // what a pod and its node say about each other
void check_affinity(const Facts&);   // between pods
void check_spreading(const Facts&);  // hard constraints only
void check_volumes(const Facts&);

}  // namespace berth::e2e::checker
