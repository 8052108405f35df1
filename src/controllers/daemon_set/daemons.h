// SPDX-License-Identifier: Apache-2.0
// Where the pods of a DaemonSet belong, and how they are made for one node.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/slice.h"
#include "kube/node_selector.h"
#include "kube/object.h"
#include "kube/taint.h"

namespace berth::controllers {

inline constexpr const char* kDaemonHash = "controller-revision-hash";

// What a template asks of nodes; read once, asked for every node. Immutable.
class DaemonFit {
 public:
  explicit DaemonFit(json::Slice pod_template);
  struct Answer {
    bool should_run = false;
    bool may_stay = false;  // a pod that runs there need not go
  };
  Answer on(const kube::Object& node) const;

 private:
  std::string node_name_;
  json::Slice labels_;
  std::optional<kube::NodeSelector> affinity_;
  std::vector<kube::Toleration> tolerations_;
};

// The node that a pod runs on, or is meant for; "" where it does not say.
std::string target_node(const kube::Object& pod);

struct DaemonParts {
  std::string name, node, hash;
  std::string generation = {};  // of the template, as a deprecated annotation counts it; "": none
};
std::string daemon_json(const kube::Object& set, const DaemonParts&);
std::string template_generation(const kube::Object& set);
bool daemon_is_updated(const kube::Object& pod, std::string_view hash, std::string_view generation);

// A daemon that fails again and again is replaced ever less often: after 1 s, doubling up to 15
// min, by node. Kept as a text. A value.
class FailedDaemons {
 public:
  // `generation`: another one forgives everything.
  FailedDaemons(std::string_view remembered, std::int64_t generation);
  std::optional<WallTime> waits_until(const std::string& node, WallTime now) const;
  void replaced(const std::string& node, WallTime now);
  std::string text(WallTime now) const;

 private:
  struct Entry {
    Duration wait{};
    WallTime at{};
  };
  std::int64_t generation_;
  std::map<std::string, Entry> by_node_;
};

}  // namespace berth::controllers
