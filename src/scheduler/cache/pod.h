// SPDX-License-Identifier: Apache-2.0
// A pod as the scheduler knows it: compiled once when it arrives, then never changed. Nothing on
// the way of a decision reads JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/label_selector.h"
#include "kube/node_selector.h"
#include "kube/object.h"
#include "kube/taint.h"
#include "scheduler/cache/labels.h"
#include "scheduler/cache/resources.h"

namespace berth::scheduler {

struct HostPort {
  std::string ip;        // "0.0.0.0" where none was given
  std::string protocol;  // "TCP" where none was given
  std::int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// One term of a pod (anti-)affinity.
struct AffinityTerm {
  std::vector<std::string> namespaces;  // as listed, sorted
  bool own_namespace = false;           // nothing was listed and there is no selector
  std::optional<kube::LabelSelector> namespace_selector;
  kube::LabelSelector selector;  // absent in the manifest: nothing()
  std::string topology_key;
  std::int32_t weight = 0;  // of preferred terms
};

struct PodAffinity {
  std::vector<AffinityTerm> required, required_anti, preferred, preferred_anti;
  // k8s 1.36: "has affinity" is told by the presence of the field, not by its terms.
  bool stated = false;
  std::string error;  // a selector that cannot be read; the pod is refused with this text
};

struct SpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool hard = true;  // DoNotSchedule
  kube::LabelSelector selector;
  std::int32_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
  std::vector<std::string> match_label_keys;
};

// What is equal for all pods made from one template. Hash-consed by PodCompiler: equal specs are
// one object, so pointers may be compared and used as keys. Immutable; thread-safe.
struct PodSpec {
  std::string scheduler_name;
  std::int32_t priority = 0;
  bool never_preempts = false;

  Resources asked;          // what the Fit filter sees: no status, pod-level resources honoured
  Resources asked_nonzero;  // k8s 1.36: what Fit's scorer sees: container level, 100m and 200Mi
                            // where a container states none, pod-level resources ignored
  Resources used;           // what a node accounts for it (with status: Pod::used)
  std::int64_t used_nonzero_millicores = 0, used_nonzero_memory = 0;

  std::vector<std::string> images;     // init containers, containers, image volumes; normalised
  std::uint32_t image_containers = 0;  // of those, the ones in containers and init containers
  std::vector<HostPort> host_ports;
  std::vector<kube::Toleration> tolerations;

  bool has_node_selector = false;  // spec.nodeSelector is not null
  std::vector<std::pair<std::string, std::string>> node_selector;
  std::optional<kube::NodeSelector> required_node_affinity;
  // Node names that the required terms allow by matchFields; nullopt where some term names none.
  std::optional<std::vector<std::string>> named_nodes;
  bool has_preferred_node_affinity = false;  // the list is there, maybe empty
  Result<kube::PreferredNodeTerms> preferred_node_affinity = kube::PreferredNodeTerms{};
  std::string node_affinity_text;  // canonical JSON of selector and required affinity: equal texts,
                                   // equal meaning

  PodAffinity affinity;
  std::vector<SpreadConstraint> spread;
  std::string spread_error;  // a selector that cannot be read; attempts end with this error
  std::vector<std::string> gates;
  std::vector<std::string> needed_features;  // NodeDeclaredFeatures, sorted
  bool has_resource_claims = false;
  std::string canonical;  // what equality means: every field above, written out
};
using PodSpecPtr = std::shared_ptr<const PodSpec>;

// A volume that some plugin reads. The name of a claim belongs to one pod, so volumes are not part
// of a PodSpec.
struct PodVolume {
  enum class Kind : std::uint8_t { kClaim, kEphemeral, kGcePd, kEbs, kIscsi, kRbd, kInline };
  Kind kind = Kind::kClaim;
  std::string name;   // of the volume
  std::string claim;  // of kClaim as stated; of kEphemeral <pod>-<volume>
  bool read_only = false;
  json::Slice source;  // the volume in `document`, which keeps it alive; absent of claims
};
struct PodVolumes {
  kube::Object document;  // not valid where all are kClaim and kEphemeral
  std::vector<PodVolume> list;
};

struct PodCondition {
  std::string status, reason, message;
};

// Immutable; thread-safe.
struct Pod {
  std::string ns, name, uid;
  kube::Revision revision = 0;
  std::int64_t generation = 0;
  PodSpecPtr spec;
  LabelsPtr labels;
  std::string node_name;
  std::string nominated_node_name;
  std::optional<WallTime> start_time;
  bool deleting = false;
  bool disrupted_by_scheduler = false;  // DisruptionTarget, PreemptionByScheduler
  bool finished = false;                // Succeeded or Failed
  std::optional<kube::OwnerRef> controller;
  std::shared_ptr<const PodVolumes> volumes;  // null: none that a plugin reads
  // Where a resize is under way and spec->used is not what the node accounts; else null.
  std::shared_ptr<const Resources> resized;
  std::int64_t resized_nonzero_millicores = 0, resized_nonzero_memory = 0;
  std::string claim_statuses;             // raw JSON, to see it change
  std::optional<PodCondition> scheduled;  // the PodScheduled condition
  kube::Object document;                  // kept only where the compiler was asked to

  const Resources& used() const { return resized ? *resized : spec->used; }
  std::int64_t used_nonzero_millicores() const {
    return resized ? resized_nonzero_millicores : spec->used_nonzero_millicores;
  }
  std::int64_t used_nonzero_memory() const {
    return resized ? resized_nonzero_memory : spec->used_nonzero_memory;
  }
  std::int32_t priority() const { return spec->priority; }
  bool assigned() const { return !node_name.empty(); }
  std::string text() const { return ns + "/" + name; }
};
using PodPtr = std::shared_ptr<const Pod>;

struct CompileOptions {
  bool keep_documents = false;  // an extender wants whole pods
};

// Makes Pods. Holds the tables of equal specs and labels; loop-confined, one for all pods that are
// compared with each other.
class PodCompiler {
 public:
  explicit PodCompiler(CompileOptions options = {});
  ~PodCompiler();
  // Never fails on what an API server lets through; what it would not (an unreadable quantity)
  // is an error that names the field.
  Result<PodPtr> compile(const kube::Object&);
  LabelsPtr labels(json::Slice);
  // The same pod on `node`, as the cache holds an assumed one.
  static PodPtr placed(const Pod&, std::string node);

 private:
  struct Tables;
  CompileOptions options_;
  std::unique_ptr<Tables> tables_;
};

std::string normalized_image(std::string_view name);  // "nginx" is "nginx:latest"

}  // namespace berth::scheduler
