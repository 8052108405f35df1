// SPDX-License-Identifier: Apache-2.0
// Keeps a SlotBoard up to date from an API server. It is the same for the scheduler's plugin and
// the extender, so that both doors see alike.
#pragma once

#include <memory>
#include <vector>

#include "base/metrics.h"
#include "client/informer.h"
#include "policy/slots/board.h"

namespace berth::runtime {

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class SlotFeeds {
 public:
  SlotFeeds(Scope&, client::Transport&, const Random&, Metrics* = nullptr);
  ~SlotFeeds();

  void start();
  // Of every kind it is known what there is, be it that the cluster does not have the kind.
  bool settled() const;
  // Settled, and all that slots need is there. A cluster need not have the kinds of both groups.
  bool synced() const;
  void on_synced(Task);  // never inline
  slots::SlotBoard& board() { return board_; }

 private:
  using Informer = client::Informer<kube::Object>;
  Informer& follow(client::FeedOptions, const Random&, Informer::Compile);
  void tell_synced();

  Scope& scope_;
  client::Transport& transport_;
  Metrics* metrics_;
  slots::SlotBoard board_;
  std::vector<std::unique_ptr<Informer>> informers_;  // nodes, pods, then three a group
  std::vector<Task> waiting_;
};

}  // namespace berth::runtime
