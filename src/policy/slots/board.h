// SPDX-License-Identifier: Apache-2.0
// What is known of every Testbed of a cluster, kept up to date object by object, and which slot a
// pod gets by it. Behind both doors: the scheduler's plugin and the extender.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/ours/ours.h"
#include "policy/slots/choose.h"

namespace berth::slots {

// Of a node, what slots depend on, and nothing of what changes with every heartbeat.
kube::Object slot_node(const kube::Object& node);

// Somebody has promised a slot to a pod, and the cluster does not show it yet.
struct Assumed {
  Key pod;
  std::string uid;
  GrantId grant;
  SlotNumber slot = 0;
  std::string node;
};

// Loop-confined. A change costs what it says; tables are made anew when they are asked for.
class SlotBoard {
 public:
  SlotBoard();
  ~SlotBoard();

  // An object of any kind that it follows: Testbeds, SlotLedgers and BatchJobs of both groups,
  // nodes, pods with a Testbed's label. An older state than the known one changes nothing.
  void put(const kube::Object&);
  void remove(const kube::Object& last);
  // All that was there is known by now; before that nobody is given a slot.
  void begin();

  // The door's own promises. One that the cluster shows, or whose pod goes, is forgotten.
  void assume(const Assumed&);
  void forget(std::string_view pod_uid);

  struct Asked {
    std::string pod;  // uid
    GrantId grant;    // "": no pod of ours
    kube::ResourceList requests;
    std::optional<std::set<std::string, std::less<>>> nodes = {};  // only these; none: any
    Pins promised = {};  // besides those that the job's status shows
  };
  struct Answered {
    SlotAnswer slot;
    Key testbed = {};
    kube::Object job = {};                          // of the grant; not valid where there is none
    Pins pins = {};                                 // of the run, as the job's status has them
    std::set<std::string, std::less<>> nodes = {};  // with slots of the grant
    std::string why = {};  // it waits: what all of its slots have in common, "": see slot.why
  };
  Answered ask(const Asked&, WallTime now);

  // The slot that a pod is in or is promised, and whose it is.
  struct Place {
    Key testbed;
    const Slot* slot = nullptr;  // until the next change
  };
  std::optional<Place> place_of(std::string_view pod_uid, WallTime now);
  bool knows(std::string_view pod_uid) const { return pods_.count(pod_uid) > 0; }
  // Null where there is no such Testbed or no ledger. Until the next change.
  const SlotTable* table(const Key& testbed, WallTime now);
  std::vector<Key> testbeds() const;

  // Told of every Testbed whose slots may have changed, as long as the answer lives.
  using Listener = std::function<void(const Key& testbed)>;
  [[nodiscard]] std::shared_ptr<const Listener> on_change(Listener);
  std::size_t tables_made() const { return tables_made_; }

 private:
  struct Testbed;
  struct Family;  // the kinds of one group
  struct Pod {
    PodFact fact;
    Key testbed;
    kube::Revision revision = 0;
  };
  Family* family_of(kube::KindId);
  void put_ledger(Family&, const kube::Object&);
  void put_job(Family&, const kube::Object&);
  void put_node(const kube::Object&);
  void put_pod(const kube::Object&);
  void drop_pod(std::string_view uid);
  void node_changed(const kube::Object& before, const kube::Object& after);
  void touch(Testbed&, bool geometry = false);
  void touch_all(const Key& testbed);
  Testbed* find(const Key&);
  Testbed* of_grant(std::string_view grant);
  void refresh(Testbed&, WallTime now);
  void look_at_nodes(Testbed&);

  std::vector<std::unique_ptr<Family>> families_;
  std::map<std::string, kube::Object, std::less<>> nodes_;
  std::map<std::string, Pod, std::less<>> pods_;         // by uid
  std::map<Key, std::set<std::string>> pods_of_;         // by Testbed: uids
  std::map<std::string, Assumed, std::less<>> assumed_;  // by uid
  // Executors that were here and are no more, by grant: promises to them bind nobody.
  std::map<GrantId, std::set<std::string>, std::less<>> gone_;
  std::vector<std::weak_ptr<const Listener>> listeners_;
  std::size_t tables_made_ = 0;
  bool begun_ = false;
};

// What a pod asks the board.
SlotBoard::Asked question_of(const kube::Object& pod);

}  // namespace berth::slots
