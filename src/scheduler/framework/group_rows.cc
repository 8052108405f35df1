// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/plugin.h"

namespace berth::scheduler {

const DomainId* GroupRows::domain(TopologyKeyId key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return domains[i];
  return nullptr;
}

}  // namespace berth::scheduler
