// SPDX-License-Identifier: Apache-2.0
// Room on nodes and in the cluster as integers. Private to admit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/scavenge/admit.h"

namespace berth::scavenge {

using Amounts = std::vector<std::int64_t>;  // by resource, in the order of Room

// Members of one size that may go to the same nodes.
struct Shape {
  Amounts member;
  std::vector<std::uint32_t> nodes = {};  // it may go to; empty: any
  bool nowhere = false;                   // all that it names are unknown
};
struct Placement {
  std::uint32_t node = 0;
  std::int64_t members = 0;
};

// Thread-compatible.
class Room {
 public:
  Room(const AdmitQuestion&, int threshold_percent);

  Amounts amounts(const kube::ResourceList&) const;
  Shape shape(const Waiting&) const;
  Shape shape_beside(const Waiting&) const;  // of the pod beside its members
  const std::string& resource(std::size_t r) const { return resources_[r]; }
  std::string text(const Amounts&) const;  // "cpu 4, memory 8Gi"

  // The resource that the threshold is short of, or -1; `held` is what others have to leave.
  int short_of(const Amounts& candidate, const Amounts& held) const;
  std::string shortage(int resource, const Amounts& candidate) const;

  // Where members go, first fit; fewer than asked for where they do not all fit.
  std::vector<Placement> first_fit(const Shape&, std::int64_t members,
                                   const std::vector<bool>& without) const;
  bool fits_but_for_threshold(const Shape&, std::int64_t members) const;
  std::vector<std::uint32_t> with_room(const Shape&, std::size_t most,
                                       const std::vector<bool>& without) const;
  void take(const Shape&, const std::vector<Placement>&);
  void give_back(const Shape&, std::vector<Placement>);

  // The nodes that have the least to give up until the members fit; none where they never will.
  std::vector<std::uint32_t> nodes_to_keep(const Shape&, std::int64_t members) const;
  bool within_threshold_when_empty(const Amounts& candidate) const;
  std::size_t nodes() const { return names_.size(); }
  const std::string& node(std::uint32_t n) const { return *names_[n]; }

 private:
  bool by_node() const { return scope_ != ThresholdScope::kCluster; }
  std::int64_t& at(std::vector<std::int64_t>& column, std::uint32_t n, std::size_t r) const {
    return column[n * resources_.size() + r];
  }
  std::int64_t at(const std::vector<std::int64_t>& column, std::uint32_t n, std::size_t r) const {
    return column[n * resources_.size() + r];
  }
  bool over(std::uint32_t n) const;  // the node's threshold, with nothing added
  std::int64_t count_on(std::uint32_t n, const Shape&, std::int64_t most, bool threshold) const;
  template <class Each>
  void for_each_node(const Shape&, Each) const;
  void drain(Amounts);

  ThresholdScope scope_;
  ThresholdMode mode_;
  int percent_;
  std::vector<std::string> resources_;  // cpu, memory, then what else is asked for
  std::vector<bool> counted_;           // by the threshold
  std::vector<const std::string*> names_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::vector<std::int64_t> allocatable_, free_, left_;  // left: of the node's threshold
  Amounts capacity_, used_, largest_free_;
};

}  // namespace berth::scavenge
