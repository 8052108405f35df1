// SPDX-License-Identifier: Apache-2.0
// What there is to know of scavenger jobs: they themselves in both groups, the policy, quotas,
// nodes and pods. With them the gateway asks the question that the operator decides starts by.
#pragma once

#include <memory>
#include <vector>

#include "base/metrics.h"
#include "client/informer.h"
#include "runtime/view.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class ScavengeObjects final : public runtime::Lookup {
 public:
  ScavengeObjects(Scope&, client::Transport&, const Random&, Metrics&);

  void start();
  // Of the kinds, those of the second group may be missing.
  bool synced() const;
  void on_synced(Task);  // never inline
  std::vector<kube::KindId> job_kinds() const;
  client::Informer<>& of(kube::KindId kind) { return *find(kind); }
  // Events about scavenger jobs; those that cannot be read are not waited for.
  client::Informer<>& events() { return *events_; }
  // Where the pods of a Job are that hold room, each node once.
  std::vector<std::string> nodes_of(std::string_view job_uid) const;

  const kube::Object* get(kube::KindId, const kube::Key&) const override;
  std::vector<const kube::Object*> list(kube::KindId) const override;
  std::vector<const kube::Object*> list(kube::KindId, std::string_view ns) const override;
  std::vector<const kube::Object*> by_index(kube::KindId, std::string_view index,
                                            std::string_view value) const override;
  kube::Revision seen(kube::KindId) const override;

 private:
  client::Informer<>* find(kube::KindId) const;  // null: not followed
  void look();

  Scope& scope_;
  std::vector<std::pair<kube::KindId, std::unique_ptr<client::Informer<>>>> informers_;
  std::unique_ptr<client::Informer<>> events_;
  std::vector<Task> waiting_;
};

}  // namespace berth::gateway
