// SPDX-License-Identifier: Apache-2.0
// Keeps pods to nodes where their claims can be served, and binds those claims once a node is
// chosen.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/plugins/pod_claims.h"
#include "scheduler/plugins/volume_binding/bind_volumes.h"
#include "scheduler/plugins/volume_binding/volume_binding_hints.h"
#include "scheduler/plugins/volume_binding/volume_search.h"

namespace berth::scheduler {
namespace {

using Kind = PodVolume::Kind;

struct Binding final : CycleState {
  std::unique_ptr<VolumeSearch> search;  // null: no claims
  bool all_bound = false;                // nothing to do for the chosen node
  std::shared_ptr<NodeVolumes> chosen;   // null: none is chosen
};

// Whether each of the pod's claims is there and can be used; "" where it is.
std::string first_problem(const Pod& pod, const StorageState& storage) {
  for (const PodVolume& volume : volumes_of(pod)) {
    if (!by_claim(volume)) continue;
    const ClaimPtr& claim = storage.claim(claim_key(pod, volume.claim));
    if (!claim)
      return volume.kind == Kind::kClaim
                 ? claim_not_found(volume.claim)
                 : fmt::format(
                       "waiting for ephemeral volume controller to create the "
                       "persistentvolumeclaim \"{}\"",
                       volume.claim);
    if (claim->lost)
      return fmt::format(
          "persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", claim->name,
          claim->volume_name);
    if (claim->deleting)
      return fmt::format("persistentvolumeclaim \"{}\" is being deleted", claim->name);
    if (volume.kind == Kind::kEphemeral && !made_for(pod, *claim)) return not_made_for(pod, *claim);
  }
  return {};
}

Result<PodClaims> claims_of(const Pod& pod, const StorageState& storage) {
  PodClaims out;
  for (const PodVolume& volume : volumes_of(pod)) {
    if (!by_claim(volume)) continue;
    const ClaimPtr& claim = storage.latest_claim(claim_key(pod, volume.claim));
    if (claim->bound) {
      out.bound.push_back(claim);
      continue;
    }
    const StorageClassPtr& of = storage.storage_class(claim->class_name);
    if (of && !claim->class_name.empty() && !of->binding_mode)
      return invalid(
          fmt::format("VolumeBindingMode not set for StorageClass \"{}\"", claim->class_name));
    // A claim that names its volume is the volume controller's.
    const bool delayed = of && of->waits() && claim->volume_name.empty();
    (delayed ? out.delayed : out.immediate).push_back(claim);
  }
  return out;
}

bool all_bound(const Pod& pod, const StorageState& storage) {
  const std::vector<PodVolume>& volumes = volumes_of(pod);
  return std::all_of(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
    if (!by_claim(volume)) return true;
    const ClaimPtr& claim = storage.latest_claim(claim_key(pod, volume.claim));
    return claim && claim->bound && (volume.kind == Kind::kClaim || made_for(pod, *claim));
  });
}

class VolumeBinding final : public Filter, public Score, public Reserve, public PreBind {
 public:
  explicit VolumeBinding(const PluginContext& context)
      : Plugin(context), services_(context.services), reasons_(reason_ids(context)) {
    if (const auto* args = std::get_if<VolumeBindingArgs>(&context.args))
      timeout_ = std::chrono::seconds(args->bind_timeout_seconds);
  }

  PreFilterResult prepare(Cycle& cycle) const override {
    Binding& binding = cycle.emplace_state<Binding>(slot());
    const std::vector<PodVolume>& volumes = volumes_of(cycle.pod);
    if (std::none_of(volumes.begin(), volumes.end(), by_claim)) return PreFilterResult::skip();
    const StorageState& storage = cycle.cluster.storage();
    if (std::string problem = first_problem(cycle.pod, storage); !problem.empty())
      return {Status::unresolvable(std::move(problem))};
    const Result<PodClaims> claims = claims_of(cycle.pod, storage);
    if (!claims) return {Status::error(claims.error().message)};
    if (!claims->immediate.empty())
      return {Status::unresolvable("pod has unbound immediate PersistentVolumeClaims")};
    binding.search = std::make_unique<VolumeSearch>(*claims, storage);
    return {};
  }

  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const Binding* binding = cycle.state<Binding>(slot());
    if (binding == nullptr || !binding->search) return Status::error("not found");  // no PreFilter
    const StorageState& storage = cycle.cluster.storage();
    Status ended;
    keep.for_each([&](std::uint32_t row) {
      if (!ended.ok()) return;
      const Node& node = cycle.cluster.node(rows.node[row]);
      const Result<unsigned> conflicts =
          binding->search->find(node, storage.csi_node(node.name).get(), nullptr);
      if (!conflicts) {
        ended = Status::error(conflicts.error().message);
      } else if (*conflicts != 0) {
        keep.erase(row);
        if (why != nullptr) why->reject(row, reasons_[*conflicts]);
      }
    });
    return ended;
  }

