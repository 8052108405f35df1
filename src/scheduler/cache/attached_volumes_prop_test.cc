// SPDX-License-Identifier: Apache-2.0
// What is kept about the volumes of nodes is what is found when nothing is kept, whatever changed.
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/cache/attached_volumes.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/storage_builders.h"

namespace berth::scheduler {
namespace {

using namespace test;

class Churn {
 public:
  explicit Churn(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) cluster_.put_node(node(name("n", i)));
  }

  void step() {
    switch (random_.below(10)) {
      case 0:
        return put(some_claim());
      case 1:
        return drop(some_claim());
      case 2:
        return put(some_volume());
      case 3:
        return drop(some_volume());
      case 4:
        return put(storage_class(one_of("s", 2), one_of("d", 2)));
      case 5:
        return random_.below(4) == 0 ? drop(storage_class(one_of("s", 2), "d0"))
                                     : put(some_claim());
      case 6:
        return put(some_attachment());
      case 7:
        return drop(some_attachment());
      case 8:
        cluster_.remove_pod(one_of("p", 6));
        return;
      default: {
        PodBuilder made = pod(one_of("p", 6)).on(one_of("n", 3));
        for (std::uint64_t i = random_.below(3); i > 0; --i) made.claim(one_of("c", 5));
        if (random_.below(3) == 0) made.volume("{name: e, ephemeral: {}}");
        if (random_.below(3) == 0) made.volume("{name: g, gcePersistentDisk: {pdName: d}}");
        cluster_.update_pod(made);
      }
    }
  }

  void check() const {
    for (int i = 0; i < 3; ++i) {
      const NodeId id = cluster_.node_id(name("n", i));
      AttachedBuilder anew(cluster_.storage());
      for (const PodPtr& pod : cluster_.pods_on(id)) anew.add(*pod);
      const NodeAttached want = anew.finish(name("n", i));
      const NodeAttached& kept = cluster_.attached_on(id);
      ASSERT_EQ(kept.volumes, want.volumes);
      ASSERT_EQ(kept.counts, want.counts);
      ASSERT_EQ(kept.error, want.error);
    }
  }

 private:
  static std::string name(const char* stem, std::uint64_t i) { return stem + std::to_string(i); }
  std::string one_of(const char* stem, std::uint64_t count) {
    return name(stem, random_.below(count));
  }
  StorageBuilder some_claim() {
    StorageBuilder made = claim(random_.below(4) == 0 ? one_of("p", 6) + "-e" : one_of("c", 5));
    made.of_class(one_of("s", 2));
    if (random_.below(2) == 0) made.bound_to(one_of("v", 4));
    if (random_.below(2) == 0) made.made_for(one_of("p", 6));
    return made;
  }
  StorageBuilder some_volume() {
    StorageBuilder made = volume(one_of("v", 4));
    if (random_.below(3) == 0) return made.spec("gcePersistentDisk: {pdName: d}");
    return made.csi(one_of("d", 2), one_of("h", 3));
  }
  StorageBuilder some_attachment() {
    return attachment(one_of("a", 4), one_of("d", 2), one_of("n", 3), one_of("v", 4));
  }
  void put(const kube::Object& object) { cluster_.storage().put(object); }
  void drop(const kube::Object& object) { cluster_.storage().remove(object); }

  Random random_;
  ClusterState cluster_;
};

TEST(AttachedVolumesProperty, KeptIsWhatWouldBeFound) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Churn churn(seed);
    for (int step = 0; step < 120; ++step) {
      churn.step();
      ASSERT_NO_FATAL_FAILURE(churn.check()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler
