// SPDX-License-Identifier: Apache-2.0
// Pods that preemption has promised a node, before they are there. What is kept here may be ahead
// of, or differ from, the pod's own status.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/cache/pod.h"
#include "scheduler/framework/nominated_pods.h"

namespace berth::scheduler {

// Lets tables of strings be asked with views.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// Loop-confined.
class Nominator final : public NominatedPods {
 public:
  // The pod of that namespace and name, or null.
  using Find = std::function<PodPtr(std::string_view ns, std::string_view name)>;

  // `known`: what the informer has; null: any pod is taken to exist. `queued`: what the queue has.
  Nominator(Find known, Find queued) : known_(std::move(known)), queued_(std::move(queued)) {}

  // With a node: that one, whatever the pod's status says. Without: what its status says, and
  // nothing where that is empty. An earlier nomination goes in either case. Nothing is recorded for
  // a pod that the informer no longer has or that has got its node.
  // k8s 1.36: a node "" is recorded like any other; but no node is called so, and as every pod that
  // fits nowhere gets it, neither nodes() nor on() nor empty() know of it.
  void add(const Pod&, const std::optional<std::string>& node);
  // Keeps a nomination that neither version of the pod mentions.
  void update(const Pod& before, const Pod& after);
  void remove(const Pod&);

  // In order of nomination, each as the queue has it now; one that is in flight has namespace, name
  // and uid only, hence priority 0 and no requests. k8s 1.36: looked up by name, not by uid.
  std::vector<PodPtr> on(std::string_view node) const override;
  std::vector<std::string> nodes() const override;
  const std::string* node_of(std::string_view uid) const;  // null: not nominated
  bool empty() const override { return on_.empty(); }
  std::uint64_t version() const { return version_; }  // changes with every nomination

 private:
  void record(const Pod&, const std::string& node);

  Find known_;
  Find queued_;
  ByText<std::vector<PodPtr>> on_;  // node -> bare pods
  ByText<std::string> node_of_;     // uid -> node
  std::uint64_t version_ = 0;
};

}  // namespace berth::scheduler
