// SPDX-License-Identifier: Apache-2.0
// The order of the queue: higher priority first, then who waits longer.
#include "scheduler/framework/plugin.h"

namespace berth::scheduler {
namespace {

class PrioritySort final : public QueueSort {
 public:
  explicit PrioritySort(const PluginContext& context) : Plugin(context) {}

  bool less(const QueueEntry& a, const QueueEntry& b) const override {
    if (a.pod.priority() != b.pod.priority()) return a.pod.priority() > b.pod.priority();
    return a.timestamp < b.timestamp;
  }
};

}  // namespace

std::unique_ptr<Plugin> make_priority_sort(const PluginContext& context) {
  return std::make_unique<PrioritySort>(context);
}

}  // namespace berth::scheduler