  // k8s 1.36: storage capacity is scored only behind a gate that is off.
  Status prepare_score(Cycle&, const FeasibleSummary&) const override { return Status::skip(); }
  Reach score_reach(const Shape&) const override { return Reach::kObject; }
  Status score(const Cycle&, const Rows&, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    of.for_each([raw](std::uint32_t row) { raw[row] = 0; });
    return {};
  }

  // What the filter found for the node is found again: that is cheaper than keeping it for all.
  Status reserve(Cycle& cycle, const std::string& name) override {
    Binding* binding = cycle.state<Binding>(slot());
    if (binding == nullptr) return Status::error("not found");
    const StorageState& known = cycle.cluster.storage();
    binding->all_bound = !binding->search || all_bound(cycle.pod, known);
    if (binding->all_bound) return {};
    binding->chosen.reset();
    if (!cycle.cluster.row_of(name)) return none_for(name);
    const Node& node = cycle.cluster.node(cycle.cluster.node_id(name));
    auto volumes = std::make_shared<NodeVolumes>();
    const Result<unsigned> conflicts =
        binding->search->find(node, known.csi_node(name).get(), volumes.get());
    if (!conflicts) return Status::error(conflicts.error().message);
    if (*conflicts != 0) return none_for(name);
    if (Result<Ok> done = assume(storage(), name, *volumes); !done)
      return Status::error(std::move(done.error().message));
    binding->chosen = std::move(volumes);
    return {};
  }

  void unreserve(Cycle& cycle, const std::string&) override {
    Binding* binding = cycle.state<Binding>(slot());
    if (binding != nullptr && binding->chosen) restore(storage(), *binding->chosen);
  }

  Status pre_bind_pre_flight(Cycle& cycle, const std::string& node) override {
    const Binding* binding = cycle.state<Binding>(slot());
    if (binding == nullptr) return Status::error("not found");
    if (binding->all_bound) return Status::skip();
    return binding->chosen ? Status{} : none_for(node);
  }

  void pre_bind(Cycle& cycle, const std::string& node, Done<Status> done) override {
    Status status = pre_bind_pre_flight(cycle, node);
    if (!status.ok()) {
      done(status.skipped() ? Status{} : std::move(status));
      return;
    }
    const Pod& pod = cycle.pod;
    start({*services_, cycle.cluster, pod.ns, pod.name, pod.uid, node,
           cycle.state<Binding>(slot())->chosen, timeout_},
          std::move(done));
  }

  std::optional<std::vector<EventInterest>> events() const override {
    return volume_binding_events();
  }

 private:
  using ReasonIds = std::array<ReasonId, 16>;
  static ReasonIds reason_ids(const PluginContext& context) {
    constexpr std::string_view kTexts[] = {
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};
    ReasonIds ids{};
    for (unsigned conflicts = 1; conflicts < ids.size(); ++conflicts) {
      std::vector<std::string> texts;
      for (unsigned bit = 0; bit < std::size(kTexts); ++bit)
        if ((conflicts >> bit & 1u) != 0) texts.emplace_back(kTexts[bit]);
      ids[conflicts] = context.reasons.id(context.id, Code::kUnresolvable, std::move(texts));
    }
    return ids;
  }
  static Status none_for(const std::string& node) {
    return Status::error(fmt::format("no pod volume found for node \"{}\"", node));
  }
  StorageState& storage() const {
    BERTH_CHECK(services_ != nullptr && services_->storage() != nullptr,
                "volumes are bound where nothing may be done");
    return *services_->storage();
  }

  Services* services_;
  ReasonIds reasons_;
  Duration timeout_ = std::chrono::seconds(600);
};

}  // namespace

std::unique_ptr<Plugin> make_volume_binding(const PluginContext& context) {
  return std::make_unique<VolumeBinding>(context);
}

}  // namespace berth::scheduler
