// SPDX-License-Identifier: Apache-2.0
// A cluster as it was read once, and one of its pods taken out to be judged.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "scheduler/cache/pod.h"
#include "scheduler/explain/case.h"

namespace berth::scheduler {

// Loop-confined. Nodes and everything else are to be added before pods.
class Picture {
 public:
  Picture();

  // Any kind that the scheduler follows. What cannot be read is left out, and named in
  // unreadable().
  void add(const kube::Object&);
  const std::vector<std::string>& unreadable() const { return unreadable_; }
  PodPtr pod(std::string_view ns, std::string_view name) const;  // null: it is not there
  // Names for "maybe you meant".
  std::vector<std::string_view> pods_in(std::string_view ns) const;
  std::vector<std::string> namespaces_with(std::string_view name) const;

  // The case of placing `pod` anew: it is on no node and was promised none if it already is on one.
  // Nominations count of pods that one of `schedulers` is to place. To be called once.
  Case take(const PodPtr& pod, std::span<const std::string> schedulers);

 private:
  PodCompiler compiler_;
  std::unique_ptr<ClusterState> cluster_;
  std::vector<PodPtr> pods_;
  std::vector<std::string> unreadable_;
};

}  // namespace berth::scheduler
