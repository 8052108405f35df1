// SPDX-License-Identifier: Apache-2.0
// What the scheduler watches: every kind of object that a decision may depend on, compiled as it
// arrives and handed on as additions, updates and deletions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/scope.h"
#include "client/informer.h"
#include "client/transport.h"
#include "kube/object.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler {

// Where the objects go. Called on the feeds' loop, one at a time.
class FeedHandler {
 public:
  virtual ~FeedHandler() = default;
  virtual void pod_added(const PodPtr&) = 0;
  virtual void pod_updated(const PodPtr& before, const PodPtr& after) = 0;
  virtual void pod_deleted(const PodPtr& last) = 0;
  virtual void node_added(const NodePtr&) = 0;
  virtual void node_updated(const NodePtr& before, const NodePtr& after) = 0;
  virtual void node_deleted(const NodePtr& last) = 0;
  // Every other kind. An addition has no `before`, a deletion no `after`.
  virtual void object_changed(const kube::Object& before, const kube::Object& after) = 0;
};

// Every kind but pods and nodes that the scheduler follows, in the order it is told of them.
std::vector<kube::KindId> other_kinds();

// Puts an object of a kind that is neither pod nor node where the cluster state keeps it.
void apply_object(ClusterState&, const kube::Object& before, const kube::Object& after);

// A pod that has ended needs nothing any more: its end arrives as a deletion.
inline constexpr const char* kLivePods = "status.phase!=Succeeded,status.phase!=Failed";

struct KeptDocuments {
  bool pods = false;   // somebody wants whole pods
  bool nodes = false;  // and whole nodes
};

// Loop-confined to its scope's executor; outlives that scope.
class Feeds {
 public:
  Feeds(Scope& scope, client::Transport& transport, Random random, Logger log,
        KeptDocuments kept = {});
  ~Feeds();
  Feeds(const Feeds&) = delete;
  Feeds& operator=(const Feeds&) = delete;

  void start(Task synced);  // `synced`: every kind is complete
  bool synced() const { return started_ && missing_.empty(); }
  // What is known so far is handed on, then every change; once everything that is known now was,
  // `caught_up` runs. The handler outlives the scope.
  void attach(FeedHandler&, Task caught_up);
  const std::vector<std::string>& unsynced() const { return missing_; }  // kinds, for /readyz
  template <class F>
  void for_each_other(F&& f) const {  // f(const kube::Object&): all that is neither pod nor node
    for (const auto& informer : others_)
      informer->for_each([&f](const kube::Key&, const kube::Object& object) { f(object); });
  }

 private:
  template <class T>
  void watch(client::Informer<T>&, const std::string& name);
  client::InformerOptions options_of(kube::KindId, client::Keep) const;

  Scope& scope_;
  client::Transport& transport_;
  Random random_;
  Logger log_;
  KeptDocuments kept_;
  PodCompiler compiler_;
  std::unique_ptr<client::Informer<PodPtr>> pods_;
  std::unique_ptr<client::Informer<NodePtr>> nodes_;
  std::vector<std::unique_ptr<client::Informer<>>> others_;
  std::vector<std::string> missing_;
  bool started_ = false;
  Task synced_;
};

}  // namespace berth::scheduler
