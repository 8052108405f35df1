// SPDX-License-Identifier: Apache-2.0
// A node object as the scheduler knows it: compiled once when it arrives, then never changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "kube/taint.h"
#include "scheduler/cache/labels.h"
#include "scheduler/cache/resources.h"

namespace berth::scheduler {

struct NodeImage {
  std::string name;  // as listed; an image has several
  std::int64_t bytes = 0;
  friend bool operator==(const NodeImage&, const NodeImage&) = default;
};

// Immutable; thread-safe.
struct Node {
  std::string name, uid;
  kube::Revision revision = 0;
  LabelsPtr labels;
  Resources allocatable;
  std::int64_t allowed_pods = 0;
  bool unschedulable = false;
  std::vector<kube::Taint> taints;
  std::vector<NodeImage> images;
  std::vector<std::string> declared_features;     // sorted
  std::map<std::string, std::string> conditions;  // type -> status
  Labels annotations;
  std::string zone_key;   // region and zone, as the order of nodes uses it
  kube::Object document;  // kept only where asked

  static Result<std::shared_ptr<const Node>> compile(const kube::Object&,
                                                     bool keep_document = false);
};
using NodePtr = std::shared_ptr<const Node>;

}  // namespace berth::scheduler
