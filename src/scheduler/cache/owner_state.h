// SPDX-License-Identifier: Apache-2.0
// What selects or owns pods: Services, ReplicationControllers, ReplicaSets, StatefulSets. Spreading
// by default follows their selectors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/label_selector.h"
#include "kube/object.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

// Loop-confined.
class OwnerState {
 public:
  void put(const kube::Object&);  // any of the four kinds; others are not looked at
  void remove(const kube::Object&);

  struct Default {
    kube::LabelSelector selector;
    std::string text;  // of the selector
  };
  // The selector that default constraints of the pod get (spec 4.12); one that matches everything
  // means: no constraints. Valid until the next call.
  const Default& default_selector(const Pod&) const;
  std::uint64_t epoch() const { return epoch_; }  // moves with every change

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  struct Owner {
    Pairs merged;                              // a ReplicationController's selector
    std::vector<kube::Requirement> also = {};  // the others'
  };
  struct Answer {
    LabelsPtr labels;  // keeps the address its own
    std::string ns, owner;
    Default value;
  };
  Default make_default(const Pod&, const std::string& owner) const;
  void changed();

  std::map<std::string, std::map<std::string, Pairs>>
      services_;                                   // namespace -> name; with selector
  std::unordered_map<std::string, Owner> owners_;  // "ReplicaSet/ns/name"
  std::uint64_t epoch_ = 0;
  // Pods of one template ask the same again and again.
  mutable std::unordered_map<const Labels*, std::vector<Answer>> answers_;
  mutable std::size_t answer_count_ = 0;
};

}  // namespace berth::scheduler
