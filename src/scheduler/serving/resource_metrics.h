// SPDX-License-Identifier: Apache-2.0
// What pods ask for and may use, as /metrics/resources shows it: one line a pod and resource.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/object.h"
#include "kube/resource_list.h"

namespace berth::scheduler {

struct PodResources {
  std::string ns, name, node, scheduler;
  std::string priority;  // "" where none is stated
  kube::ResourceList requests, limits;
};

// Collects pods one by one, so that whoever reads them page by page never holds more than a page.
// Thread-compatible.
class ResourceMetrics {
 public:
  // k8s 1.36: pods that ended on a node are left out, and so are amounts of zero.
  Result<Ok> add(const kube::Object& pod);  // an error names the field; nothing was added
  void add(const PodResources&);
  std::string take();  // in Prometheus' text format

 private:
  std::string requests_, limits_;
};

}  // namespace berth::scheduler
