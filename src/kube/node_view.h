// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Node, by name.
#pragma once

#include <string>

#include "kube/object.h"
#include "kube/pod_view.h"
#include "kube/resource_list.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class NodeView {
 public:
  explicit NodeView(Object node)
      : node_(std::move(node)), spec_(node_.member("spec")), status_(node_.status()) {}

  const Object& object() const { return node_; }
  bool unschedulable() const { return spec_["unschedulable"].boolean(); }
  bool ready() const { return find_condition(status_, "Ready")["status"].equals("True"); }
  json::Slice taints() const { return spec_["taints"]; }
  json::Slice images() const { return status_["images"]; }
  json::Slice addresses() const { return status_["addresses"]; }
  std::string zone() const { return node_.label("topology.kubernetes.io/zone"); }
  std::string provider_id() const { return spec_["providerID"].text(); }

  Result<ResourceList> capacity() const {
    return parse_resource_list(status_["capacity"], "status.capacity");
  }
  // Where a node does not state what is allocatable, all of its capacity is: the kubelet does the
  // same.
  Result<ResourceList> allocatable() const {
    const json::Slice stated = status_["allocatable"];
    return stated ? parse_resource_list(stated, "status.allocatable") : capacity();
  }

 private:
  Object node_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
