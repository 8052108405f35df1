// SPDX-License-Identifier: Apache-2.0
// Documents, one a line, taken for everything that says where a volume can be, who owns pods and
// how many may be evicted: nothing breaks, what is kept can be used, and nothing stays of what is
// removed.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "kube/kind.h"
#include "scheduler/cache/budget_state.h"
#include "scheduler/cache/csi_migration.h"
#include "scheduler/cache/owner_state.h"
#include "scheduler/cache/storage_state.h"

using namespace berth;
using namespace berth::scheduler;

namespace {

const kube::KindId kKinds[] = {
    kube::kPersistentVolume,
    kube::kPersistentVolumeClaim,
    kube::kStorageClass,
    kube::kCsiNode,
    kube::kCsiDriver,
    kube::kCsiStorageCapacity,
    kube::kVolumeAttachment,
    kube::kService,
    kube::kReplicationController,
    kube::kReplicaSet,
    kube::kStatefulSet,
    kube::kPodDisruptionBudget,
};

std::vector<kube::Object> objects_in(std::string_view text) {
  std::vector<kube::Object> out;
  while (!text.empty() && out.size() < 64) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    for (const kube::KindId kind : kKinds)
      if (auto object = kube::Object::parse(kind, text.substr(0, end)))
        out.push_back(*std::move(object));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void use_volume(StorageState& state, const Volume& volume) {
  const Labels labels;
  if (volume.affinity) (void)matches(*volume.affinity, labels, "n");
  if (volume.migrated_affinity) (void)matches(*volume.migrated_affinity, labels, "n");
  const bool translated =
      volume.in_tree != nullptr && volume.in_tree->migrated && !volume.native_csi;
  BERTH_CHECK(!translated || !volume.driver.empty() || !volume.translation_error.empty(),
              "neither translated nor said why");
  const VolumePtr same = Volume::compile(volume.object);
  BERTH_CHECK(same->class_name == volume.class_name && same->zones == volume.zones &&
                  same->handle == volume.handle,
              "compiled twice, differently");
  const std::size_t before = state.assumed();
  if (state.assume(same)) {
    BERTH_CHECK(state.latest_volume(volume.name) == same, "assumed and not seen");
    state.restore(*same);
  }
  BERTH_CHECK(state.assumed() == before, "still assumed");
}

void use_claim(StorageState& state, const Claim& claim) {
  BERTH_CHECK(!claim.bound || !claim.volume_name.empty(), "bound to nothing");
  if (claim.selector && *claim.selector) (void)matches(**claim.selector, Labels());
  if (const VolumePtr& volume = state.volume(claim.volume_name)) (void)meant_for(*volume, claim);
  (void)state.latest_of_class(claim.class_name);
  const ClaimPtr same = Claim::compile(claim.object);
  if (state.assume(same)) state.restore(*same);
  BERTH_CHECK(state.latest_claim(claim.key()) == state.claim(claim.key()), "still assumed");
}

void use(StorageState& state, const kube::Object& object) {
  const std::string name(object.name());
  if (const VolumePtr volume = state.volume(name)) use_volume(state, *volume);
  if (const ClaimPtr claim = state.claim(object.key().text())) use_claim(state, *claim);
  if (const StorageClassPtr& storage_class = state.storage_class(name))
    (void)storage_class->allows(Labels());
  for (const CsiCapacity* capacity : state.capacities_of(name))
    if (capacity->topology) (void)matches(*capacity->topology, Labels());
  (void)state.tracks_capacity(name);
  (void)state.attachments_on(name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<kube::Object> objects =
      objects_in(std::string_view(reinterpret_cast<const char*>(data), size));
  StorageState storage;
  OwnerState owners;
  BudgetState budgets;
  const Result<kube::Object> bare =
      kube::Object::parse(kube::kPod, R"({"metadata":{"name":"p","namespace":"d","uid":"u"}})");
  const Result<PodPtr> pod = PodCompiler().compile(*bare);
  for (const kube::Object& object : objects) {
    storage.put(object);
    owners.put(object);
    if (object.kind() == kube::kPodDisruptionBudget) budgets.put(object);
    (void)owners.default_selector(**pod);
  }
  for (const auto& [key, budget] : budgets.all())
    if (budget.selector) (void)matches(*budget.selector, Labels());
  for (const kube::Object& object : objects) use(storage, object);
  for (const kube::Object& object : objects) {
    storage.remove(object);
    owners.remove(object);
    if (object.kind() == kube::kPodDisruptionBudget) budgets.remove(object);
  }
  for (const kube::Object& object : objects) {
    const std::string name(object.name());
    BERTH_CHECK(!storage.volume(name) && !storage.claim(object.key().text()) &&
                    !storage.storage_class(name) && !storage.csi_node(name) &&
                    storage.attachments_on(name).empty(),
                "removed and still there");
  }
  BERTH_CHECK(budgets.all().empty() && storage.assumed() == 0, "removed and still there");
  return 0;
}
