// SPDX-License-Identifier: Apache-2.0
// Small numbers that stand for things while the process runs. They carry no order and no meaning;
// nothing observable may depend on them.
#pragma once

#include <cstdint>

namespace berth::scheduler {

// A node: stays the same while it is known, also when the order of rows changes.
enum class NodeId : std::uint32_t { kNone = 0xffffffff };

// A distinct list of taints.
enum class TaintSetId : std::uint32_t { kNone = 0 };

// A label key that nodes are grouped by. kItself: every node is its own domain.
enum class TopologyKeyId : std::uint32_t { kItself = 0 };

// A value of a topology key, dense from 0 within its key.
enum class DomainId : std::uint32_t { kNone = 0xffffffff };

// An extended resource, hugepages size or the like.
enum class ResourceId : std::uint32_t { kNone = 0xffffffff };

template <class Id>
constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace berth::scheduler
