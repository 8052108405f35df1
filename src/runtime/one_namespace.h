// SPDX-License-Identifier: Apache-2.0
// For who works in one namespace: nothing is seen of the others but their pods, because what a node
// has left is what all pods leave. So Roles there are enough, with a small ClusterRole for nodes,
// classes and the sight of pods.
#pragma once

#include <string>
#include <utility>

#include "client/transport.h"

namespace berth::runtime {

// As thread-safe as what it leads to, which outlives it.
class OneNamespace final : public client::Transport {
 public:
  OneNamespace(client::Transport& inner, std::string ns) : inner_(inner), ns_(std::move(ns)) {}

  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

 private:
  client::Transport& inner_;
  std::string ns_;
};

}  // namespace berth::runtime
