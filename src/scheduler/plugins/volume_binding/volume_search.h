// SPDX-License-Identifier: Apache-2.0
// Which volumes would serve a pod's claims on a node. What is the same for all nodes is worked out
// once, so that a node costs a few look-ups even where there are as many local volumes as nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/cache/node.h"
#include "scheduler/cache/storage_state.h"
#include "scheduler/cache/string_map.h"
#include "scheduler/framework/status.h"

namespace berth::scheduler {

// The claims of a pod that this is about, with what is assumed.
struct PodClaims {
  std::vector<ClaimPtr> bound;
  std::vector<ClaimPtr> delayed;    // not bound; their class waits for a node
  std::vector<ClaimPtr> immediate;  // not bound, and not the scheduler's to bind
};

// What is to be done for the pod on a node.
struct NodeVolumes {
  struct Match {
    ClaimPtr claim;
    VolumePtr volume;
  };
  std::vector<Match> matches;
  std::vector<ClaimPtr> to_provision;
};

// Why a node does not serve, a bit each, in the order in which kube-scheduler names them.
namespace volume_conflict {
inline constexpr unsigned kAffinity = 1, kNoVolume = 2, kNoSpace = 4, kVolumeGone = 8;
}

// Does the node match the volume's node affinity, the translated one where its in-tree plugin has
// been migrated there? An error: it cannot be translated.
Result<bool> usable_on(const Volume&, const Labels& node, const CsiNode*);

// Immutable. Reads the storage as it was when it was made.
class VolumeSearch {
 public:
  VolumeSearch(const PodClaims&, const StorageState&);

  // A set of volume_conflict. `found` may be null.
  Result<unsigned> find(const Node&, const CsiNode*, NodeVolumes* found) const;

 private:
  // Volumes that could serve a claim, were it not for the node.
  struct Candidates {
    std::vector<VolumePtr> meant;  // for this very claim
    std::vector<VolumePtr> other;  // smallest first
    // Places in `other`: by pinned label and value, and of those without a pin.
    std::map<std::string, StringMap<std::vector<std::uint32_t>>> pinned;
    std::vector<std::uint32_t> loose;
    std::string error;  // the claim's selector cannot be read
  };
  struct Provisioning {
    StorageClassPtr of;
    bool possible = false;
    bool check_space = false;
    std::vector<kube::LabelSelector> space;  // where there is enough
  };
  struct Wanted {
    ClaimPtr claim;
    Candidates candidates;
    Provisioning provisioning;
  };
  using Chosen = std::vector<const Volume*>;

  static Candidates candidates_for(const Claim&, const std::vector<VolumePtr>&);
  static Provisioning provisioning_of(const Claim&, const StorageState&);
  static VolumePtr match(const Candidates&, const Labels& node, const Chosen&);
  static Result<unsigned> check_provisioning(const Wanted&, const Labels& node);

  struct Bound {
    ClaimPtr claim;
    VolumePtr volume;  // null: gone
  };
  std::vector<Bound> bound_;
  std::vector<Wanted> wanted_;    // not yet promised to a node, smallest first
  std::vector<Wanted> promised_;  // to a node
  std::string node_;              // that node
  bool promised_apart_ = false;   // to more than one
};

}  // namespace berth::scheduler
