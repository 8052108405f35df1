// SPDX-License-Identifier: Apache-2.0
// What tells where slots are, besides what callers see: nodes, the pods of Testbeds, and ledgers.
// With them the gateway sees a Testbed as the controllers do.
#pragma once

#include <memory>

#include "client/informer.h"
#include "gateway/feeds.h"
#include "kube/ours/ours.h"
#include "runtime/view.h"

namespace berth::gateway {

// Loop-confined to its scope's executor; outlives that scope. The feeds and the transport outlive
// both. Knows the thesis' group.
class SlotFeeds final : public runtime::Lookup {
 public:
  SlotFeeds(Scope&, client::Transport&, const Random&, Metrics&, const Feeds&);

  void start();
  bool synced() const;

  const kube::Object* get(kube::KindId, const kube::Key&) const override;
  std::vector<const kube::Object*> list(kube::KindId) const override;
  std::vector<const kube::Object*> list(kube::KindId, std::string_view ns) const override;
  std::vector<const kube::Object*> by_index(kube::KindId, std::string_view index,
                                            std::string_view value) const override;
  kube::Revision seen(kube::KindId) const override;

 private:
  const client::Informer<>* of(kube::KindId) const;  // null: not followed

  const Feeds& feeds_;
  client::Informer<> nodes_, pods_, ledgers_;
};

// The same with one Scheduling more, or another in its place. Lives as long as what it is made of.
class WithDraft final : public runtime::Lookup {
 public:
  WithDraft(const runtime::Lookup& objects, const kube::Object& draft)
      : objects_(objects), draft_(draft) {}

  const kube::Object* get(kube::KindId, const kube::Key&) const override;
  std::vector<const kube::Object*> list(kube::KindId) const override;
  std::vector<const kube::Object*> list(kube::KindId, std::string_view ns) const override;
  std::vector<const kube::Object*> by_index(kube::KindId, std::string_view index,
                                            std::string_view value) const override;
  kube::Revision seen(kube::KindId kind) const override { return objects_.seen(kind); }

 private:
  std::vector<const kube::Object*> with(kube::KindId, std::vector<const kube::Object*>,
                                        bool there) const;

  const runtime::Lookup& objects_;
  const kube::Object& draft_;
};

}  // namespace berth::gateway
