// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Pod, by name. Look-ups scan the bytes; whoever asks often compiles
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/object.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class PodView {
 public:
  explicit PodView(Object pod)
      : pod_(std::move(pod)), spec_(pod_.member("spec")), status_(pod_.status()) {}

  const Object& object() const { return pod_; }
  json::Slice spec() const { return spec_; }
  json::Slice status() const { return status_; }

  std::string node_name() const { return spec_["nodeName"].text(); }
  bool assigned() const { return !node_name().empty(); }
  std::string nominated_node_name() const { return status_["nominatedNodeName"].text(); }
  std::string scheduler_name() const {
    std::string name = spec_["schedulerName"].text();
    return name.empty() ? "default-scheduler" : name;
  }
  std::int32_t priority() const {
    return static_cast<std::int32_t>(spec_["priority"].integer().value_or(0));
  }
  bool never_preempts() const { return spec_["preemptionPolicy"].equals("Never"); }
  bool host_network() const { return spec_["hostNetwork"].boolean(); }
  json::Slice containers() const { return spec_["containers"]; }
  json::Slice init_containers() const { return spec_["initContainers"]; }
  json::Slice tolerations() const { return spec_["tolerations"]; }
  json::Slice affinity() const { return spec_["affinity"]; }
  json::Slice node_selector() const { return spec_["nodeSelector"]; }
  json::Slice topology_spread_constraints() const { return spec_["topologySpreadConstraints"]; }
  json::Slice volumes() const { return spec_["volumes"]; }
  bool gated() const { return spec_["schedulingGates"].size() > 0; }

  std::string phase() const {
    std::string phase = status_["phase"].text();
    return phase.empty() ? "Pending" : phase;
  }
  // It needs nothing of its node any more.
  bool finished() const {
    const json::Slice phase = status_["phase"];
    return phase.equals("Succeeded") || phase.equals("Failed");
  }
  json::Slice condition(std::string_view type) const;  // absent where there is none

 private:
  Object pod_;
  json::Slice spec_, status_;
};

// The element of status.conditions of that type; absent where there is none.
json::Slice find_condition(json::Slice status, std::string_view type);

inline json::Slice PodView::condition(std::string_view type) const {
  return find_condition(status_, type);
}

}  // namespace berth::kube
