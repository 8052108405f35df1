// SPDX-License-Identifier: Apache-2.0
// What `berth up --demo` does: creates workloads, one act after another, and shows live where their
// pods go.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "client/api.h"
#include "client/informer.h"
#include "cluster/applier.h"

namespace berth::cli {

// Loop-confined to its scope's executor. On a terminal a picture that is drawn again at most twice
// a second; elsewhere a line for every pod that gets a node.
class Demo {
 public:
  // `footer` stands below the picture: what to type.
  Demo(Scope& scope, client::Transport& transport, Random random, Context& context,
       std::string footer);
  void start();

 private:
  void act(std::size_t number);
  void scale_web(int replicas);
  void changed();
  void pod_changed(const kube::Object* before, const kube::Object& after);
  void draw();

  Scope& scope_;
  Context& context_;
  std::string footer_;
  client::Api api_;
  cluster::Applier applier_;
  client::Informer<> nodes_, pods_;
  std::string title_;
  std::deque<std::string> latest_;
  bool due_ = false;
};

}  // namespace berth::cli
