// SPDX-License-Identifier: Apache-2.0
// BatchJobs whose applications are carried out: the real controllers, a stand-in for Spark's
// operator, and a door that puts executors into the slots of their grants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/pod_requests.h"
#include "slots_lab.h"

namespace berth::controllers::stories {

inline const KindId kSpark =
    kube::learn_kind({"sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications"});
const std::vector<KindId>& kinds_with_applications();

// Testbeds, Schedulings, BatchJobs, and Spark; in one process, or each in one of its own.
Controllers with_applications();
Controllers only(std::vector<std::string> controllers);

// Places pods as Berth's scheduler does: it sees what is stored, makes room, and binds an executor
// together with its slot; or as a stock one with the extender does, which promises the slot in the
// job's status and binds to the node alone. Ghosts go where they want to if there is room;
// everything else goes to a node apart. Belongs to a Lab whose nodes place nothing.
class Door {
 public:
  enum class Way { kOwn, kStock };
  enum class Fault { kNone, kGhostAfterBind, kAnySlot, kPinIgnored };
  explicit Door(Lab&, Fault = Fault::kNone, Way = Way::kOwn);
  virtual ~Door() = default;

  // It is away for a moment, and has forgotten what it was about.
  void crash();
  void place_soon();

 protected:
  virtual void forget() {}
  virtual void place_executor(const Object& pod);
  virtual void add_promised(const Object& /*pod*/, std::string_view /*node*/,
                            kube::ResourceList& /*used*/) const {}
  void place_all();
  void place(const Object& pod);
  void pin(const Object& job, const Object& pod, int slot);
  void bind(const Object& pod, std::string_view node, std::optional<int> slot);
  void remove(const Object& pod);
  void remove_ghost(const Key& testbed, int slot);
  std::optional<slots::Cell> choose(const Object& pod, slots::Ledger& ledger) const;
  bool has_room(const Object& pod, std::string_view node) const;

  Lab& lab_;
  Fault fault_;
  Way way_;
  bool pending_ = false, down_ = false;
};
PodLife placed_by_the_door(const Object&);  // and ends only when it is removed

class JobsLab : public SlotsLab {
 public:
  explicit JobsLab(LabOptions options = {.controllers = with_applications(),
                                         .kinds = kinds_with_applications()},
                   Door::Way way = Door::Way::kOwn);
  // `notes` are the driver's annotations: how long it takes, and how it ends.
  void spark(const std::string& name, std::string_view notes = R"("berth.dev/duration":"20s")",
             std::string_view more = "");
  std::string job_state(const std::string& name);
  std::vector<std::string> history(const std::string& name);  // "1 s ok"

  Door door;
};

}  // namespace berth::controllers::stories
