// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Testbed, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/object.h"
#include "kube/resource_list.h"
#include "kube/time.h"

namespace berth::kube {

inline constexpr std::string_view kDefaultSlotClass = "default";

struct SlotClass {
  std::string name;
  int per_node = 0;
  std::string node_label;  // its own, on top of the Testbed's; "": none
  ResourceList size;
};
struct IdlePolicy {
  Duration after{};
  int shrink_to = 0;
};
struct SlotQuota {
  std::string ns;  // "*": every other one
  std::optional<int> max_slots, max_grants;
};

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class TestbedView {
 public:
  explicit TestbedView(Object testbed)
      : testbed_(std::move(testbed)), spec_(testbed_.member("spec")), status_(testbed_.status()) {}

  const Object& object() const { return testbed_; }
  json::Slice status() const { return status_; }
  std::string node_label() const { return spec_["nodeLabel"].text(); }
  bool shared() const { return spec_["sharing"].equals("Shared"); }

  // The default class first. A size that is no quantity cannot be stored.
  std::vector<SlotClass> classes() const {
    std::vector<SlotClass> all;
    if (spec_["slotsPerNode"]) all.push_back(one_class(spec_, std::string(kDefaultSlotClass), ""));
    for (const json::Slice each : spec_["classes"].elements())
      all.push_back(one_class(each, each["name"].text(), each["nodeLabel"].text()));
    return all;
  }
  std::optional<IdlePolicy> idle_policy() const {
    const json::Slice policy = spec_["idlePolicy"];
    const auto after = parse_duration(policy["after"].text());
    if (!policy || !after) return std::nullopt;
    return IdlePolicy{*after, static_cast<int>(policy["shrinkTo"].integer().value_or(0))};
  }
  std::vector<SlotQuota> quotas() const {
    std::vector<SlotQuota> all;
    for (const json::Slice each : spec_["quotas"].elements())
      all.push_back({each["namespace"].text(), small(each["maxSlots"]), small(each["maxGrants"])});
    return all;
  }
  std::optional<WallTime> idle_since() const { return parse_time(status_["idleSince"].text()); }
  // How many slots are held where it is idle-shrunk.
  std::optional<int> held() const { return small(status_["held"]); }

 private:
  static std::optional<int> small(json::Slice number) {
    const auto value = number.integer();
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
  }
  static SlotClass one_class(json::Slice from, std::string name, std::string node_label) {
    return {
        std::move(name), small(from["slotsPerNode"]).value_or(0), std::move(node_label),
        parse_resource_list(from["resourcesPerSlot"], "resourcesPerSlot").value_or(ResourceList{})};
  }
  Object testbed_;
  json::Slice spec_, status_;
};

}  // namespace berth::kube
